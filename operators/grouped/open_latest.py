"""Latest, where its input announces what goes on holding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.grouped.latest import Latest
from tidelog.operators.standing.spells import Spells, earlier
from tidelog.operators.stores.open_rows import OpenRows
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

_OWN, _HELD = 0, 1


class OpenLatest(Latest):
    """`M' ← latest M by G in [n]`, with announcements at the port and in what it sends.

    Intervals: those of `Latest`. What M announces is passed on, and goes on where it is held beyond its end. State, beyond
    that of `Latest`: what comes, and the rows that go on (`Spells`); what M has announced, and what is announced itself.
    Final: as far as the port.

    >>> from tidelog.operators.stores.open_rows import OPEN, SHUT
    >>> op = OpenLatest(lambda row: row[:1], 10)
    >>> op.receive(0, [(("a", 1), 3, OPEN)], 5)
    [(('a', 1), 3, 4611686018427387905)]
    >>> op.receive(0, [(("a", 1), 3, SHUT), (("a", 1), 3, 7)], 8)
    [(('a', 1), 3, 4611686018427387906), (('a', 1), 3, 7), (('a', 1), 8, 4611686018427387905)]
    """

    __slots__ = ("_spells", "_told")

    def __init__(self, key: Callable[[Row], Row], size: int) -> None:
        super().__init__(key, size)
        self._spells = Spells()
        self._told = OpenRows(self.image)  # M's rows, and those that are held beyond their end

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        for row, hi in self._spells.take(facts):
            group = self.groups[self._key(row)]
            group.close(row, hi)
            if hi < POS:
                self.note(group, hi + 1)
        return self._announced(_OWN, facts)

    def settle(self, port: int) -> list[Fact]:
        super().feed(port, self._spells.begun(self.frontiers[0]))
        return self._announced(_HELD, super().settle(port))

    def _announced(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        plain, before, behind = self._told.take(port, facts)
        return [*before, *plain, *behind]

    def announced_rows(self) -> list[tuple[Row, int]]:
        return self._told.announced()

    def deadline(self) -> tuple[int, int] | None:
        return earlier(super().deadline(), self._spells.deadline())

    def entries(self) -> int:
        return super().entries() + self._spells.entries() + self._told.entries()

    def state(self) -> dict[str, Any]:
        return {**super().state(), "spells": self._spells.state(), "told": self._told.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._spells.load(state["spells"])
        self._told.load(state["told"])
