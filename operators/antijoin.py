"""Anti-join: stratified negation, as far as it is known what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.operators.operator import Operator
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG

POSITIVE, NEGATIVE = 0, 1


class AntiJoin(Operator):
    """`M' ← M ∧ not N`.

    Intervals: M's, less N's, up to N's frontier: behind it, N can no longer come to hold. Port 0 is M, port 1 is N. `key`
    takes from a row of M what the negated atom mentions; `match` takes the same from a row of N, or None where its
    constants differ. State: M beyond N's frontier, N beyond M's. Final: as far as both ports.

    >>> op = AntiJoin(key=lambda row: row, match=lambda row: row)
    >>> op.receive(0, [(("a",), 1, 9)], 9), op.receive(1, [(("a",), 3, 4)], 5)
    ([], [(('a',), 1, 2), (('a',), 5, 5)])
    """

    __slots__ = ("_count", "_key", "_match", "negative", "waiting")

    def __init__(self, key: Callable[[Row], Row], match: Callable[[Row], Row | None]) -> None:
        super().__init__(2)
        self._key = key
        self._match = match
        self._count = 0
        self.waiting: list[tuple[int, int, Fact]] = []
        self.negative = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == NEGATIVE:
            matched = ((self._match(row), lo, hi) for row, lo, hi in facts)
            self.negative.insert((row, lo, hi) for row, lo, hi in matched if row is not None)
            return []
        out: list[Fact] = []
        for fact in facts:
            self._decide(fact, self.frontiers[NEGATIVE], out)
        return out

    def _decide(self, fact: Fact, known: int, out: list[Fact]) -> None:
        """Send the part of a positive fact that is decided up to `known`, and let the rest wait."""
        row, lo, hi = fact
        if hi > known:
            begin = max(lo, known + 1) if known > NEG else lo
            self._count += 1
            heappush(self.waiting, (begin, self._count, (row, begin, hi)))
            hi = known
        if lo <= hi and known > NEG:
            self._subtract(row, lo, hi, out)

    def _subtract(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        bounds = self.negative.rows.get(self._key(row), [])
        for i in overlapping(bounds, lo, hi):
            if bounds[i] > lo:
                out.append((row, lo, bounds[i] - 1))
            lo = bounds[i + 1] + 1
        if lo <= hi:
            out.append((row, lo, hi))

    def settle(self, port: int) -> list[Fact]:
        known = self.frontiers[NEGATIVE]
        self.frontier = min(self.frontiers)
        out: list[Fact] = []
        if port == NEGATIVE:
            while self.waiting and self.waiting[0][0] <= known:
                self._decide(heappop(self.waiting)[2], known, out)
        self.negative.forget(self.frontier)
        return out

    def entries(self) -> int:
        return len(self.waiting) + self.negative.entries()

    def state(self) -> dict[str, Any]:
        waiting = [[list(row), lo, hi] for _, _, (row, lo, hi) in sorted(self.waiting)]
        return {"waiting": waiting, "negative": self.negative.snapshot()}

    def load(self, state: dict[str, Any]) -> None:
        self._count = len(state["waiting"])
        self.waiting = [(lo, i, (tuple(row), lo, hi)) for i, (row, lo, hi) in enumerate(state["waiting"])]
        self.negative.restore(state["negative"])
