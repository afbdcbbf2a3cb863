"""The intake: where facts enter, where the watermark is known, and where the stream's start is found.

A source promises that later facts begin after its **watermark**: the last moment before the latest begin seen less the
lateness (what begins just then is in time), or what the source itself says. The engine's watermark is the least one of the
sources that count; one that has ended, or that is told to be ignored while it is idle, does not. A fact that begins at or
before it is late: answers that it could change may be out already, so it is refused, counted and handed to the dead letters;
nothing else is lost.

The facts of an input with a `delay` may begin so far behind the watermark. Forward operators, for which all facts of a time
are there at once, get the watermark less the largest delay: the **frontier**.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import itemgetter
from typing import Any

from tidelog.plans.analysis.horizons.calendar_reach import first_time
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError, LateError
from tidelog.plans.plan.feeds import ports_fed_by
from tidelog.plans.plan.plan import Plan, TupleShape
from tidelog.runtime.intake.admitting import Admitted, Admitting
from tidelog.runtime.intake.source_state import SourceState
from tidelog.runtime.intake.tracks import Rules
from tidelog.runtime.intake.watermarks import Watermarks
from tidelog.runtime.ports.interfaces import MOST_NAMES, Batch, PlainTimes, Rejected, Tick

MOST_POINTS = 10_000
"""The most time points at which a fact may hold that a question reads."""
MAX_LEAD = 100_000
"""By how many facts a source may run ahead of the slowest unless told otherwise."""


@dataclass(slots=True)
class Delivery:
    """What one batch brings into the graph: facts by predicate, the frontier behind them, and what was late.

    `watermark` tells more than the frontier: later facts of a predicate begin after `watermark` less its delay.
    `arrivals`, if the plan counts facts, are those that count in their order, as rows `(predicate, *row)` at their begins.
    `points` are the encoded time points at which facts arrived, `start` the stream's start if it has just become known;
    `ahead` is what was refused because it lies too far in the future, `long` because it holds at too many time points.
    `course`, if the plan asks, are all facts that were accepted, in the order of their arrival (see `_course`).
    """

    facts: dict[str, list[Fact]] = field(default_factory=dict)
    arrivals: Sequence[Fact] = ()
    frontier: int = NEG
    points: Sequence[int] = ()
    start: int | None = None
    late: Sequence[Rejected] = ()
    ahead: Sequence[Rejected] = ()
    watermark: int = NEG
    long: Sequence[Rejected] = ()
    course: Sequence[Record] = ()

    @property
    def refused(self) -> list[Rejected]:
        """All that was refused."""
        return [*self.late, *self.ahead, *self.long]


@dataclass(frozen=True, slots=True)
class IntakeStatistics:
    """Counts of facts: accepted, of predicates that the program does not use, refused as late, too far ahead, too long.

    `held` is how many first facts wait for others that agree with them on the time, `unused_names` are the first of the
    predicates that are not used, each with how many of the facts are its own. `frontier` tells how far the stream is
    complete (encoded).
    """

    accepted: int
    unused: int
    late: int
    ahead: int = 0
    long: int = 0
    held: int = 0
    unused_names: dict[str, int] = field(default_factory=dict)
    frontier: int = field(default=NEG, compare=False, repr=False)  # people are told of it as a time


class Intake:
    """Sorts facts by predicate, keeps the watermark of each source, and finds the start.

    `lateness`, `start` and `max_ahead` are encoded. Without a given start, it is the begin of the earliest fact; known as
    soon as no earlier one can come. With `max_ahead`, a fact that begins by more than this beyond where its source stands
    (its watermark and the lateness, so its latest fact where nothing else was promised) is refused, unless most facts that
    come then agree with it (`runtime/intake/tracks.py`). Once a clock tells the time (`pass_time`), the clock alone decides
    what is too far ahead. A part of a source counts as idle once more than `max_lead` facts of the source's other parts have
    come since its last. A question takes a fact as one at each time point, so of what it reads nothing may hold at more than
    `MOST_POINTS`.
    """

    def __init__(
        self,
        plan: Plan,
        sources: Iterable[str],
        lateness: int = 0,
        start: int | None = None,
        max_ahead: int | None = None,
        max_lead: int = MAX_LEAD,
    ) -> None:
        self._timeline = plan.timeline
        self._asked = frozenset(name for question in plan.questions for name in question.inputs)
        self._forward = frozenset(ports_fed_by(plan, "stream"))
        self._used = self._asked | self._forward
        self._behind = max(plan.delays.values(), default=0)
        self._counted = counted(plan)
        self._plain = frozenset() if self._asked else self._used - self._counted
        self._follows = plan.follows_time
        self.watermarks = Watermarks(sources, PlainTimes(plan.timeline))
        rules = Rules(lateness, max_ahead, 0 if plan.timeline.is_integer else 1)
        self._admitting = Admitting(self.watermarks, plan.timeline, plan.delays, rules, max_lead)
        self._delays, self._late_by, self._gap, self._leap = plan.delays, rules.behind, rules.gap, rules.leap
        self._latest = self._furthest = NEG
        self.given_start = start
        self._earliest = POS
        self._is_over_calendars = bool(plan.over_calendars)
        self._timeless: dict[str, list[Fact]] = {}  # what has no begin waits for the start of a stream over calendars
        self.start_told = False
        """Whether it is known when the stream starts."""
        self.accepted = self.unused = self.late = self.ahead = self.long = 0
        self._unused_names: dict[str, int] = {}
        self.cut: Callable[[list[Record]], list[Record]] | None = None
        """What takes away from facts that are accepted, in a replay; time moves as if it did not."""

    @property
    def watermark(self) -> int:
        """The least promise of all sources that count."""
        return self.watermarks.watermark

    @property
    def latest(self) -> int:
        """The latest begin (encoded) of a fact that was accepted; `NEG` before the first."""
        return self._latest

    @property
    def frontier(self) -> int:
        """The watermark less the largest delay of an input."""
        return self.watermark if self.watermark in (NEG, POS) else max(NEG, self.watermark - self._behind)

    @property
    def is_fresh(self) -> bool:
        """Whether no source has said anything."""
        return self.watermark <= NEG and not any(state.taken for state in self.watermarks.sources.values())

    def open(self, source: str) -> Delivery:
        """A further source has come: from now on it holds back the watermark, as one does that was there from the start."""
        self.watermarks.add(source)
        return self._close(Delivery())

    def take(self, source: str, batch: Batch, moment: float = 0.0) -> Delivery:
        """Sort one batch of a source; facts behind the watermark of their part, or behind the engine's, are refused.

        `moment` is when the batch came, by any clock, for `ignore`.
        """
        state = self.watermarks.find(source)
        expected = self._take_expected(state, batch, moment)
        if expected is not None:
            return expected
        delivery = Delivery()
        if self._asked:
            batch = self._refuse_long(batch, delivery)
        self._bring(state, self._admitting.admit(state, batch, moment), delivery)
        return self._close(delivery)

    def take_one(self, source: str, record: Record, moment: float = 0.0) -> int | None:
        """Take a fact that comes by itself, by a short way, and return the frontier behind it.

        None, and nothing done, where something is to be found out.
        """
        predicate, _, lo, _ = record
        marks = self.watermarks
        state = marks.sources.get(source)
        track = None if state is None else state.only
        if state is None or track is None or track.held or track.votes or predicate not in self._plain or self.cut:
            return None
        limit = marks.watermark
        if track.promised > limit:  # noqa: PLR1730 - three calls of min and max took a twelfth of a lone event
            limit = track.promised
        if lo <= limit or lo - limit > self._leap or lo > marks.ceiling or lo <= NEG:
            return None
        point = lo - (lo & self._gap)
        if lo > limit + self._late_by:
            marks.advance_one(state, track, point - self._late_by)
        state.taken = track.last = state.taken + 1
        track.accepted += 1
        track.moment, track.heard = moment, True
        if len(marks.sources) > 1 or marks.holds:
            state.run_ahead(1)
        self.accepted += 1
        if lo < self._earliest:  # noqa: PLR1730 - a call of max or min would cost a lone event
            self._earliest = lo
        if point > self._latest:  # noqa: PLR1730 - a call of max or min would cost a lone event
            self._latest = point
        return self.frontier if self._behind else marks.watermark

    def one(self, record: Record) -> Delivery:
        """What a fact brings that was taken alone."""
        predicate, row, lo, hi = record
        return self._close(Delivery({predicate: [(row, lo, hi)]}, points=(lo - (lo & self._gap),)))

    def let_by(self, source: str, first: Record, counts: Mapping[str, int], latest: int) -> None:
        """So many facts of each predicate have gone by in the order of their begins, `latest` the last of these.

        They are the first of all facts, or follow others that have gone by so, and nobody else hands in any.
        """
        self.take(source, Batch([first]))
        state = self.watermarks.find(source)
        track = state.track(None, 0.0)
        left = {name: count - (name == first[0]) for name, count in counts.items()}
        for name, count in left.items():
            if name in self._used:
                self.accepted += count
            elif count and self._note_unused(name):
                self.unused += count
                self._unused_names[name] += count - 1
        state.heard(track, sum(left.values()), 0.0)
        track.promised = max(track.promised, latest - (latest & self._gap) - self._late_by)
        self._latest = max(self._latest, latest - (latest & self._gap))
        self.watermarks.advance(state)
        state.run_ahead(sum(left.values()))
        self._close(Delivery())

    def _take_expected(self, state: SourceState, batch: Batch, moment: float) -> Delivery | None:
        """Admit facts and sort them by predicate in one, where each is as expected; None, and nothing done, otherwise.

        What begins when the fact before it did needs no look: it is as late, and as far ahead.
        """
        track, marks, plain = state.only, self.watermarks, self._plain
        if track is None or batch.parts is not None or batch.watermark is not None or not batch.records:
            return None
        promised, last = track.promised, NEG - 1  # before all begins, also that of what has always held
        limit = max(marks.watermark, promised)
        if track.held or track.votes or limit <= NEG or self._delays or self._counted or self.cut:
            return None
        behind, gap, leap, ceiling = self._late_by, self._gap, self._leap, marks.ceiling
        facts: dict[str, list[Fact]] = {}
        begins: set[int] = set()
        name, own = "", list[Fact]()
        records: Sequence[tuple[str, Row, Any, Any]] = batch.records  # compiled code passes on times that it does not know
        for predicate, row, begin, hi in records:
            lo: int = begin
            if lo != last:
                if lo <= limit or lo - limit > leap or lo > ceiling:
                    return None
                begins.add(begin)
                last = lo
                if lo > limit + behind:
                    limit = promised = lo - (lo & gap) - behind
            if predicate != name:
                if predicate in facts:
                    own = facts[predicate]
                elif predicate in plain:
                    own = facts[predicate] = []
                else:
                    return None
                name = predicate
            own.append((row, begin, hi))
        track.promised, count = promised, len(batch.records)
        state.heard(track, count, moment)
        self.accepted += count
        delivery = Delivery(facts)
        self._note_begins(begins, delivery)
        marks.advance(state)
        state.run_ahead(count)
        return self._close(delivery)

    def finish(self, source: str) -> list[Delivery]:
        """The source has ended; with the last source the stream ends, and all time is complete.

        Where the plan recurs through time, or turns times into rows, the stream's last time is completed first: what has no
        end is followed so far.
        """
        state = self.watermarks.find(source)
        first = Delivery()
        self._sort(self._admitting.drop(state, list(state.tracks.values())), first)
        deliveries = [self._close(first)] if first.facts or first.points or first.late or first.ahead else []
        if source in self.watermarks.sources:
            self.watermarks.end(state)
        if self._follows and not self.watermarks.sources and self._latest > NEG:
            # and the gap behind it, in which the last facts may begin
            self.watermarks.reach(self._behind + (self._latest if self._timeline.is_integer else self._latest + 1))
            deliveries.append(self._close(Delivery()))
        self.watermarks.advance(state)
        return [*deliveries, self._close(Delivery())]

    def ignore(self, source: str, before: float = math.inf) -> Delivery:
        """The source is idle, or those of its parts are that brought nothing after the moment `before`.

        They no longer hold back the frontier, until they speak again.
        """
        delivery = Delivery()
        state = self.watermarks.find(source)
        idle = list(takewhile(lambda track: track.moment <= before, state.tracks.values()))
        self._bring(state, self._admitting.drop(state, idle), delivery)
        return self._close(delivery)

    def leave(self, source: str) -> list[Delivery]:
        """The source will say nothing more, though the stream has not ended, and nobody waits for it.

        Where nobody else counts, time comes as far as the furthest of those that have left has promised: so it does not
        matter which of them was the first.
        """
        tracks = self.watermarks.find(source).tracks.values()
        self._furthest = max([self._furthest, *(track.promised for track in tracks)])
        deliveries = [self.ignore(source)]
        if self.watermarks.slowest() is None:
            self.watermarks.reach(self._furthest)
            deliveries.append(self._close(Delivery()))
        return deliveries

    def pass_time(self, tick: Tick) -> Delivery:
        """The machine's clock has gone on: what it says is a floor for the watermark of every source."""
        self.watermarks.pass_time(tick)
        return self._close(Delivery())

    def _note_unused(self, predicate: str) -> bool:
        """Count a fact by the name of its predicate, while there are not too many."""
        names = self._unused_names
        if predicate in names or len(names) < MOST_NAMES:
            names[predicate] = names.get(predicate, 0) + 1
        return True

    def _bring(self, state: SourceState, admitted: Admitted, delivery: Delivery) -> None:
        """What is taken of a source goes into the delivery, and time goes on."""
        self._sort(admitted, delivery)
        self.watermarks.advance(state)
        state.run_ahead(len(admitted.records))

    def _sort(self, admitted: Admitted, delivery: Delivery) -> None:
        """Sort what is taken by predicate, and note when it begins."""
        used, counts, facts = self._used, self._counted, delivery.facts
        begins: set[int] = set()
        arrivals: list[Fact] = []
        unused = 0
        records = admitted.records if self.cut is None else self.cut(admitted.records)
        for predicate, row, lo, hi in records:
            begins.add(lo)
            if predicate in counts and lo > NEG:  # what has no begin never arrived
                arrivals.append(((predicate, *row), lo, lo))
            if predicate not in used:
                unused += predicate not in counts and self._note_unused(predicate)
            elif predicate in facts:
                facts[predicate].append((row, lo, hi))
            else:
                facts[predicate] = [(row, lo, hi)]
        delivery.arrivals = arrivals
        if self._asked:
            delivery.course = self._course(records)
        delivery.late, delivery.ahead = admitted.late, admitted.ahead
        self.late += len(admitted.late)
        self.ahead += len(admitted.ahead)
        self.unused += unused
        self.accepted += len(admitted.records) - unused
        if self.cut is not None:  # time moves as it did
            begins = {record[2] for record in admitted.records}
        self._note_begins(begins, delivery)
        if NEG in begins and self._is_over_calendars:
            self._earliest = min(self._earliest, first_time(admitted.records))

    def _course(self, records: list[Record]) -> list[Record]:
        """Facts in the order of their arrival; by their begins where one would be late behind another.

        Several parts of a source may bring such, or first facts that were held.
        """
        delays, latest = self._delays, NEG
        for predicate, _, lo, _ in records:
            if lo > latest:
                latest = lo
            elif lo + delays.get(predicate, 0) <= latest - self._late_by:
                return sorted(records, key=itemgetter(2))
        return records

    def _note_begins(self, begins: set[int], delivery: Delivery) -> None:
        if NEG in begins and not self._is_over_calendars:  # the stream has no start
            self._earliest = NEG
        timed = begins - {NEG}  # time does not begin there
        if timed:
            self._earliest = min(self._earliest, *timed)
            delivery.points = sorted(timed if self._timeline.is_integer else {begin & ~1 for begin in timed})
            self._latest = max(self._latest, delivery.points[-1])

    def _refuse_long(self, batch: Batch, delivery: Delivery) -> Batch:
        """Note the facts that a question would have to take as too many; the batch without those that it alone reads."""
        asked = self._asked
        long = [i for i, (name, _, lo, hi) in enumerate(batch.records) if hi - lo >= MOST_POINTS and name in asked]
        if not long:
            return batch
        refused_long: list[Rejected] = []
        reason = f"long: `ask` takes a fact as one at each time point, but {MOST_POINTS:,} at most"
        for i in long:
            record = batch.records[i]
            refused_long.append(Rejected(batch.place(i), reason, self._admitting.text(record).encode(), record))
        delivery.long = refused_long
        self.long += len(long)
        refused = {i for i in long if batch.records[i][0] not in self._forward}
        kept = [i for i in range(len(batch.records)) if i not in refused]
        places = None if batch.places is None else [batch.places[i] for i in kept]
        parts = None if batch.parts is None else [batch.parts[i] for i in kept]
        return replace(batch, records=[batch.records[i] for i in kept], places=places, parts=parts)

    def _close(self, delivery: Delivery) -> Delivery:
        watermark = delivery.watermark = self.watermarks.watermark
        delivery.frontier = watermark if not self._behind else self.frontier
        if not self.start_told:
            delivery.start = self._find_start()
            self.start_told = delivery.start is not None
            if self._is_over_calendars:
                self._hold_timeless(delivery)
        return delivery

    def _hold_timeless(self, delivery: Delivery) -> None:
        """Over calendars, what has no begin comes when the stream starts, or at its end."""
        if self.start_told or delivery.frontier >= POS:
            for name, held in self._timeless.items():
                delivery.facts[name] = [*held, *delivery.facts.get(name, ())]
            self._timeless = {}
            return
        for name, facts in delivery.facts.items():
            if timeless := [fact for fact in facts if fact[1] <= NEG]:
                self._timeless.setdefault(name, []).extend(timeless)
                delivery.facts[name] = [fact for fact in facts if fact[1] > NEG]

    def _find_start(self) -> int | None:
        if self.given_start is not None:
            return self.given_start
        return self._earliest if self._earliest <= self.frontier + 1 and self._earliest < POS else None

    def resume(self, data: dict[str, Any]) -> Delivery:
        """Continue where a snapshot was taken, before a graph that has been told nothing yet; returns what it is told."""
        self.restore(data)
        self.start_told = False
        return self._close(Delivery())

    def held(self) -> list[Record]:
        """First facts that wait for others that agree with them on the time."""
        tracks = [track for state in self.watermarks.sources.values() for track in state.tracks.values()]
        return [record for track in tracks for record, _ in track.held or ()]

    def statistics(self) -> IntakeStatistics:
        """Counts of facts so far."""
        held = len(self.held())
        names = dict(self._unused_names)
        return IntakeStatistics(self.accepted, self.unused, self.late, self.ahead, self.long, held, names, self.frontier)

    def snapshot(self) -> dict[str, Any]:
        """The watermarks and counters as plain data."""
        return {
            "watermarks": self.watermarks.snapshot(),
            "latest": self._latest,
            "earliest": self._earliest,
            "timeless": [[name, list(row), hi] for name, facts in self._timeless.items() for row, _, hi in facts],
            "start_told": self.start_told,
            "counters": [self.accepted, self.unused, self.late, self.ahead, self.long],
            "unused_names": dict(self._unused_names),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.watermarks.restore(data["watermarks"])
        self._latest = data["latest"]
        self._earliest = data["earliest"]
        self._timeless = {}
        for name, row, hi in data.get("timeless", ()):
            self._timeless.setdefault(name, []).append((tuple(row), NEG, hi))
        self.start_told = data["start_told"]
        self.accepted, self.unused, self.late, self.ahead, self.long = data["counters"]
        self._unused_names = dict(data["unused_names"])


def counted(plan: Plan) -> frozenset[str]:
    """The predicates whose facts a tuple window counts: those that it names, or all inputs, read by a rule or not."""
    windows = [step.shape for step in plan.steps if isinstance(step.shape, TupleShape)]
    return frozenset(name for window in windows for name in window.of or plan.normal.inputs)


def raise_refused(*deliveries: Delivery) -> None:
    """LateError for the first fact that is late, DataError for the first that was refused for another reason."""
    for delivery in deliveries:
        for item in delivery.late:
            raise LateError(f"{item.raw.decode()}: {item.reason}", item.place)
        for item in delivery.refused:
            raise DataError(f"{item.raw.decode()}: {item.reason}", item.place)
