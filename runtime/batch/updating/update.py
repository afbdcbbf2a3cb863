"""Facts that come and go behind a materialisation's end: component by component, what may change is derived again.

The idea is that of delete and rederive for DatalogMTL (arXiv 2511.12169). Where something has changed that a
component reads, it is found first which of its rows may change, and when. Then its rules are applied to what
these rest on, and derive them at these times alone. What differs in the end is what has changed for the components
behind it. So negation needs nothing of its own; and what repeats for ever is found as it always is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, intersected, subtracted, united
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.shapes import TOP
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.updating.affected import Affected, Changes, EverythingError, Place, whole
from tidelog.runtime.batch.updating.looking import Looking
from tidelog.runtime.batch.updating.part import Part, again, changed, part_of, part_of_constraint, widths_of
from tidelog.runtime.batch.updating.row_index import RowIndex, picker

_EVER: Ranges = [(NEG, POS)]
_GROWN = 4
"""Rows have become so many times as many, or fewer, before it is thought over anew in which order they are looked up."""
_LEAST, _FOR_EACH_ROW = 10_000, 2
"""So many changes are followed in a component, and so many more for each row of its predicates; else all is derived."""


_Regions = dict[str, dict[Row, Ranges]]
"""For rows of predicates, some times."""


@dataclass(slots=True)
class _Rest:
    """What a component is derived again from: records of facts, and the periods with which some of them return."""

    records: list[Record]
    periods: dict[str, list[int]]


@dataclass(slots=True)
class _Found:
    """When which `rows` of a component may change; among them those that there are of `groups`, of which others may come.

    Where there are `places`, nothing else is derived than what they say.
    """

    rows: _Regions
    groups: dict[Place, Mapping[Row, Bounds]]
    places: Mapping[Place, Mapping[Row, Bounds]]


@dataclass(slots=True)
class Updater:
    """Keeps what is `known` of a plan up to date, `until` a time; `given` are the facts of derived predicates."""

    plan: BatchPlan
    known: Interpretation
    given: dict[str, dict[Row, Bounds]]
    max_state: int | None
    until: int
    index: RowIndex = field(init=False)
    parts: list[Part] = field(init=False)
    constraints: list[Part] = field(init=False)
    looking: dict[str, Looking] = field(default_factory=dict)
    plans: dict[tuple[str, frozenset[Place]], BatchPlan] = field(default_factory=dict)
    """Those of components that read nothing which repeats, by their first predicate, and by what is guarded."""
    gone: list[tuple[str, Row]] = field(default_factory=list)
    """Rows that were told to hold no more: they are looked up until all has been derived."""
    before: dict[tuple[str, Row], Ranges] = field(default_factory=dict)
    """What was given, before the last change, of the rows that it is about."""
    own: dict[tuple[str, Row], Ranges] = field(default_factory=dict)
    """The facts of the program itself, which are never taken away."""

    def __post_init__(self) -> None:
        for name, row, lo, hi in self.plan.facts:
            self.own.setdefault((name, row), []).append((lo, hi))
        widths = widths_of(self.plan)
        self.index = RowIndex(self.known.rows_that_hold, widths)
        self.parts = [part_of(self.plan, part, widths) for stratum in self.plan.strata for part in stratum.components]
        self.constraints = [part_of_constraint(self.plan, name) for name in self.plan.constraints]

    def derive(self, changes: Changes) -> bool:
        """Derive what follows from what `give` has told; whether all has to be derived anew: since it violates a constraint,
        where none was violated, or since everything of a component would be, up to a time."""
        derived = {name for part in self.parts for name in part.component.predicates}
        told = {name: rows for name, rows in changes.items() if name not in derived}
        try:
            for part in self.parts:
                read = {name: told[name] for name in part.component.reads if told.get(name)}
                own = {name: changes[name] for name in part.component.predicates if name in changes}
                if read or own:
                    told.update(self._take(*self._derived(part, read, own)))
            is_anew = any(self._violates(part, told) for part in self.constraints)
        except EverythingError:
            return True
        gone: dict[str, dict[Row, None]] = defaultdict(dict)
        for name, row in self.gone:
            gone[name][row] = None
        for name, rows in gone.items():
            self.index.discard(name, self.known.that_do_not_hold(name, rows))
        self.gone.clear()
        return is_anew

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
        before = self.before = {}
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
        self.index.rows(name)  # as they were: what goes is looked up, too
        if name in self.given:
            if ranges:
                self.given[name][row] = [time for times in ranges for time in times]
            else:
                self.given[name].pop(row, None)
        else:
            self.known.hold(name, row, ranges, ())
            if ranges:
                self.index.add(name, row)
            else:
                self.gone.append((name, row))

    # --- one component --------------------------------------------------------------------------------------------------

    def _derived(self, part: Part, read: Changes, own: Changes) -> tuple[Interpretation, _Found]:
        """Derive anew what may change of a component: what holds then, and which rows might have changed, and when.

        EverythingError where that is all of it, and some of it would lie behind the end.
        """
        looking = self._looking(part)
        found = self._found(part, looking, read, own)
        if not any(found.places.values()) and found.places:
            return self.known, _Found({}, {}, {})
        self._look(part, looking, found)
        rest = self._rest(part, looking.needed, found)
        done = Materialisation(self._plan_of(part, rest.periods, found.places), max_state=self.max_state)
        done.known.load(rest.records)
        done.known.start = self.known.start
        done.run()
        if not found.places:
            for name in part.component.predicates:
                found.rows[name] |= dict.fromkeys(done.known.rows_that_hold(name), _EVER)
        for (name, pattern), groups in found.groups.items():
            pick, rows = picker(pattern), found.rows[name]
            for row in done.known.rows_that_hold(name):
                if row not in rows and pick(row) in groups:
                    rows[row] = _united(found.groups, name, row)
        done.known.bound.let_go()  # so that it goes with its last reader, and no garbage is looked for
        return done.known, found

    def _found(self, part: Part, looking: Looking, read: Changes, own: Changes) -> _Found:
        """Which rows of a component may change, and when."""
        names = part.component.predicates
        most = _LEAST + _FOR_EACH_ROW * sum(len(self.index.rows(name)) for name in names)
        affected = Affected(part, looking, self.index, self.known.is_repeating, self.known.repeats, self.until, most)
        try:
            affected.follow(read, own)
        except EverythingError:
            if self.until < POS:
                raise
            found = _Found({name: dict.fromkeys(self.index.rows(name), _EVER) for name in names}, {}, {})
            self._note_absent(found)
            return found
        places = {place: store.rows for place, store in affected.found.items()}
        rows: _Regions = {name: {} for name in names}
        groups: dict[Place, Mapping[Row, Bounds]] = {}
        for place, bounds in places.items():
            name, pattern = place
            if pattern != whole(part.widths[name]):
                groups[place] = bounds
            else:
                rows[name] = {row: _ranges(times) for row, times in bounds.items()}
        for (name, pattern), keys in groups.items():
            for key, times in keys.items():
                for row in self.index.like(name, pattern, key):
                    rows[name][row] = united([*rows[name].get(row, ()), *_ranges(times)])
        found = _Found(rows, groups, places)
        self._note_absent(found)
        return found

    def _note_absent(self, found: _Found) -> None:
        """Rows that may come to hold are looked up, but those that do not are not kept."""
        for name, rows in found.rows.items():
            self.gone += [(name, row) for row in self.known.that_do_not_hold(name, rows)]

    def _plan_of(self, part: Part, periods: Mapping[str, Sequence[int]], guards: Iterable[Place]) -> BatchPlan:
        if periods:
            return part.plan(self.plan, periods, guards)
        place = part.component.predicates[0], frozenset(guards)
        if place not in self.plans:
            self.plans[place] = part.plan(self.plan, {}, sorted(place[1]))
        return self.plans[place]

    def _looking(self, part: Part) -> Looking:
        name = part.component.predicates[0]
        looking = self.looking.get(name)
        if looking is not None:
            now, then = looking.known_rows() + _LEAST, looking.looked_at + _LEAST
            if now > _GROWN * then or then > _GROWN * now:
                looking = None
        if looking is None:
            looking = self.looking[name] = Looking(part.cut(), part.text, self.index)
        return looking

    def _look(self, part: Part, looking: Looking, found: _Found) -> None:
        """Find the rows on which those rest that may change."""
        looking.begin()
        if not found.places:
            for name in part.text:
                looking.need(name, None, [()])
            return
        for (name, pattern), rows in found.places.items():
            for rule in part.unions[name].feeders:
                looking.need(rule, pattern, rows)

    def _rest(self, part: Part, needed: Mapping[str, Iterable[Row]], found: _Found) -> _Rest:
        """What the rows rest on that may change, as far as rules look; and when they may."""
        rest = _Rest([], {})
        times = _EVER if not found.places else self._seen(part, found)
        for name, rows in needed.items():
            if name == TOP:
                continue
            own = found.rows.get(name)
            others = [row for row in rows if row not in own] if own else rows
            self._keep(rest.records, name, others, times)
            if self.known.is_repeating(name):
                for row in others:
                    self._repeat(rest, name, row)
        for name, found_rows in found.rows.items():
            stored, own_facts = self.known.rows_of(name), self.given.get(name, {})
            for row, ranges in found_rows.items():
                bounds, facts = stored.get(row), own_facts.get(row)
                if bounds is None or (ranges[0][0] <= bounds[0] and bounds[-1] <= ranges[0][1]):  # as mostly
                    kept: Ranges = []
                else:
                    kept = subtracted(_ranges(bounds), ranges)
                if facts:
                    kept = united([*kept, *_ranges(facts)])
                if kept:
                    rest.records += [(name, row, lo, hi) for lo, hi in intersected(kept, times)]
        for place, guards in found.places.items():
            rest.records += self._guards(changed(*place), guards)
        return rest

    def _keep(self, records: list[Record], name: str, rows: Iterable[Row], times: Ranges) -> None:
        """Rows that do not change, as they hold at some times."""
        stored, whole_time = self.known.rows_of(name), times[0] if len(times) == 1 else (POS, NEG)
        for row in rows:
            bounds = stored.get(row)
            if bounds is None:
                continue
            if whole_time[0] <= bounds[0] and bounds[-1] <= whole_time[1]:
                records += [(name, row, bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
            else:
                records += [(name, row, lo, hi) for lo, hi in intersected(_ranges(bounds), times)]

    def _guards(self, name: str, guards: Mapping[Row, Bounds]) -> Iterator[Record]:
        """What may be derived, and when."""
        until = self.until
        for row, bounds in guards.items():
            for i in range(0, len(bounds), 2):
                if bounds[i] <= until:
                    hi = bounds[i + 1]
                    yield name, row, bounds[i], hi if hi < until else until

    def _seen(self, part: Part, found: _Found) -> Ranges:
        """The times at which rules look, where they derive what may change."""
        every: set[tuple[int, int]] = set()  # many rows change at the same times
        for rows in found.places.values():
            for bounds in rows.values():
                if len(bounds) == 2:
                    every.add((bounds[0], bounds[1]))
                else:
                    every.update(_ranges(bounds))
        return united(
            (lo if lo <= NEG else max(NEG, lo - part.back), hi if hi >= POS else min(POS, hi + part.ahead))
            for lo, hi in every
        )

    def _repeat(self, rest: _Rest, name: str, row: Row) -> None:
        """What repeats of a row that does not change, as it holds."""
        for fact in self.known.held(name, row)[1]:
            lengths = rest.periods.setdefault(name, [])
            if fact.period not in lengths:
                lengths.append(fact.period)
            rest.records.append((again(name, lengths.index(fact.period)), row, fact.lo, fact.hi))

    def _take(self, done: Interpretation, found: _Found) -> dict[str, dict[Row, Ranges]]:
        """Take over what has been derived, where it could be; returns what is so different."""
        told: dict[str, dict[Row, Ranges]] = {}
        for name, rows in found.rows.items():
            self.index.rows(name)  # as they were: what goes is looked up, too
            if self.known.is_repeating(name) or done.is_repeating(name):
                differing = self._take_repeating(done, name, rows)
            else:
                differing = self._take_rows(done, name, rows)
            if differing:
                told[name] = differing
        return told

    def _take_rows(self, done: Interpretation, name: str, rows: Mapping[Row, Ranges]) -> dict[Row, Ranges]:
        """Take over the rows of a predicate of which nothing repeats."""
        derived, known = done.rows_of(name), self.known.rows_of(name)
        differing: dict[Row, Ranges] = {}
        after: dict[Row, Bounds] = {}
        for row, ranges in rows.items():
            bounds, others = derived.get(row), known.get(row)
            if bounds == others:
                continue
            if bounds and ranges[0][0] <= bounds[0] and bounds[-1] <= ranges[0][1]:
                new = _ranges(bounds)
            else:
                new = intersected(_ranges(bounds), ranges) if bounds else []
            old = _ranges(others) if others else []
            if old and not (len(ranges) == 1 and ranges[0][0] <= old[0][0] and old[-1][1] <= ranges[0][1]):
                new = united([*subtracted(old, ranges), *new])
            changes = _differing(old, new)
            if changes:
                differing[row] = changes
                after[row] = [time for times in new for time in times]
                if new:
                    self.index.add(name, row)
                else:
                    self.gone.append((name, row))
        self.known.hold_all(name, after)
        return differing

    def _take_repeating(self, done: Interpretation, name: str, rows: Mapping[Row, Ranges]) -> dict[Row, Ranges]:
        """Take over the rows of a predicate of which some repeat for ever."""
        differing: dict[Row, Ranges] = {}
        for row, ranges in rows.items():
            before, returning = self.known.held(name, row)
            derived, again_and_again = done.held(name, row)
            after = united([*subtracted(before, ranges), *intersected(derived, ranges)])
            changes = ranges if set(returning) != set(again_and_again) else _differing(before, after)
            if changes:
                differing[row] = changes
                self.known.hold(name, row, after, again_and_again)
                if after or again_and_again:
                    self.index.add(name, row)
                else:
                    self.gone.append((name, row))
        return differing


def _united(groups: Mapping[Place, Mapping[Row, Bounds]], name: str, row: Row) -> Ranges:
    """When a row may change, by the groups of which it is."""
    return united(
        times
        for (of, pattern), keys in groups.items()
        if of == name
        for times in _ranges(keys.get(picker(pattern)(row), []))
    )


def _ranges(bounds: Bounds) -> Ranges:
    if len(bounds) == 2:
        return [(bounds[0], bounds[1])]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _differing(one: Ranges, other: Ranges) -> Ranges:
    """What lies in one of the two alone."""
    if not one or not other:
        return one or other
    return united([*subtracted(one, other), *subtracted(other, one)]) if one != other else []
