"""Aggregates over the periods of a calendar: one value for each group and each period, once the period is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.grouped.counting.accounts import NUMERIC, Account, maker
from tidelog.operators.operator import Operator
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import PeriodShape
from tidelog.plans.tree.syntax import Value

MOST_PERIODS = 1_000_000
"""More periods that end in one message are refused: an answer for each hour of a hundred years is no use to anyone."""


class _Period:
    """A period that is not over: its range, and what is kept of each group."""

    __slots__ = ("groups", "hi", "lo")

    def __init__(self, lo: int, hi: int) -> None:
        self.lo, self.hi = lo, hi
        self.groups: dict[Row, Account] = {}


class Periods(Operator):
    """`A = f(V) over M per C by G`: the value over all pairs (row, time point) of a period holds at all of its time points.

    Facts come in any order. A fact is weighed in the periods that it reaches up to the frontier's; what lies beyond waits.
    Port 1 brings the stream's start: a fact without a begin counts from there on. A fact without an end counts in the
    periods that have begun when the stream ends; in batch, which has no stream, in those that are over by `end`.
    State: for each period that is not over, an account of each group. Final: up to before the period at hand.
    Rows whose V is a text are counted where f takes numbers (`failed_evaluations`). OverflowError for more than
    `MOST_PERIODS` answers, or periods of one fact, at once.

    >>> from fractions import Fraction
    >>> from tidelog.plans.calendars.calendar import every
    >>> from tidelog.plans.calendars.ticks import TickCalendar
    >>> day = TickCalendar(every("day"), Fraction(3600), 1)
    >>> op = Periods(PeriodShape("sum", day, (0,), 1), lambda row: row[:1])
    >>> op.receive(0, [(("a", 2), 1, 1), (("a", 4), 22, 25)], 25), op.frontier
    ([(('a', 10), 0, 23)], 23)
    >>> op.deadline(), op.receive(0, [(("a", 1), 30, 30)], 47)
    ((0, 47), [(('a', 9), 24, 47)])
    """

    __slots__ = (
        "_calendar",
        "_count",
        "_ends",
        "_failures",
        "_gap",
        "_key",
        "_make",
        "_numeric",
        "_place",
        "_recent",
        "_start",
        "_timeless",
        "_waiting",
        "end",
        "periods",
    )

    def __init__(self, shape: PeriodShape, key: Callable[[Row], Row]) -> None:
        super().__init__(2)
        self._calendar = shape.calendar
        self._key, self._place = key, shape.value
        self._make = maker(shape.function, shape.fraction)
        self._numeric = shape.function in NUMERIC
        self._failures = self._count = 0
        self.periods: dict[int, _Period] = {}
        self._ends: list[tuple[int, int]] = []  # the end and the begin of each period
        self._recent = _Period(POS, NEG)  # the last that was looked at
        self._gap = (POS, NEG)  # no period lies here, up to before the end
        self._waiting: list[tuple[int, int, Row, int]] = []  # what lies beyond the period at hand; rows need no order
        self._start = NEG
        self.end = POS  # of a period that ends later nothing is told: what falls into it is not all there
        self._timeless: list[tuple[Row, int]] = []  # facts without a begin, until the start is known

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == 1:
            for _, start, _ in facts:
                self._start = start
                timeless, self._timeless = self._timeless, []
                for row, hi in timeless:
                    self._take(row, start, hi)
            return []
        place, numeric = self._place, self._numeric
        for row, lo, hi in facts:
            if numeric and place is not None and row[place].__class__ is str:
                self._failures += 1
                continue
            recent = self._recent
            if recent.lo <= lo and hi <= recent.hi:
                self._add(recent, row, lo, hi)
            elif lo > NEG:
                self._take(row, lo, hi)
            elif self._start > NEG:
                self._take(row, self._start, hi)
            else:
                self._timeless.append((row, hi))
        return []

    def _add(self, period: _Period, row: Row, lo: int, hi: int) -> None:
        key = self._key(row)
        account = period.groups.get(key)
        if account is None:
            account = period.groups[key] = self._make()
        value: Value | None = None if self._place is None else row[self._place]
        account.add(lo, hi, value)

    def _take(self, row: Row, lo: int, hi: int) -> None:
        """Weigh a fact in its periods, as far as the frontier's; the rest of it waits."""
        known, count = self.frontiers[0], 0
        if known >= POS and hi >= POS:
            if self.end >= POS:
                return
            hi = self.end
        while lo <= hi:
            if lo > known and (count or hi >= POS):
                self._count += 1
                heappush(self._waiting, (lo, self._count, row, hi))
                return
            found = self._period_at(lo)
            if found is None:
                lo = self._gap[1]
            else:
                self._add(found, row, lo, min(hi, found.hi))
                lo = found.hi + 1
            count += 1
            if count > MOST_PERIODS:
                raise OverflowError(f"a fact falls into more than {MOST_PERIODS:,} periods")

    def _period_at(self, time: int) -> _Period | None:
        """The period in which a time lies; None in a gap between two."""
        recent = self._recent
        if recent.lo <= time <= recent.hi:
            return recent
        if self._gap[0] <= time < self._gap[1]:
            return None
        for period in self.periods.values():
            if period.lo <= time <= period.hi:
                self._recent = period
                return period
        found = self._calendar.around(time)
        if found is None:
            self._gap = (time, self._calendar.following(time + 1))
            return None
        lo, hi = found
        period = self._recent = self.periods[lo] = _Period(lo, hi)
        heappush(self._ends, (hi, lo))
        return period

    def settle(self, port: int) -> list[Fact]:
        known = self.frontiers[0]
        while self._waiting and self._waiting[0][0] <= known:
            lo, _, row, hi = heappop(self._waiting)
            self._take(row, lo, hi)
        out: list[Fact] = []
        while self._ends and self._ends[0][0] <= known:
            self._close(self.periods.pop(heappop(self._ends)[1]), out)
        self.frontier = max(self.frontier, self._known_before(known))
        return out

    def _close(self, period: _Period, out: list[Fact]) -> None:
        if period is self._recent:
            self._recent = _Period(POS, NEG)
        if period.hi > self.end:
            return
        for key, account in period.groups.items():
            value = account.value()
            if value is not None:
                out.append(((*key, value), period.lo, period.hi))
        if len(out) > MOST_PERIODS:
            raise OverflowError(f"more than {MOST_PERIODS:,} answers follow at once")
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def _known_before(self, known: int) -> int:
        """How far all is told: up to before the period in which the frontier lies."""
        if known >= POS or known <= NEG:
            return known
        found = self._period_at(known)
        return known if found is None or found.hi <= known else found.lo - 1

    def deadline(self) -> tuple[int, int] | None:
        due = self._ends[0][0] if self._ends else POS
        if self._waiting:
            due = min(due, self._waiting[0][0])
        return (0, due) if due < POS else None

    def entries(self) -> int:
        return len(self._waiting) + len(self._timeless) + sum(len(period.groups) for period in self.periods.values())

    def failed_evaluations(self) -> int:
        return self._failures

    def state(self) -> dict[str, Any]:
        periods = [
            [period.lo, period.hi, [[list(key), account.state()] for key, account in period.groups.items()]]
            for period in self.periods.values()
        ]
        waiting = [[lo, list(row), hi] for lo, _, row, hi in sorted(self._waiting, key=lambda item: item[:2])]
        timeless = [[list(row), hi] for row, hi in self._timeless]
        return {
            "periods": periods,
            "waiting": waiting,
            "timeless": timeless,
            "start": self._start,
            "failed": self._failures,
        }

    def load(self, state: dict[str, Any]) -> None:
        self._start, self._failures = state["start"], state["failed"]
        self._timeless = [(tuple(row), hi) for row, hi in state["timeless"]]
        self._waiting = [(lo, i, tuple(row), hi) for i, (lo, row, hi) in enumerate(state["waiting"])]
        self._count = len(self._waiting)
        self.periods, self._recent = {}, _Period(POS, NEG)
        for lo, hi, groups in state["periods"]:
            period = self.periods[lo] = _Period(lo, hi)
            for key, kept in groups:
                account = period.groups[tuple(key)] = self._make()
                account.load(kept)
        self._ends = [(period.hi, period.lo) for period in self.periods.values()]
        heapify(self._ends)
