"""Tuple points: the times at which a fact holds throughout the window of the last n facts to arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.operators.windows.arrivals import Arrivals
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS


class TuplePoints(Operator):
    """`M' ← always p in [#n]`.

    Intervals: single times. The window's timeline goes from its oldest fact's time, or from the stream's start while there
    are fewer than n facts, to the present (Laser, Definition 4). A row is in the window once for a time at most, so it is
    there at all times exactly if it is there as often as there are times; no run is looked through. Port 0 brings all
    arrivals, port 1 the start. State: of the last n facts those of the atom, the times of all n, and the facts beyond the
    frontier. Final: as far as port 0, up to which the order of arrival is known.

    >>> points = TuplePoints(3, lambda row: row[1:] if row[0] == "p" else None)
    >>> points.receive(1, [((), 4, 4)], 1 << 62), points.receive(0, [(("p", "a"), 4, 4), (("p", "a"), 5, 5)], 5)
    ([], [(('a',), 4, 4), (('a',), 5, 5)])
    >>> points.receive(0, [(("q",), 6, 6), (("p", "a"), 6, 6), (("p", "a"), 7, 7)], 7)  # 6 and 7 are left of the timeline
    [(('a',), 6, 6), (('a',), 7, 7)]
    """

    __slots__ = ("_match", "arrivals", "counts", "early", "ring", "size", "start", "times", "total")

    def __init__(self, size: int, match: Callable[[Row], Row | None], of: Iterable[str] = ()) -> None:
        super().__init__(2)
        self.size = size
        self._match = match
        self.arrivals = Arrivals(of)
        self.total = 0  # the number of the last fact
        self.ring: deque[tuple[int, int, Row]] = deque()  # the atom's facts in the window: number, time, columns
        self.times: deque[tuple[int, int]] = deque()  # each time in the window, and the number of its last fact
        self.counts: dict[Row, int] = {}
        self.early: dict[Row, int] = {}  # how many of them lie before a start that was given
        self.start: int | None = None

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == 1:
            self.start = facts[0][1]
        else:
            self.arrivals.add(facts)
        return []

    def settle(self, port: int) -> list[Fact]:
        if self.frontiers[1] < POS:
            return []  # without the start no window's timeline is known
        self.frontier = self.frontiers[0]
        out: list[Fact] = []
        for time, rows in self.arrivals.settle(self.frontier):
            here = self._pass(time, rows)
            if self.start is not None and self.start <= time:
                out += [(row, time, time) for row in here if self._is_throughout(row, time, self.start)]
        return out

    def _pass(self, time: int, rows: list[Row]) -> list[Row]:
        """All facts of one time enter, and those before the last n leave; returns the atom's rows at this time."""
        here = []
        for arrival in rows:
            self.total += 1
            row = self._match(arrival)
            if row is not None:
                here.append(row)
                self._enter(time, row)
        self.times.append((time, self.total))
        gone = self.total - self.size
        while self.times[0][1] <= gone:
            self.times.popleft()
        while self.ring and self.ring[0][0] <= gone:
            _, left, row = self.ring.popleft()
            _decrease(self.counts, row)
            if self._is_early(left):
                _decrease(self.early, row)
        return here

    def _enter(self, time: int, row: Row) -> None:
        self.ring.append((self.total, time, row))
        self.counts[row] = self.counts.get(row, 0) + 1
        if self._is_early(time):
            self.early[row] = self.early.get(row, 0) + 1

    def _is_early(self, time: int) -> bool:
        return self.start is not None and time < self.start

    def _is_throughout(self, row: Row, time: int, start: int) -> bool:
        inside = self.counts.get(row, 0)
        if self.total < self.size:
            return inside - self.early.get(row, 0) == time - start + 1
        return inside == time - self.times[0][0] + 1

    def deadline(self) -> tuple[int, int] | None:
        first = self.arrivals.first()
        return None if first is None else (0, first)

    def entries(self) -> int:
        return self.arrivals.entries() + len(self.ring) + len(self.times)

    def state(self) -> dict[str, Any]:
        return {
            "arrivals": self.arrivals.snapshot(),
            "total": self.total,
            "ring": [[number, time, list(row)] for number, time, row in self.ring],
            "times": [list(entry) for entry in self.times],
            "start": self.start,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.arrivals.restore(state["arrivals"])
        self.start = state["start"]
        self.counts, self.early, self.ring = {}, {}, deque()
        for number, time, row in state["ring"]:
            self.total = number
            self._enter(time, tuple(row))
        self.total = state["total"]
        self.times = deque((time, last) for time, last in state["times"])


def _decrease(counts: dict[Row, int], row: Row) -> None:
    counts[row] -= 1
    if not counts[row]:
        del counts[row]
