"""The facts of the program and of its background, by predicate, found by the arguments that are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.preconditions import Argument, Slot

Key = tuple[int, ...]


class FactTable:
    """The facts of one predicate; an index is built for each set of positions that someone asks for.

    >>> table = FactTable([(("a", "b"), NEG, POS), (("a", "c"), 3, 5), (("b", "c"), 4, 4)])
    >>> table.matching(("a", Slot(0)))
    [(('a', 'b'), -4611686018427387902, 4611686018427387902), (('a', 'c'), 3, 5)]
    """

    __slots__ = ("_facts", "_indexes")

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._facts = list(dict.fromkeys(facts))
        self._indexes: dict[Key, dict[Row, list[Fact]]] = {}

    def matching(self, arguments: Sequence[Argument]) -> list[Fact]:
        """The facts that agree with the constants among the arguments."""
        known = tuple(i for i, argument in enumerate(arguments) if not isinstance(argument, Slot))
        if not known:
            return self._facts
        index = self._indexes.get(known)
        if index is None:
            index = self._indexes[known] = {}
            for fact in self._facts:
                if len(fact[0]) == len(arguments):
                    index.setdefault(tuple(fact[0][i] for i in known), []).append(fact)
        return index.get(tuple(argument for argument in arguments if not isinstance(argument, Slot)), [])

    def settles(self, row: Row) -> bool | None:
        """Whether this row holds at all times, or at none; None where that depends on the time."""
        facts = self.matching(row) if row else self._facts
        if not facts:
            return False
        return True if any(lo == NEG and hi == POS for _, lo, hi in facts) else None


def tables_of(records: Iterable[Record]) -> dict[str, FactTable]:
    """A table for each predicate that has facts."""
    facts: dict[str, list[Fact]] = {}
    for predicate, row, lo, hi in records:
        facts.setdefault(predicate, []).append((row, lo, hi))
    return {predicate: FactTable(found) for predicate, found in facts.items()}
