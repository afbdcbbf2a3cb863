"""Which times an operator or a window looks at, as why-not needs it: all of them, one that is enough, ranges that are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelog.operators.metric.pairing import dilated, dilated_back
from tidelog.plans.data.intervals import Range
from tidelog.plans.data.timeline import NEG, POS, Metric
from tidelog.plans.tree.syntax import Binary, Unary, Window
from tidelog.runtime.why.evidence.windows import PAST, Windows

Mapped = Callable[[int, int], Range]


@dataclass(frozen=True, slots=True)
class View:
    """What one operator looks at: `seen` are all times seen from a range, `seeing` all that see one of a range.

    Where something holds throughout `enough` of a range, each time of the range sees it.
    """

    seen: Mapped
    seeing: Mapped
    enough: Mapped


class Views:
    """The views of operators and windows on one timeline."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._is_integer = windows.timeline.is_integer

    def of(self, formula: Unary | Binary | Window) -> View:
        """The view of an operator, or of a window of time; `always` looks at no time before the stream's start."""
        if isinstance(formula, Window):
            return self._of_window(formula)
        return View(
            lambda lo, hi: self._windows.seen(formula, lo, hi),
            lambda lo, hi: self._windows.seeing(formula, lo, hi),
            lambda lo, hi: self._enough(formula, lo, hi),
        )

    def _of_window(self, formula: Window) -> View:
        window, windows = formula.window, self._windows
        start = windows.start if formula.mode == "always" else NEG

        def seen(lo: int, hi: int) -> Range:
            first, last = windows.window_seen(window, lo, hi)
            return max(first, start), last

        def seeing(lo: int, hi: int) -> Range:
            return windows.window_seeing(window, lo, hi) or (lo, hi)

        return View(seen, seeing, lambda lo, hi: (windows.window_end(window, lo), windows.window_end(window, hi)))

    def _enough(self, formula: Unary | Binary, lo: int, hi: int) -> Range:
        metric = self._windows.metric(formula.interval)
        back = dilated_back if formula.operator in PAST else dilated
        if not metric.left_open:
            return back(Metric(metric.a, metric.a), lo, hi)
        if not metric.right_open and metric.b < POS:
            return back(Metric(metric.b, metric.b), lo, hi)
        return self._windows.seen(formula, lo, hi)

    def is_point(self, lo: int, hi: int) -> bool:
        """Whether a range is one point of time: on rational timelines, no gap between two of them."""
        return lo == hi and (self._is_integer or not lo & 1)

    def in_common(self, view: View, lo: int, hi: int) -> Range:
        """The times that all of a range see, from its first to its last point; empty if there are none."""
        if not self._is_integer:
            lo, hi = lo - (lo & 1 if lo > NEG else 0), hi + (hi & 1 if hi < POS else 0)
        first, last = view.seen(lo, lo), view.seen(hi, hi)
        low, high = max(first[0], last[0]), min(first[1], last[1])
        return (low, high) if low < POS and high > NEG else (POS, NEG)

    def points(self, lo: int, hi: int, others: Iterable[int]) -> list[int]:
        """Times to choose from in a range: its ends, and `others` of it; points where there are any."""
        ends = [time for time in (lo, hi) if NEG < time < POS] or [0]
        found = (self._point(time, lo, hi) for time in (*ends, *others) if lo <= time <= hi and NEG < time < POS)
        return list(dict.fromkeys(found))

    def _point(self, time: int, lo: int, hi: int) -> int:
        if self._is_integer or not time & 1:
            return time
        return time + 1 if time < hi else time - 1 if time > lo else time
