"""What holds so far: the coverage of each predicate, of the program's text or of the data alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from tidelog.operators.stores.coverage import Bounds, Coverage, overlapping
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.intervals import Ranges
from tidelog.plans.data.repeating import Repeating
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.language.places import place_of
from tidelog.plans.plan.plan import UnionShape
from tidelog.plans.plan.shapes import TOP
from tidelog.plans.tree.declared.machines import is_of_machine
from tidelog.runtime.batch.folding import Times, fold
from tidelog.runtime.batch.sides import FUTURE, SIDES, Sides, mirrored
from tidelog.runtime.network.state_bound import Holding, StateBound

if TYPE_CHECKING:
    from tidelog.operators.columns.pool import Pool

_PORTION = 65_536
"""So many facts are loaded between two looks at what is held."""


class Stored(Protocol):
    """When the rows of a predicate hold: a `Coverage`, or in columns a `ColumnStore`."""

    @property
    def rows(self) -> dict[Row, Bounds]:
        """By row; in columns not to be changed."""

    def insert(self, facts: Iterable[Fact]) -> list[Fact]:
        """Add coverage; returns what of it is new."""

    def bounds(self, row: Row) -> Bounds:
        """When a row holds, which is not to be changed."""

    def atoms(self, predicate: str) -> Iterable[tuple[str, int, int]]:
        """Its facts, with the rows as atoms of a predicate, as text."""

    def times(self) -> Iterable[int]:
        """All times at which a range begins or ends, in any order; some may come again."""

    def entries(self) -> int:
        """How many ranges are stored."""


class Interpretation:
    """A coverage store for each predicate; facts are kept in it alone, coalesced, and what repeats for ever once.

    Predicates that the program does not mention take part in nothing, but they hold. `start` is the begin of the earliest
    fact loaded, where clipped windows begin; None as long as none is. `bound` counts what is held, here and by operators.
    Predicates may be kept in columns, whose values are those of the `pool`.
    """

    def __init__(self, plan: BatchPlan, bound: StateBound | None = None) -> None:
        self.bound = StateBound(None) if bound is None else bound
        self.bound.watch("known", self._holdings)
        self._plan = plan
        self.loaded = 0
        self.start: int | None = None
        self.since: Mapping[str, int] = {}
        """Predicates that follow from calendars, of which nothing is shown that lies before a time."""
        self._repeating: dict[str, dict[Row, list[Repeating]]] = {}
        self.pool: Pool | None = None
        self._known: dict[str, Stored] = {
            step.id: Coverage(keeps=True)
            for step in plan.steps
            if isinstance(step.shape, UnionShape) and step.id not in plan.normal.origins
        }
        self._others: dict[str, Coverage] = {}
        for predicate, row, lo, hi in plan.facts:
            self._store(predicate, own=True).insert([(row, lo, hi)])

    def load(self, records: Iterable[Record]) -> None:
        """Add facts from outside; their rows are kept as they are, so who reads them should let them share constants."""
        rest = iter(records)
        while portion := list(islice(rest, _PORTION)):
            self._load(portion)
            self.loaded += len(portion)
            self.bound.moved(len(portion))

    def _load(self, records: Iterable[Record]) -> None:
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

    def supply(self, records: Iterable[Record]) -> None:
        """Add facts that hold whatever data say, such as those of calendars: no stream starts with them."""
        for predicate, row, lo, hi in records:
            self._store(predicate, own=True).insert([(row, lo, hi)])

    def store_of(self, predicate: str) -> Stored:
        """What is stored for a predicate of the program."""
        return self._known[predicate]

    def keep(self, predicate: str, store: Stored) -> None:
        """Keep in another form what is stored for a predicate of the program."""
        self._known[predicate] = store

    def keep_rows(self, predicate: str) -> dict[Row, Bounds]:
        """Keep what is stored for a predicate of the program row by row, if it was not; returns that."""
        store = self._known[predicate]
        if not isinstance(store, Coverage):
            rows = store.rows
            store = self._known[predicate] = Coverage(keeps=True)
            store.rows.update(rows)
        return store.rows

    def _store(self, predicate: str, own: bool) -> Stored:
        store = self._known.get(predicate) if own else None
        if store is None:
            store = self._others.get(predicate)
            if store is None:
                store = self._others[predicate] = Coverage(keeps=True)
        return store

    def insert(self, predicate: str, facts: Iterable[Fact]) -> list[Fact]:
        """Add what was derived for a predicate of the program; returns what of it is new."""
        return self._known[predicate].insert(facts)

    def facts_of(self, predicate: str, horizon: Times | None = None) -> list[Fact]:
        """All that is stored for a predicate of the program, coalesced; with what repeats, where it meets the `horizon`."""
        facts = list(_facts(self._known[predicate]))
        if horizon is not None:
            for fact in self._repeating_of(predicate):
                facts += [(fact.row, lo, hi) for lo, hi in fact.between(*horizon)]
        return facts

    def times_of(self, predicate: str) -> Iterable[int]:
        """The times at which something of a predicate of the program begins or ends, but for what repeats."""
        return self._known[predicate].times()

    def bounds_of(self, predicate: str, rows: Iterable[Row]) -> Iterator[tuple[Row, Bounds]]:
        """What is stored for some rows of a predicate of the program, as bounds, which are not to be changed."""
        stored = self._known[predicate].rows
        return ((row, stored[row]) for row in rows)

    def rows_of(self, predicate: str) -> Mapping[Row, Bounds]:
        """What is stored for a predicate, row by row, as bounds, which are not to be changed; what repeats is left out."""
        stores = [stores[predicate] for stores in (self._known, self._others) if predicate in stores]
        return stores[0].rows if stores else {}

    def held(self, predicate: str, row: Row) -> tuple[Ranges, tuple[Repeating, ...]]:
        """When a row holds, and what of it repeats for ever besides."""
        bounds = self.rows_of(predicate).get(row, ())
        repeating = self._repeating.get(predicate, {}).get(row, ())
        return list(zip(bounds[::2], bounds[1::2], strict=True)), tuple(repeating)

    def hold(self, predicate: str, row: Row, ranges: Ranges, repeating: Sequence[Repeating]) -> None:
        """From now on a row holds so, in place of what was known of it."""
        rows = self._rows_to_change(predicate)
        if ranges:
            rows[row] = [time for times in ranges for time in times]
        else:
            rows.pop(row, None)
        if repeating:
            self._repeating.setdefault(predicate, {})[row] = list(repeating)
        else:
            self._repeating.get(predicate, {}).pop(row, None)
        self.bound.moved(len(ranges))

    def hold_all(self, predicate: str, found: Mapping[Row, Bounds]) -> None:
        """`hold` for rows of which nothing repeats, as bounds; those without any hold no more."""
        rows = self._rows_to_change(predicate)
        rows.update(found)
        for row, bounds in found.items():
            if not bounds:
                del rows[row]
        self.bound.moved(len(found))

    def _rows_to_change(self, predicate: str) -> dict[Row, Bounds]:
        own = predicate in self._known and predicate != TOP
        return self.keep_rows(predicate) if own else self._store(predicate, own=False).rows

    def repeats(self, predicate: str, row: Row) -> bool:
        """Whether something of a row repeats for ever."""
        return bool(self._repeating.get(predicate, {}).get(row))

    def is_repeating(self, predicate: str) -> bool:
        """Whether something of a predicate repeats for ever."""
        return bool(self._repeating.get(predicate))

    def rows_that_hold(self, predicate: str) -> Iterator[Row]:
        """The rows of which something holds; some may come twice."""
        return chain(self.rows_of(predicate), self._repeating.get(predicate, ()))

    def that_do_not_hold(self, predicate: str, rows: Iterable[Row]) -> list[Row]:
        """Those of some rows of a predicate that hold at no time."""
        stored, repeating = self.rows_of(predicate), self._repeating.get(predicate)
        if not repeating:
            return [row for row in rows if row not in stored]
        return [row for row in rows if row not in stored and not repeating.get(row)]

    def predicates(self) -> Iterator[str]:
        """The predicates of which something may be stored."""
        return (name for stores in (self._known, self._others) for name in stores)

    def copy(self, predicates: Iterable[str]) -> dict[str, dict[Row, Bounds]]:
        """What is stored for some predicates of the program at this moment."""
        return {name: {row: list(bounds) for row, bounds in self._known[name].rows.items()} for name in predicates}

    def restore(self, stored: Mapping[str, Mapping[Row, Bounds]]) -> None:
        """Go back to what `copy` gave."""
        for name, rows in stored.items():
            store = Coverage(keeps=True)
            self._known[name] = store
            store.rows.update((row, list(bounds)) for row, bounds in rows.items())

    def settle(self, predicate: str, sides: Sides, unit: int) -> None:
        """From here on a predicate goes on as its `sides` tell: what repeats is kept once, and dropped behind that."""
        rows = self.keep_rows(predicate)
        for row, bounds in rows.items():
            ranges = list(zip(bounds[::2], bounds[1::2], strict=True))
            for side in SIDES:
                ranges = self._fold(predicate, row, ranges, side, sides, unit)
            bounds[:] = [time for times in ranges for time in times]
        for row in [row for row, bounds in rows.items() if not bounds]:
            del rows[row]

    def _fold(self, predicate: str, row: Row, ranges: list[Times], side: int, sides: Sides, unit: int) -> list[Times]:
        """The ranges of a row that do not repeat on one side; those that do are noted as repeating facts."""
        settled = sides[side]
        if not settled.period:
            return ranges
        start = settled.start + 1  # so the first begin is one that returns
        edge = -sides[-side].edge
        finite, returning, period = fold(_turned(ranges, side), start, settled.period, edge, unit)
        for times in returning:
            fact = Repeating(predicate, row, *mirrored(side, *times), side * period)
            self._repeating.setdefault(predicate, {}).setdefault(row, []).append(fact)
        return _turned(finite, side)

    def _holdings(self) -> Iterator[Holding]:
        for stores in (self._known, self._others):
            for predicate, store in stores.items():
                repeating = sum(map(len, self._repeating.get(predicate, {}).values()))
                yield Holding(store.entries() + repeating, partial(self._tell, predicate))

    def _tell(self, predicate: str) -> tuple[str, str]:
        """What derives a predicate, and where; what is only given is facts."""
        rules = rules_of(self._plan, predicate)
        if not rules:
            return f"the facts of `{predicate}`", ""
        what = f"the rule `{rules[0]}`" if len(rules) == 1 else f"`{predicate}`, by {len(rules)} rules"
        return what, place_of(self._plan.program, rules[0])

    def records(self) -> Iterator[Record]:
        """All that is stored, coalesced, in no particular order; what repeats is left out."""
        for stores, hidden in ((self._known, TOP), (self._others, "")):
            for predicate, store in stores.items():
                if predicate != hidden and not is_of_machine(predicate):
                    facts = _facts(store)
                    since = self.since.get(predicate)
                    if since is not None:
                        facts = ((row, max(lo, since), hi) for row, lo, hi in facts if hi >= since)
                    yield from ((predicate, *fact) for fact in facts)

    def atoms(self) -> Iterator[tuple[str, int, int]]:
        """What `records` has, with each predicate and row as the text of an atom."""
        for stores, hidden in ((self._known, TOP), (self._others, "")):
            for predicate, store in stores.items():
                if predicate != hidden and not is_of_machine(predicate):
                    since = self.since.get(predicate)
                    if since is None:
                        yield from store.atoms(predicate)
                    else:
                        yield from ((atom, max(lo, since), hi) for atom, lo, hi in store.atoms(predicate) if hi >= since)

    def repeating(self) -> Iterator[Repeating]:
        """What repeats for ever, in no particular order."""
        for predicate in self._repeating:
            yield from self._repeating_of(predicate)

    def _repeating_of(self, predicate: str) -> Iterator[Repeating]:
        for facts in self._repeating.get(predicate, {}).values():
            yield from facts

    def covers(self, record: Record) -> bool:
        """Whether a fact holds at all its times."""
        predicate, row, lo, hi = record
        if lo < self.since.get(predicate, NEG):
            return False
        stores = [stores[predicate] for stores in (self._known, self._others) if predicate in stores]
        every = [store.bounds(row) for store in stores]
        if any(bounds[i] <= lo and hi <= bounds[i + 1] for bounds in every for i in overlapping(bounds, lo, lo)):
            return True
        if lo <= NEG or hi >= POS:
            return False  # what repeats has gaps
        return any(fact.covers(lo, hi) for fact in self._repeating.get(predicate, {}).get(row, ()))


def rules_of(plan: BatchPlan, predicate: str) -> list[str]:
    """The rules that derive a predicate, as they are written."""
    steps = {step.id: step for step in plan.steps}
    if predicate not in steps:
        return []
    sources = [steps[feed.name].source for feed in steps[predicate].inputs if feed.kind == "step"]
    return list(dict.fromkeys(source for source in (steps[predicate].source, *sources) if source))


def _facts(store: Stored) -> Iterator[Fact]:
    for row, bounds in store.rows.items():
        for i in range(0, len(bounds), 2):
            yield row, bounds[i], bounds[i + 1]


def _turned(ranges: Sequence[Times], side: int) -> list[Times]:
    """Sorted ranges as they are seen from one side, or back."""
    return list(ranges) if side == FUTURE else [(-hi, -lo) for lo, hi in reversed(ranges)]
