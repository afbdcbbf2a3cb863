"""Erode: □, the times at which a fact has held (or will hold) for the whole of a stretch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator, shift
from tidelog.operators.stores.coverage import Bounds, Coverage, merge
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric


class Erode(Operator):
    """`M' ← □ϱ M`, `M' ← □⁺ϱ M`, and clipped, LARS's `always M in [n]`.

    Intervals: a maximal run over ϱ₁ gives ϱ₁ ⊕ ϱ = {t | t − ϱ ⊆ ϱ₁} (future: t + ϱ ⊆ ϱ₁); as a run grows, only what is
    new is sent, whatever ϱ's length. Clipped, a run that reaches back to the stream's start counts as endless to the
    left, from the start on: port 1 brings the start as a fact. State: the runs that may still grow, one or two ranges
    a row. Final: ϱ⁻ beyond the input's frontier (future: ϱ⁺ behind it); far-sighted, ϱ⁺ beyond it while nothing holds there.

    >>> erode = Erode(Metric(0, 4), future=False)  # □[0,2] at resolution 1
    >>> erode.receive(0, [(("a",), 2, 5)], 5), erode.receive(0, [(("a",), 6, 8)], 8)
    ([], [(('a',), 6, 8)])
    """

    __slots__ = ("_high", "_high_open", "_is_plain", "_latest", "_low", "_low_open", "clipped", "coverage", "start")

    def __init__(self, metric: Metric, future: bool, clipped: bool = False) -> None:
        super().__init__(2 if clipped else 1)
        if future:
            self._low, self._low_open = -metric.a, metric.left_open
            self._high, self._high_open = -metric.b, metric.right_open
        else:
            self._low, self._low_open = metric.b, metric.right_open
            self._high, self._high_open = metric.a, metric.left_open
        self.clipped = clipped
        self.start: int | None = None
        self._is_plain = not (clipped or self._low_open or self._high_open or self._low >= POS or self._high <= NEG)
        self.coverage = Coverage()
        self._latest = NEG  # the end of the last run

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == 1:
            return self._begin(facts[0][1])
        rows, fresh, latest, low, high = self.coverage.rows, self.coverage.fresh, self._latest, self._low, self._high
        is_plain = self._is_plain
        out: list[Fact] = []
        for row, lo, hi in facts:
            if hi > latest:  # noqa: PLR1730 - a call would cost more than all the rest
                latest = hi
            bounds = rows.get(row)
            if bounds is None:
                rows[row] = [lo, hi]
                fresh.append(row)
                self._send(row, lo, hi, (), out)
            elif lo == bounds[-1] + 1:
                before, end = bounds[-2], bounds[-1]
                bounds[-1] = hi
                if is_plain and before > NEG and hi < POS:
                    if end - before >= low - high:  # what ended here was long enough already
                        out.append((row, lo + high, hi + high))
                    elif hi - before >= low - high:
                        out.append((row, before + low, hi + high))
                else:
                    self._send(row, before, hi, (before, end), out)
            elif lo > bounds[-1]:
                bounds += (lo, hi)
                self._send(row, lo, hi, (), out)
            else:
                self._merge(row, bounds, lo, hi, out)
        self._latest = latest
        self.coverage.grew(len(facts))
        return out

    def _merge(self, row: Row, bounds: Bounds, lo: int, hi: int, out: list[Fact]) -> None:
        first = end = bisect_left(bounds, lo - 1) & ~1
        while end < len(bounds) and bounds[end] <= hi + 1:
            end += 2
        before = bounds[first:end]
        run_lo, run_hi = merge(bounds, lo, hi, 1, row, [])
        self._send(row, run_lo, run_hi, before, out)

    def _send(self, row: Row, lo: int, hi: int, before: Sequence[int], out: list[Fact]) -> None:
        """Send what the run `lo … hi` gives beyond what the runs `before`, now part of it, gave."""
        if not self.is_ready():
            return
        low, high = self.eroded(lo, hi)
        for i in range(0, len(before), 2):
            sent_low, sent_high = self.eroded(before[i], before[i + 1])
            if sent_low > sent_high:
                continue
            if low < sent_low:
                out.append((row, low, sent_low - 1))
            low = sent_high + 1
        if low <= high:
            out.append((row, low, high))

    def is_ready(self) -> bool:
        """Whether it is known where a clipped window ends."""
        return not self.clipped or self.start is not None

    def eroded(self, lo: int, hi: int) -> tuple[int, int]:
        """ϱ₁ ⊕ ϱ as a closed range, empty if its begin lies behind its end."""
        if hi < POS:
            if self._high <= NEG:
                return 0, -1
            hi = hi + self._high + 1 & ~1 if self._high_open else hi + self._high
        if self.start is not None and lo <= self.start:
            return self.start, hi  # the window is clipped where the stream starts
        if lo > NEG:
            if self._low >= POS:
                return 0, -1
            lo = lo + self._low & ~1 if self._low_open else lo + self._low
        return lo, hi

    def _begin(self, start: int) -> list[Fact]:
        """The start is known: send what the runs so far give."""
        self.start = start
        out: list[Fact] = []
        for row, bounds in self.coverage.rows.items():
            for i in range(0, len(bounds), 2):
                self._send(row, bounds[i], bounds[i + 1], (), out)
        return out

    def settle(self, port: int) -> list[Fact]:
        if self.is_ready() or self.frontiers[1] == POS:
            known = self.frontiers[0]
            self.frontier = max(self.frontier, shift(known, self._high))
            if self.far_sighted and self._latest < known and (self.start is None or self.start <= known):
                self.frontier = max(self.frontier, shift(known, self._low))  # no run before the next time to come
            # a run that ends behind the frontier cannot grow any more; one that ends at it still can
            self.coverage.forget(shift(self.frontiers[0], -1))
        return []

    def entries(self) -> int:
        return self.coverage.entries()

    def state(self) -> dict[str, Any]:
        return {"coverage": self.coverage.snapshot(), "start": self.start, "latest": self._latest}

    def load(self, state: dict[str, Any]) -> None:
        self.coverage.restore(state["coverage"])
        self.start = state["start"]
        self._latest = state["latest"]
