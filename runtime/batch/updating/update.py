"""Facts that come and go behind a materialisation's end: component by component, what may change is derived again.

The idea is that of delete and rederive for DatalogMTL (arXiv 2511.12169). Where something has changed that a
component reads, it is found first which of its rows may change, and when. Then its rules are applied to what
these rest on, and derive them at these times alone. What differs in the end is what has changed for the components
behind it. So negation needs nothing of its own; and what repeats for ever is found as it always is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, intersected, subtracted, united
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.updating.affected import Affected, Changes, EverythingError, widened
from tidelog.runtime.batch.updating.looking import Looking
from tidelog.runtime.batch.updating.part import Part, again, changed, part_of, part_of_constraint
from tidelog.runtime.batch.updating.row_index import RowIndex

_EVER: Ranges = [(NEG, POS)]
_LEAST, _FOR_EACH_ROW = 10_000, 2
"""So many changes are followed in a component, and so many more for each row of its predicates; else all is derived."""


_Regions = dict[tuple[str, Row], Ranges]
"""For rows of predicates, some times."""


@dataclass(slots=True)
class _Rest:
    """What a component is derived again from: records of facts, and the periods with which some of them return."""

    records: list[Record]
    periods: dict[str, list[int]]


@dataclass(slots=True)
class Updater:
    """Keeps what is `known` of a plan up to date; `given` are the facts of derived predicates."""

    plan: BatchPlan
    known: Interpretation
    given: dict[str, dict[Row, Bounds]]
    max_state: int | None
    index: RowIndex = field(init=False)
    parts: list[Part] = field(init=False)
    constraints: list[Part] = field(init=False)
    looking: dict[str, Looking] = field(default_factory=dict)
    plans: dict[tuple[str, bool], BatchPlan] = field(default_factory=dict)
    """Those of components that read nothing which repeats, by their first predicate, guarded or not."""
    own: dict[tuple[str, Row], Ranges] = field(default_factory=dict)
    """The facts of the program itself, which are never taken away."""

    def __post_init__(self) -> None:
        for name, row, lo, hi in self.plan.facts:
            self.own.setdefault((name, row), []).append((lo, hi))
        widths = {name: item.arity for name, item in self.plan.schema.predicates.items()}
        self.index = RowIndex(self.known.rows_that_hold, widths)
        self.parts = [part_of(self.plan, part) for stratum in self.plan.strata for part in stratum.components]
        self.constraints = [part_of_constraint(self.plan, name) for name in self.plan.constraints]

    def derive(self, changes: Changes) -> bool:
        """Derive what follows from what `give` has told; whether it violates a constraint, where none was violated."""
        derived = {name for part in self.parts for name in part.component.predicates}
        told = {name: rows for name, rows in changes.items() if name not in derived}
        for part in self.parts:
            read = {name: told[name] for name in part.component.reads if told.get(name)}
            own = {name: changes[name] for name in part.component.predicates if name in changes}
            if read or own:
                done, found = self._derived(part, read, own)
                told.update(self._take(done, found))
        is_violated = any(self._violates(part, told) for part in self.constraints)
        for name, rows in told.items():
            for row in rows:
                if not self.known.holds_somewhere(name, row):
                    self.index.discard(name, row)
        return is_violated

    def _violates(self, constraint: Part, told: Changes) -> bool:
        """Whether a constraint is violated where something has changed that it reads."""
        read = {name: told[name] for name in constraint.component.reads if told.get(name)}
        if not read:
            return False
        done, _ = self._derived(constraint, read, {})
        return any(True for name in constraint.component.predicates for _ in done.rows_that_hold(name))

    # --- what is given --------------------------------------------------------------------------------------------------

    def give(self, came: Iterable[Record], went: Iterable[Record]) -> Changes:
        """Take in that facts went, and then that others came; returns when rows are given that were not, or no longer."""
        before: dict[tuple[str, Row], Ranges] = {}
        after: dict[tuple[str, Row], Ranges] = {}
        for records, is_new in ((went, False), (came, True)):
            for name, row, lo, hi in records:
                place = name, row
                if place not in before:
                    before[place] = after[place] = self._given_of(name, row)
                after[place] = united([*after[place], (lo, hi)]) if is_new else subtracted(after[place], [(lo, hi)])
        changes: dict[str, dict[Row, Ranges]] = defaultdict(dict)
        for (name, row), ranges in before.items():
            now = united([*after[name, row], *self.own.get((name, row), ())])
            found = _differing(ranges, now)
            if found:
                self._set_given(name, row, now)
                changes[name][row] = found
        return changes

    def _given_of(self, name: str, row: Row) -> Ranges:
        if name in self.given:
            return _ranges(self.given[name].get(row, []))
        return self.known.held(name, row)[0]

    def _set_given(self, name: str, row: Row, ranges: Ranges) -> None:
        if name in self.given:
            if ranges:
                self.given[name][row] = [time for times in ranges for time in times]
            else:
                self.given[name].pop(row, None)
        else:
            self.known.hold(name, row, ranges, ())
            if ranges:
                self.index.add(name, row)

    # --- one component --------------------------------------------------------------------------------------------------

    def _derived(self, part: Part, read: Changes, own: Changes) -> tuple[Interpretation, _Regions]:
        """Derive anew what may change of a component: what holds then, and which rows might have changed, and when."""
        looking = self._looking(part)
        rows = sum(len(self.index.rows(name)) for name in part.component.predicates)
        most = _LEAST + _FOR_EACH_ROW * rows
        affected = Affected(part.steps, part.rules, looking, self.index, self.known.repeats, most)
        try:
            affected.follow(read, own)
            found = {
                (name, row): _ranges(bounds) for name, store in affected.found.items() for row, bounds in store.rows.items()
            }
            is_whole = False
        except EverythingError:
            found = {(name, row): _EVER for name in part.component.predicates for row in self.index.rows(name)}
            is_whole = True
        if not found and not is_whole:
            return self.known, {}
        self._look(part, looking, found, is_whole=is_whole)
        rest = self._rest(part, looking.needed, found, is_whole=is_whole)
        done = Materialisation(self._plan_of(part, rest.periods, guarded=not is_whole), max_state=self.max_state)
        done.load(rest.records)
        done.run()
        if is_whole:
            found |= {(name, row): _EVER for name in part.component.predicates for row in done.known.rows_that_hold(name)}
        return done.known, found

    def _plan_of(self, part: Part, periods: Mapping[str, Sequence[int]], *, guarded: bool) -> BatchPlan:
        if periods:
            return part.plan(self.plan, periods, guarded=guarded)
        place = part.component.predicates[0], guarded
        if place not in self.plans:
            self.plans[place] = part.plan(self.plan, {}, guarded=guarded)
        return self.plans[place]

    def _looking(self, part: Part) -> Looking:
        name = part.component.predicates[0]
        if name not in self.looking:
            self.looking[name] = Looking(part.cut(), part.text, self.index)
        return self.looking[name]

    def _look(self, part: Part, looking: Looking, found: Iterable[tuple[str, Row]], *, is_whole: bool) -> None:
        """Find the rows on which those rest that may change."""
        looking.begin()
        if is_whole:
            for name in part.text:
                looking.need(name, None, [()])
            return
        rows: dict[str, list[Row]] = defaultdict(list)
        for name, row in found:
            rows[name].append(row)
        for rule, name in part.rules.items():
            looking.need(rule, tuple(range(part.widths[name])), rows[name])

    def _rest(
        self, part: Part, needed: Mapping[str, Iterable[Row]], found: Mapping[tuple[str, Row], Ranges], *, is_whole: bool
    ) -> _Rest:
        """What the rows rest on that may change, as far as rules look; and when they may."""
        every = united(times for ranges in found.values() for times in ranges)
        times = _EVER if is_whole else united(widened(every, part.back, part.ahead))
        rest = _Rest([], {})
        for name, rows in needed.items():
            for row in rows:
                if (name, row) not in found:
                    self._keep(rest, name, row, times)
        for (name, row), ranges in found.items():
            kept = united([*subtracted(self.known.held(name, row)[0], ranges), *self._given_of(name, row)])
            rest.records += [(name, row, lo, hi) for lo, hi in intersected(kept, times)]
            if not is_whole:
                rest.records += [(changed(name), row, lo, hi) for lo, hi in ranges]
        return rest

    def _keep(self, rest: _Rest, name: str, row: Row, times: Ranges) -> None:
        """A row that does not change, as it holds."""
        finite, repeating = self.known.held(name, row)
        rest.records += [(name, row, lo, hi) for lo, hi in intersected(finite, times)]
        for fact in repeating:
            lengths = rest.periods.setdefault(name, [])
            if fact.period not in lengths:
                lengths.append(fact.period)
            rest.records.append((again(name, lengths.index(fact.period)), row, fact.lo, fact.hi))

    def _take(self, done: Interpretation, found: Mapping[tuple[str, Row], Ranges]) -> dict[str, dict[Row, Ranges]]:
        """Take over what has been derived, where it could be; returns what is so different."""
        told: dict[str, dict[Row, Ranges]] = defaultdict(dict)
        for (name, row), ranges in found.items():
            before, returning = self.known.held(name, row)
            derived, again_and_again = done.held(name, row)
            after = united([*subtracted(before, ranges), *intersected(derived, ranges)])
            changes = _differing(before, after)
            if set(returning) != set(again_and_again):
                changes = ranges
            if changes:
                self.known.hold(name, row, after, again_and_again)
                if after or again_and_again:
                    self.index.add(name, row)
                told[name][row] = changes
        return told


def _ranges(bounds: Bounds) -> Ranges:
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _differing(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> Ranges:
    """What lies in one of the two alone."""
    return united([*subtracted(one, other), *subtracted(other, one)]) if one != other else []
