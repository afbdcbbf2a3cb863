"""A theory in the making: propositions by what they say, each made once, and the clauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.operators.horn.theory import Always, Clause, Given, Theory
from tidelog.plans.diagnostics.errors import MethodError


@dataclass(slots=True)
class TheoryBuilder:
    """What has been made so far; MethodError where its clauses come to hold more literals than `most`."""

    most: int
    names: list[str] = field(default_factory=list)
    clauses: dict[Clause, None] = field(default_factory=dict)
    always: list[Always] = field(default_factory=list)
    literals: int = 0
    _shared: dict[str, int] = field(default_factory=dict)

    def proposition(self, name: str) -> int:
        """A new proposition."""
        self.names.append(name)
        return len(self.names) - 1

    def shared(self, name: str) -> tuple[int, bool]:
        """The auxiliary proposition that says this, which several operators may need; and whether it is new."""
        if name in self._shared:
            return self._shared[name], False
        self._shared[name] = self.proposition(name)
        return self._shared[name], True

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses, but for those that are there already or say nothing."""
        for clause in clauses:
            if clause.head is not None and clause.head in clause.body:
                continue
            self.clauses[clause] = None
            self.literals += 1 + len(clause.body)
            if self.literals > self.most:
                raise MethodError(f"the program and its facts become clauses with more than {self.most:,} literals")

    def theory(self, given: Sequence[Given], *, is_dense: bool) -> Theory:
        """What has been made, with these facts."""
        return Theory(tuple(self.names), tuple(self.clauses), tuple(self.always), tuple(given), is_dense)
