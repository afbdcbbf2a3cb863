"""Erode, where its input announces what goes on holding, and the result does so, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.metric.erode import Erode
from tidelog.operators.operator import shift
from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.coverage import Bounds
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS, Metric

_NOW: Bounds = []


class OpenErode(Sweeping):
    """`M' ← □ϱ M`, `M' ← □⁺ϱ M`, and clipped, with announcements at port 0 and in what it sends.

    Intervals: those of `Erode`. What goes on is announced once it has held for the whole of ϱ, not where its run begins: it
    may end before. What follows from facts alone is told at once, too. State: that of `Sweeping`, and the stream's start;
    what has begun since then, by when it is announced, follows from that. Final: as `Erode`.
    """

    __slots__ = ("_coming", "_count", "_eroding", "_high")

    def __init__(self, metric: Metric, future: bool, clipped: bool = False) -> None:
        super().__init__(2 if clipped else 1, 0)
        self._eroding = Erode(metric, future, clipped)
        self._high = -metric.b if future else metric.a
        self._coming: list[tuple[int, int, Row]] = []  # when runs that go on will have lasted long enough
        self._count = 0  # rows need not be comparable

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0]

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.holding[port][row] = _NOW
        self.gain(row, held)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        self.lose(row, held)

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == 1:
            self._eroding.start = facts[0][1]
            facts = self.bounded()
        else:
            super().feed(port, facts)
        return self.tell_ahead([ahead for fact in self.beyond(facts) for ahead in self._certain(fact)])

    def _certain(self, fact: Fact) -> Iterator[Fact]:
        """What follows at once from a fact that goes beyond what has been gone through."""
        row, _, end = fact
        run = self.run(row, end)
        if run is not None and self._eroding.is_ready():
            lo, hi = self._eroding.eroded(*run)
            if lo <= hi:
                yield row, lo, hi

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        before = self.frontier
        for row, begin, end in super().settle(port):
            lo, hi = self._eroding.eroded(begin, min(end, POS))
            if lo > hi:
                continue
            if end == OPEN:
                self._await(row, lo)
            elif end != SHUT:
                out.append((row, lo, hi))
            elif lo <= before:  # it has been announced
                out.append((row, lo, SHUT))
        while self._coming and self._coming[0][0] <= self.frontier:
            lo, _, row = heappop(self._coming)
            if row in self._since and self._announced(row) == lo:
                out.append((row, lo, OPEN))
        return self.untold(out)

    def _await(self, row: Row, lo: int) -> None:
        self._count += 1
        heappush(self._coming, (lo, self._count, row))

    def _announced(self, row: Row) -> int:
        """From when on what follows from a run that goes on is announced; POS if it never is."""
        lo, hi = self._eroding.eroded(self._since[row], POS)
        return lo if lo <= hi else POS

    def deadline(self) -> tuple[int, int] | None:
        due = [self._turns[0][0]] if self._turns else []
        due += [self._coming[0][0] - self._high] if self._coming else []
        return (0, min(due)) if due else None

    def announced_rows(self) -> list[tuple[Row, int]]:
        return [(row, lo) for row in self._since if (lo := self._announced(row)) <= self.frontier]

    def entries(self) -> int:
        return super().entries() + len(self._coming)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "start": self._eroding.start}

    def load(self, state: dict[str, Any]) -> None:
        self._eroding.start = state["start"]
        super().load(state)
        starts = [(self._announced(row), i, row) for i, row in enumerate(self._since)]
        self._coming = [start for start in starts if self.frontier < start[0] < POS]
        heapify(self._coming)
        self._count = len(starts)

    def promised(self, known: int) -> int:
        return shift(known, self._high)
