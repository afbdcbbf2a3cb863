"""What holds so far: the coverage of each predicate, of the program's text or of the data alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.plans.batch import BatchPlan
from tidelog.plans.facts import Fact, Record
from tidelog.plans.plan import UnionShape
from tidelog.plans.shapes import TOP
from tidelog.plans.timeline import POS


class Interpretation:
    """A coverage store for each predicate; facts are kept in it alone, coalesced.

    Predicates that the program does not mention take part in nothing, but they hold. `start` is the begin of the earliest
    fact loaded, where clipped windows begin; None as long as none is.
    """

    def __init__(self, plan: BatchPlan) -> None:
        self.start: int | None = None
        self._known: dict[str, Coverage] = {
            step.id: Coverage()
            for step in plan.steps
            if isinstance(step.shape, UnionShape) and step.id not in plan.normal.origins
        }
        self._others: dict[str, Coverage] = {}
        for predicate, row, lo, hi in plan.facts:
            self._store(predicate, own=True).insert([(row, lo, hi)])

    def load(self, records: Iterable[Record]) -> None:
        """Add facts from outside; their rows are kept as they are, so who reads them should let them share constants."""
        start = POS if self.start is None else self.start
        for predicate, row, lo, hi in records:
            store = self._store(predicate, own=predicate != TOP)
            known = store.rows.get(row)
            if known is None:
                store.rows[row] = [lo, hi]
            else:
                store.insert([(row, lo, hi)])
            start = min(start, lo)
        if start < POS:
            self.start = start

    def _store(self, predicate: str, own: bool) -> Coverage:
        store = self._known.get(predicate) if own else None
        if store is None:
            store = self._others.get(predicate)
            if store is None:
                store = self._others[predicate] = Coverage()
        return store

    def insert(self, predicate: str, facts: Iterable[Fact]) -> list[Fact]:
        """Add what was derived for a predicate of the program; returns what of it is new."""
        return self._known[predicate].insert(facts)

    def facts_of(self, predicate: str) -> list[Fact]:
        """All that holds for a predicate of the program, coalesced."""
        return list(_facts(self._known[predicate]))

    def records(self) -> Iterator[Record]:
        """All that holds, coalesced, in no particular order."""
        for stores, hidden in ((self._known, TOP), (self._others, "")):
            for predicate, store in stores.items():
                if predicate != hidden:
                    yield from ((predicate, *fact) for fact in _facts(store))

    def covers(self, record: Record) -> bool:
        """Whether a fact holds at all its times."""
        predicate, row, lo, hi = record
        stores = [stores[predicate] for stores in (self._known, self._others) if predicate in stores]
        every = [store.rows[row] for store in stores if row in store.rows]
        return any(bounds[i] <= lo and hi <= bounds[i + 1] for bounds in every for i in overlapping(bounds, lo, lo))


def coalesced(facts: Iterable[Fact]) -> list[Fact]:
    """The same coverage, each row over its maximal ranges.

    >>> coalesced([(("a",), 1, 2), (("a",), 5, 6), (("a",), 3, 4)])
    [(('a',), 1, 6)]
    """
    store = Coverage()
    store.insert(facts)
    return list(_facts(store))


def _facts(store: Coverage) -> Iterator[Fact]:
    for row, bounds in store.rows.items():
        for i in range(0, len(bounds), 2):
            yield row, bounds[i], bounds[i + 1]
