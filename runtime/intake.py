"""The intake: where facts enter, where the watermark is known, and where the stream's start is found.

A source promises that later facts begin after its **watermark**: the latest begin seen less the lateness, or what the source
itself says. The engine's watermark is the least one of the sources that count; one that has ended, or that is told to be
ignored while it is idle, does not. A fact that begins at or before it is late: answers that it could change may be out
already, so it is refused, counted and handed to the dead letters; nothing else is lost.

The facts of an input with a `delay` may begin so far behind the watermark. Forward operators, for which all facts of a time
are there at once, get the watermark less the largest delay: the **frontier**.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.plans.facts import Fact, Record, format_record
from tidelog.plans.plan import Plan, TupleShape
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.deploy import ports_fed_by
from tidelog.runtime.interfaces import Batch, Rejected

MOST_POINTS = 10_000
"""The most time points at which a fact may hold that a question reads."""
_NO_BOUND = 2 * POS
"""Further ahead than any fact can lie."""


@dataclass(slots=True)
class Delivery:
    """What one batch brings into the graph: facts by predicate, the frontier behind them, and what was late.

    `watermark` tells more than the frontier: later facts of a predicate begin after `watermark` less its delay.
    `arrivals`, if the plan counts facts, are those that count in their order, as rows `(predicate, *row)` at their begins.
    `points` are the encoded time points at which facts arrived, `start` the stream's start if it has just become known;
    `ahead` is what was refused because it lies too far in the future, `long` because it holds at too many time points.
    `course`, if the plan asks, are all facts that were accepted, in the order of their arrival.
    """

    facts: dict[str, list[Fact]] = field(default_factory=dict)
    arrivals: list[Fact] = field(default_factory=list)
    frontier: int = NEG
    points: list[int] = field(default_factory=list)
    start: int | None = None
    late: list[Rejected] = field(default_factory=list)
    ahead: list[Rejected] = field(default_factory=list)
    watermark: int = NEG
    long: list[Rejected] = field(default_factory=list)
    course: list[Record] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IntakeStatistics:
    """Counts of facts: accepted, of predicates that the program does not use, refused as late, too far ahead, too long."""

    accepted: int
    unused: int
    late: int
    ahead: int = 0
    long: int = 0


class Intake:
    """Sorts facts by predicate, keeps the watermark of each source, and finds the start.

    `lateness`, `start` and `max_ahead` are encoded. Without a given start, it is the begin of the earliest fact; known as
    soon as no earlier one can come. With `max_ahead`, a fact that begins by more than this beyond where its source stands
    (its watermark and the lateness, so its latest fact where nothing else was promised) is refused, but for its first. A
    question takes a fact as one at each time point, so of what it reads nothing may hold at more than `MOST_POINTS`.
    """

    def __init__(
        self,
        plan: Plan,
        sources: Iterable[str],
        lateness: int = 0,
        start: int | None = None,
        max_ahead: int | None = None,
    ) -> None:
        self._timeline = plan.timeline
        self._asked = frozenset(name for question in plan.questions for name in question.inputs)
        self._forward = frozenset(ports_fed_by(plan, "stream"))
        self._used = self._asked | self._forward
        self._delays = plan.delays
        self._behind = max(plan.delays.values(), default=0)
        self._counted = counted(plan)
        self._follows = plan.follows_time
        self._lateness = lateness
        self._max_ahead = _NO_BOUND if max_ahead is None else max_ahead
        self._latest = dict.fromkeys(sources, NEG)
        self._promised: dict[str, int] = dict.fromkeys(self._latest, NEG)
        self._ignored: set[str] = set()
        self.watermark = self.frontier = NEG
        self.given_start = start
        self._earliest = POS
        self._start_told = False
        self.accepted = self.unused = self.late = self.ahead = self.long = 0

    def take(self, source: str, batch: Batch) -> Delivery:
        """Sort one batch of a source; facts behind its watermark, or behind the engine's, are refused."""
        delivery = Delivery()
        self._ignored.discard(source)
        if self._asked:
            batch = self._refuse_long(batch, delivery)
        begins = self._sort(source, batch, delivery)
        if begins:
            self._earliest = min(self._earliest, *begins)
            delivery.points = sorted(begins if self._timeline.is_integer else {begin & ~1 for begin in begins})
            self._latest[source] = max(self._latest[source], delivery.points[-1])
            self._promise(source, self._latest[source] - self._lateness - 1)
        if batch.watermark is not None:
            self._promise(source, batch.watermark)
        self._advance()
        return self._close(delivery)

    def finish(self, source: str) -> list[Delivery]:
        """The source has ended; with the last source the stream ends, and all time is complete.

        Where the plan recurs through time, or turns times into rows, the stream's last time is completed first: what has no
        end is followed so far.
        """
        self._promised[source] = POS
        latest = max(self._latest.values())
        deliveries = []
        if self._follows and min(self._promised.values()) == POS and latest > NEG:
            # and the gap behind it, in which the last facts may begin
            self._reach(self._behind + (latest if self._timeline.is_integer else latest + 1))
            deliveries.append(self._close(Delivery()))
        self._advance()
        return [*deliveries, self._close(Delivery())]

    def ignore(self, source: str) -> Delivery:
        """The source is idle: it no longer holds back the frontier, until it speaks again."""
        self._ignored.add(source)
        self._advance()
        return self._close(Delivery())

    def _sort(self, source: str, batch: Batch, delivery: Delivery) -> set[int]:
        """Sort the records by predicate, and return when they begin.

        The watermark moves within the batch, so that what is late does not depend on how the stream was cut. A fact that
        begins in the open gap behind a time counts as arriving at that time.
        """
        used, counts, facts, late = self._used, self._counted, delivery.facts, delivery.late
        delays, course = self._delays, delivery.course if self._asked else None
        gap = 0 if self._timeline.is_integer else 1
        behind = self._lateness + 1
        leap = behind + self._max_ahead + gap
        limit = max(self.watermark, self._promised[source])
        begins: set[int] = set()
        unused = 0
        for i, record in enumerate(batch.records):
            predicate, row, lo, hi = record
            if lo > limit + behind:
                if lo - limit > leap and limit > NEG:
                    delivery.ahead.append(self._refuse_leap(record, _place(batch, i), limit + behind))
                    continue
                limit = lo - (lo & gap) - behind
            elif lo <= limit and limit > NEG and lo <= limit - delays.get(predicate, 0):
                late.append(self._refuse(record, _place(batch, i), limit))
                continue
            begins.add(lo)
            if course is not None:
                course.append(record)
            if predicate in counts and lo > NEG:  # what has no begin never arrived
                delivery.arrivals.append(((predicate, *row), lo, lo))
            if predicate not in used:
                unused += predicate not in counts
            elif predicate in facts:
                facts[predicate].append((row, lo, hi))
            else:
                facts[predicate] = [(row, lo, hi)]
        self.late += len(late)
        self.ahead += len(delivery.ahead)
        self.unused += unused
        self.accepted += len(batch.records) - len(late) - len(delivery.ahead) - unused
        if NEG in begins:  # the stream has no start; and time does not begin there
            self._earliest = NEG
            begins.discard(NEG)
        return begins

    def _refuse(self, record: Record, place: str, watermark: int) -> Rejected:
        text, predicate = format_record(record, self._timeline), record[0]
        reached = self._timeline.format_point(watermark - self._delays.get(predicate, 0) + 1)
        what = f"facts of `{predicate}`" if self._delays else "facts"
        return Rejected(place, f"late: {what} before {reached} can no longer come", text.encode())

    def _refuse_long(self, batch: Batch, delivery: Delivery) -> Batch:
        """Note the facts that a question would have to take as too many; the batch without those that it alone reads."""
        asked = self._asked
        long = [i for i, (name, _, lo, hi) in enumerate(batch.records) if hi - lo >= MOST_POINTS and name in asked]
        if not long:
            return batch
        reason = f"long: `ask` takes a fact as one at each time point, but {MOST_POINTS:,} at most"
        for i in long:
            text = format_record(batch.records[i], self._timeline)
            delivery.long.append(Rejected(_place(batch, i), reason, text.encode()))
        self.long += len(long)
        refused = {i for i in long if batch.records[i][0] not in self._forward}
        kept = [i for i in range(len(batch.records)) if i not in refused]
        places = None if batch.places is None else [batch.places[i] for i in kept]
        return replace(batch, records=[batch.records[i] for i in kept], places=places)

    def _refuse_leap(self, record: Record, place: str, reached: int) -> Rejected:
        text = format_record(record, self._timeline)
        bound, now = self._timeline.format_point(self._max_ahead), self._timeline.format_point(reached)
        return Rejected(place, f"ahead: begins more than {bound} after {now}, where its source stood", text.encode())

    def _promise(self, source: str, watermark: int) -> None:
        self._promised[source] = max(self._promised[source], watermark)

    def _advance(self) -> None:
        """Move the watermark to the least one of the sources that count."""
        live = {source: mark for source, mark in self._promised.items() if mark < POS}
        counting = [mark for source, mark in live.items() if source not in self._ignored]
        self._reach(min(counting, default=NEG) if live else POS)

    def _reach(self, watermark: int) -> None:
        """The watermark, unless it is there already, and the frontier behind it."""
        self.watermark = max(self.watermark, watermark)
        self.frontier = self.watermark if self.watermark in (NEG, POS) else max(NEG, self.watermark - self._behind)

    def _close(self, delivery: Delivery) -> Delivery:
        delivery.watermark, delivery.frontier = self.watermark, self.frontier
        if not self._start_told:
            delivery.start = self._find_start()
            self._start_told = delivery.start is not None
        return delivery

    def _find_start(self) -> int | None:
        if self.given_start is not None:
            return self.given_start
        return self._earliest if self._earliest <= self.frontier + 1 and self._earliest < POS else None

    def statistics(self) -> IntakeStatistics:
        return IntakeStatistics(self.accepted, self.unused, self.late, self.ahead, self.long)

    def snapshot(self) -> dict[str, Any]:
        """The watermarks and counters as plain data."""
        return {
            "latest": dict(self._latest),
            "promised": dict(self._promised),
            "ignored": sorted(self._ignored),
            "watermark": self.watermark,
            "earliest": self._earliest,
            "start_told": self._start_told,
            "counters": [self.accepted, self.unused, self.late, self.ahead, self.long],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._latest = dict(data["latest"])
        self._promised = dict(data["promised"])
        self._ignored = set(data["ignored"])
        self._reach(data["watermark"])
        self._earliest = data["earliest"]
        self._start_told = data["start_told"]
        self.accepted, self.unused, self.late, self.ahead, self.long = data["counters"]


def counted(plan: Plan) -> frozenset[str]:
    """The predicates whose facts a tuple window counts: those that it names, or all inputs, read by a rule or not."""
    windows = [step.shape for step in plan.steps if isinstance(step.shape, TupleShape)]
    return frozenset(name for window in windows for name in window.of or plan.normal.inputs)


def _place(batch: Batch, index: int) -> str:
    return batch.places[index] if batch.places is not None else ""
