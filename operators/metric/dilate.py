"""Dilate: ◇, the fact that held some time ago (or will hold soon) stretched over the times at which that is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator, shift
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS, Metric


class Dilate(Operator):
    """`M' ← ◇ϱ M` and `M' ← ◇⁺ϱ M`.

    Intervals: a fact over ϱ₁ is sent at once over ϱ₁ + ϱ (future: ϱ₁ − ϱ), to its horizon, even an infinite one; so an
    unbounded ◇ keeps one range a row, the history ℋ of Algorithm 1 (Wałęga et al. 2023), with no store of its own; what
    is announced has begun, which is enough for it. State: the coverage sent beyond the frontier: at most one range for each
    |ϱ| of time and row, however dense the facts. A punctual ϱ is a shift and keeps nothing. Final: ϱ⁻ beyond the
    input's frontier (future: ϱ⁺ behind it).

    >>> dilate = Dilate(Metric(0, 4), future=False)  # ◇[0,2] at resolution 1
    >>> dilate.receive(0, [(("a",), 2, 2), (("a",), 4, 4)], 4)
    [(('a',), 2, 6), (('a',), 7, 8)]
    """

    __slots__ = ("_high", "_high_open", "_low", "_low_open", "coverage")

    def __init__(self, metric: Metric, future: bool) -> None:
        super().__init__(1)
        if future:
            self._low, self._low_open = -metric.b, metric.right_open
            self._high, self._high_open = -metric.a, metric.left_open
        else:
            self._low, self._low_open = metric.a, metric.left_open
            self._high, self._high_open = metric.b, metric.right_open
        self.coverage = None if metric.is_punctual else Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        low, low_open, high, high_open = self._low, self._low_open, self._high, self._high_open
        if self.coverage is None:
            return [(row, lo + low if lo > NEG else lo, hi + low if hi < POS else hi) for row, lo, hi in facts]
        moved: list[Fact] = []
        for row, lo, hi in facts:
            lo = lo + low | low_open if lo > NEG and low > NEG else NEG
            hi = hi + high if hi < POS and high < POS else POS
            if high_open and hi < POS:
                hi = hi - 1 | 1
            moved.append((row, lo, hi))
        return self.coverage.insert(moved)

    def moved(self, lo: int, hi: int) -> tuple[int, int]:
        """The range over which the result holds, where a fact holds over another."""
        lo = lo + self._low | self._low_open if lo > NEG and self._low > NEG else NEG
        hi = hi + self._high if hi < POS and self._high < POS else POS
        if self._high_open and hi < POS:
            hi = hi - 1 | 1  # an open end lies in the gap before the point; a gap's end stays
        return lo, hi

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        if self.passing is not None:
            return super().hear(port, facts, notices)
        # A begin is enough for a ◇ without an end. Only a latch may tell one of a row that then holds nowhere, and it tells
        # a fact of the same row just before: of that, as much follows.
        begun = [(row, lo, POS) for row, lo in notices.begun.items()]
        return self.feed(port, [*facts, *begun])

    def settle(self, port: int) -> list[Fact]:
        self.frontier = shift(self.frontiers[0], self._low)
        return []

    def tidy(self) -> None:
        if self.coverage is not None:
            self.coverage.forget(self.frontier)

    def entries(self) -> int:
        return 0 if self.coverage is None else self.coverage.entries()

    def state(self) -> dict[str, Any]:
        return {"coverage": [] if self.coverage is None else self.coverage.snapshot()}

    def load(self, state: dict[str, Any]) -> None:
        if self.coverage is not None:
            self.coverage.restore(state["coverage"])
