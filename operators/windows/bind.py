"""Bind: each time at which a row holds becomes a value of it."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

MOST_ROWS = 1_000_000
"""More rows from one message are refused: a program that needs them binds times that it should not."""


class Bind(Operator):
    """`M'(X, T) :- M(X)@T`.

    Intervals: a fact over `lo … hi` becomes a row for each time t in it, with t as its last column, which holds at t alone.
    Port 1 brings the clock: what lies behind it goes out, and so does a finite fact of few times (`LIMITS.at_once`); the
    rest waits. At the stream's end what is finite follows; a fact without an end is followed to the clock's last time.
    State: the ranges that wait, at most as many as came in. Final: as far as both ports. OverflowError for more than
    `MOST_ROWS` rows from one message, and for a fact without a begin.

    >>> bind = Bind()
    >>> bind.receive(0, [(("a",), 3, 4), (("b",), 5, 1 << 62)], 4)
    [(('a', 3), 3, 3), (('a', 4), 4, 4)]
    >>> bind.receive(1, [], 6)
    [(('b', 5), 5, 5), (('b', 6), 6, 6)]
    """

    __slots__ = ("_count", "endless", "latest", "waiting")

    def __init__(self) -> None:
        super().__init__(2)
        self._count = 0  # ranges that begin together leave in order of arrival; rows need not be comparable
        self.latest = NEG  # the clock's last time, before the stream ended
        self.waiting: list[tuple[int, int, Row, int]] = []
        self.endless: dict[Row, int] = {}  # where the range without an end begins, of a row that has one

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        out: list[Fact] = []
        for row, lo, hi in facts:
            if lo == hi and hi + 1 != self.endless.get(row):
                out.append(((*row, lo), lo, lo))
            else:
                self._take(row, lo, hi, out)
        return out

    def _take(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """Spread what is due of one range, and let the rest wait."""
        if lo <= NEG:
            raise OverflowError("a fact without a begin holds at infinitely many past times, and each would be a row")
        if self.endless.get(row) == hi + 1:
            hi = POS
        is_short = hi < POS and (hi - lo < LIMITS.at_once or self.frontiers[1] >= POS)
        due = hi if is_short else min(hi, self.latest)
        if lo <= due:
            self._spread(row, lo, due, out)
            lo = due + 1
        if lo <= hi:
            self._wait(row, lo, hi)

    def _wait(self, row: Row, lo: int, hi: int) -> None:
        if hi >= POS:
            self.endless[row] = lo
        self._count += 1
        heappush(self.waiting, (lo, self._count, row, hi))

    def settle(self, port: int) -> list[Fact]:
        self.frontier = min(self.frontiers)
        if port == 0:
            return []
        clock = self.frontiers[1]
        if clock < POS:
            self.latest = clock
        out: list[Fact] = []
        while self.waiting and self.waiting[0][0] <= clock:
            lo, _, row, hi = heappop(self.waiting)
            if hi >= POS and self.endless.get(row) != lo:
                continue  # it has been extended to the left since
            due = min(hi, clock)
            if due < POS:
                self._spread(row, lo, due, out)
                if due < hi:
                    self._wait(row, due + 1, hi)
        return out

    def deadline(self) -> tuple[int, int] | None:
        return (1, self.waiting[0][0]) if self.waiting else None

    def _spread(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        count = len(out) + hi - lo + 1
        if count > MOST_ROWS:
            raise OverflowError(f"its times become {count:,} rows at once, more than {MOST_ROWS:,}")
        if count > self.room.rows:
            raise NoRoomError(count)
        out += [((*row, time), time, time) for time in range(lo, hi + 1)]

    def entries(self) -> int:
        return len(self.waiting)

    def state(self) -> dict[str, Any]:
        current = [(lo, row, hi) for lo, _, row, hi in sorted(self.waiting) if hi < POS or self.endless.get(row) == lo]
        return {"latest": self.latest, "waiting": [[list(row), lo, hi] for lo, row, hi in current]}

    def load(self, state: dict[str, Any]) -> None:
        self.latest = state["latest"]
        self._count = len(state["waiting"])
        self.waiting = [(lo, i, tuple(row), hi) for i, (row, lo, hi) in enumerate(state["waiting"], 1)]
        heapify(self.waiting)
        self.endless = {row: lo for lo, _, row, hi in self.waiting if hi >= POS}
