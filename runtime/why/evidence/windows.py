"""What operators and windows look at, in encoded time, on one timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from tidelog.operators.metric.pairing import dilated, dilated_back, without_left
from tidelog.plans.calendars.calendar import Calendar
from tidelog.plans.calendars.declared import calendar_named
from tidelog.plans.calendars.ticks import TickCalendar, on_timeline
from tidelog.plans.data.facts import Row
from tidelog.plans.data.intervals import Range
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.tree.syntax import Binary, Interval, Period, Unary, WindowSize
from tidelog.runtime.why.evidence.model import Arrival

PAST = ("diamondminus", "boxminus", "since")
"""The operators that look back."""


class Windows:
    """What an operator or a window looks at, on one timeline."""

    def __init__(
        self,
        timeline: Timeline,
        start: int,
        arrivals: Sequence[Arrival] = (),
        calendars: Mapping[str, Calendar] = MappingProxyType({}),
    ) -> None:
        self.timeline = timeline
        self.start = start
        self._arrivals = arrivals
        self._metrics: dict[Interval, Metric] = {}
        self._counted: dict[WindowSize, list[Arrival]] = {}
        self._calendars = calendars

    def metric(self, interval: Interval) -> Metric:
        """An operator's interval, encoded."""
        found = self._metrics.get(interval)
        if found is None:
            found = self._metrics[interval] = self.timeline.encode_metric(interval)
        return found

    def seen(self, formula: Unary | Binary, lo: int, hi: int) -> Range:
        """All times that the operator looks at from `lo … hi`."""
        metric = self.metric(formula.interval)
        return (dilated_back if formula.operator in PAST else dilated)(metric, lo, hi)

    def seeing(self, formula: Unary | Binary, lo: int, hi: int) -> Range:
        """All times from which the operator looks at one of `lo … hi`."""
        metric = self.metric(formula.interval)
        return (dilated if formula.operator in PAST else dilated_back)(metric, lo, hi)

    def alone(self, formula: Binary, lo: int, hi: int) -> Range | None:
        """The times at which the right side, held in `lo … hi`, is enough for since or until."""
        metric = without_left(self.metric(formula.interval), self.timeline.touch)
        if metric is None:
            return None
        return (dilated if formula.operator == "since" else dilated_back)(metric, lo, hi)

    def closure(self, lo: int, hi: int) -> Range:
        """A run of the left side of since or until with its ends: all times between two of these lie in the run."""
        if self.timeline.touch:
            return lo - 1 if lo > NEG else NEG, hi + 1 if hi < POS else POS
        return (lo - (lo & 1) if lo > NEG else NEG), (hi + (hi & 1) if hi < POS else POS)

    def between(self, lo: int, hi: int) -> Range:
        """The times that lie strictly between one of the first and one of the last of `lo … hi`; empty if none do."""
        if self.timeline.touch:
            return lo + 1 if lo > NEG else NEG, hi - 1 if hi < POS else POS
        return (lo + 1 - (lo & 1) if lo > NEG else NEG), (hi - 1 + (hi & 1) if hi < POS else POS)

    def size(self, window: WindowSize) -> int:
        """How far a time window reaches back, encoded."""
        return self.metric(Interval(Fraction(0), window.size)).b

    def calendar(self, period: Period) -> TickCalendar:
        """The calendar of an aggregate's periods."""
        return on_timeline(calendar_named(period, self._calendars), self.timeline)

    def _periods(self, period: Period, lo: int, hi: int) -> Range:
        """All times from the begin of the period of the first to the end of that of the last."""
        calendar = self.calendar(period)
        first = calendar.around(lo) if lo > NEG else None
        last = calendar.around(hi) if hi < POS else None
        return (lo if first is None else first[0]), (hi if last is None else last[1])

    def window_seen(self, window: WindowSize | Period, lo: int, hi: int) -> Range:
        """All times that lie in the time windows of `lo … hi`, or in their periods."""
        if isinstance(window, Period):
            return self._periods(window, lo, hi)
        return self._back(self.window_end(window, lo), self.size(window)), self.window_end(window, hi)

    def window_end(self, window: WindowSize, time: int) -> int:
        """Where the window of a time ends."""
        if window.step is None or not NEG < time < POS:
            return time
        step = int(window.step)
        return time // step * step

    def window_seeing(self, window: WindowSize | Period, lo: int, hi: int) -> Range | None:
        """The times whose window, or period, holds one of `lo … hi`; None if there is none."""
        if isinstance(window, Period):
            return self._periods(window, lo, hi)
        size = self.size(window)
        first, last = lo, hi if hi >= POS or size >= POS else hi + size
        return self.ending_in(window, first, POS if size >= POS else last)

    def window_inside(self, window: WindowSize, lo: int, hi: int) -> Range | None:
        """The times whose window, clipped where the stream starts, ends in `lo … hi` and lies in it."""
        size = self.size(window)
        if lo > self.start and size >= POS:
            return None
        begin = self.start if lo <= self.start else lo + size
        return self.ending_in(window, max(begin, self.start), hi)

    def ending_in(self, window: WindowSize, lo: int, hi: int) -> Range | None:
        """The times whose window ends in `lo … hi`."""
        if window.step is not None:
            step = int(window.step)
            lo = -(-lo // step) * step if NEG < lo < POS else lo
            hi = hi // step * step + step - 1 if NEG < hi < POS else hi
        return (lo, hi) if lo <= hi else None

    @staticmethod
    def _back(time: int, size: int) -> int:
        return NEG if time <= NEG or size >= POS else time - size

    # --- tuple windows --------------------------------------------------------------------------------------------------

    def counted(self, window: WindowSize) -> list[Arrival]:
        """The arrivals that a tuple window counts, in their order."""
        found = self._counted.get(window)
        if found is None:
            found = [arrival for arrival in self._arrivals if not window.of or arrival[0] in window.of]
            self._counted[window] = found
        return found

    def stays(self, window: WindowSize, predicate: str, row: Row) -> Iterator[tuple[int, Range]]:
        """When each arrival of a row came, and how long it is among the last ones."""
        counted, size = self.counted(window), int(window.size)
        for i, (name, values, time) in enumerate(counted):
            if name == predicate and values == row:
                end = counted[i + size][2] - 1 if i + size < len(counted) else POS
                if time <= end:
                    yield time, (time, end)

    def runs(self, window: WindowSize, predicate: str, row: Row) -> Iterator[Range]:
        """For each time at which a row holds at all times of the tuple window: the window's first time, and this one."""
        counted, size = self.counted(window), int(window.size)
        times = {time for name, values, time in counted if name == predicate and values == row}
        for time in sorted(times):
            past = [arrival for arrival in counted if arrival[2] <= time][-size:]
            first = past[0][2] if len(past) == size else self.start
            inside = {at for name, values, at in past if name == predicate and values == row}
            if first > NEG and len(inside) >= time - first + 1:
                yield first, time
