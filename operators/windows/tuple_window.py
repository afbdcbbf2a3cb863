"""Tuple window: the facts among the last n to arrive, told by when they enter the window and when they have left it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.operators.windows.arrivals import Arrivals
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

Match = Callable[[Row], Row | None]
"""From an arrival `(predicate, *row)` to the columns of the atom in the window; None if it is none of the atom's."""


class TupleWindow(Operator):
    """`M'(X, V) ← entered p(X) in [#n]` and `M'(V) ← left p(X) in [#n]`: so `sometime` is the former and not the latter.

    Intervals: a *visit* is a stretch of time in which some fact with the columns X is among the last n facts (Laser,
    Definition 4); with `timed` the fact's time is the last of the columns, the T of `p(X)@T in [#n]`. Visits have numbers,
    the same in both parts. A visit from s on is told as entered for the present and longer, in **leases** that double:
    while it lasts nothing is done but renew them, and what a reader stores of it goes soon after its end. Left is told from
    the end on, as far as the lease can go. Port 0 brings all arrivals. State: of the last n facts those of the atom, and
    the facts beyond the frontier; a lease is dropped when it runs out, at most as long after a visit as that lasted or as
    the oldest fact stayed. Final: as far as the port, up to which the order of arrival is known.

    >>> match = lambda row: row[1:] if row[0] == "p" else None
    >>> facts = [(("p", "a"), 1, 1), (("q", "b"), 3, 3), (("p", "c"), 6, 6)]
    >>> TupleWindow(2, match).receive(0, facts, 6)
    [(('a', 1), 1, 5), (('c', 2), 6, 7)]
    >>> TupleWindow(2, match, left=True).receive(0, facts, 6)
    [((1,), 6, 8)]
    """

    __slots__ = (
        "_left",
        "_match",
        "_timed",
        "arrivals",
        "counts",
        "leases",
        "ring",
        "size",
        "total",
        "visited",
        "visits",
    )

    def __init__(self, size: int, match: Match, of: Iterable[str] = (), *, timed: bool = False, left: bool = False) -> None:
        super().__init__(1)
        self.size = size
        self._match, self._timed, self._left = match, timed, left
        self.arrivals = Arrivals(of)
        self.total = 0  # the number of the last fact
        self.ring: deque[tuple[int, int, Row]] = deque()  # the atom's facts in the window: number, time, columns
        self.counts: dict[Row, int] = {}
        self.visited = 0
        self.visits: dict[Row, Visit] = {}
        self.leases: list[tuple[int, int, Row]] = []  # how far which visit is told, the first to end first

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self.arrivals.add(facts)
        return []

    def settle(self, port: int) -> list[Fact]:
        self.frontier = known = self.frontiers[0]
        out: list[Fact] = []
        for time, rows in self.arrivals.settle(known):
            self._pass(time, rows, out)
        if not self._left:
            self._renew(known, out)
        return out

    def _pass(self, time: int, rows: list[Row], out: list[Fact]) -> None:
        """All facts of one time enter, and those before the last n leave; a row that does both was never away."""
        ring, counts, match, timed = self.ring, self.counts, self._match, self._timed
        before: dict[Row, bool] = {}
        for number, arrival in enumerate(rows, self.total + 1):
            row = match(arrival)
            if row is not None:
                row = (*row, time) if timed else row
                ring.append((number, time, row))
                before.setdefault(row, row in counts)
                counts[row] = counts.get(row, 0) + 1
        self.total += len(rows)
        gone = self.total - self.size
        while ring and ring[0][0] <= gone:
            row = ring.popleft()[2]
            before.setdefault(row, True)
            counts[row] -= 1
            if not counts[row]:
                del counts[row]
        for row, was_inside in before.items():
            if row not in counts:
                if was_inside:
                    self._end(row, time, out)
            elif not was_inside:
                self._begin(row, time)

    def _begin(self, row: Row, time: int) -> None:
        """A visit will last about as long as the oldest fact has stayed: that is the first lease."""
        self.visited += 1
        self.visits[row] = Visit(self.visited, time, max(1, time - self.ring[0][1]))
        if not self._left:
            heappush(self.leases, (time - 1, self.visited, row))

    def _end(self, row: Row, time: int, out: list[Fact]) -> None:
        visit = self.visits.pop(row)
        if self._left:
            out.append(((visit.number,), time, visit.lease(time)))
        elif visit.told < time - 1:
            out.append(((*row, visit.number), visit.told + 1, time - 1))

    def _renew(self, known: int, out: list[Fact]) -> None:
        """Tell the visits that go on, and are told no further than to the present."""
        leases = self.leases
        while leases and leases[0][0] <= known:
            _, number, row = heappop(leases)
            visit = self.visits.get(row)
            if visit is not None and visit.number == number:
                told, visit.told = visit.told, visit.lease(known + 1)
                out.append(((*row, number), told + 1, visit.told))
                if visit.told < POS:
                    heappush(leases, (visit.told, number, row))

    def deadline(self) -> tuple[int, int] | None:
        due = self.arrivals.first()
        if self.leases:
            due = self.leases[0][0] if due is None else min(due, self.leases[0][0])
        return None if due is None else (0, due)

    def entries(self) -> int:
        return self.arrivals.entries() + len(self.ring) + len(self.leases)

    def state(self) -> dict[str, Any]:
        return {
            "arrivals": self.arrivals.snapshot(),
            "total": self.total,
            "ring": [[number, time, list(row)] for number, time, row in self.ring],
            "visited": self.visited,
            "visits": [[list(row), *visit.snapshot()] for row, visit in self.visits.items()],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.arrivals.restore(state["arrivals"])
        self.total = state["total"]
        self.ring = deque((number, time, tuple(row)) for number, time, row in state["ring"])
        self.counts = {}
        for _, _, row in self.ring:
            self.counts[row] = self.counts.get(row, 0) + 1
        self.visited = state["visited"]
        self.visits = {tuple(row): Visit(*visit) for row, *visit in state["visits"]}
        if not self._left:
            self.leases = [(visit.told, visit.number, row) for row, visit in self.visits.items()]
            heapify(self.leases)


class Visit:
    """One stay of a row in the window: its number, its begin, the length of its first lease, and how far it is told."""

    __slots__ = ("begin", "length", "number", "told")

    def __init__(self, number: int, begin: int, length: int, told: int | None = None) -> None:
        self.number, self.begin, self.length = number, begin, length
        self.told = begin - 1 if told is None else told

    def lease(self, time: int) -> int:
        """The end of the lease that holds a time of the visit, or the first time after it.

        It follows from the visit alone, not from when it is asked, so that both parts agree.

        >>> [Visit(1, begin=10, length=3).lease(time) for time in (10, 12, 13, 15, 16, 22)]
        [12, 12, 15, 15, 21, 33]
        """
        if time >= POS:
            return POS
        doubled = ((time - self.begin) // self.length).bit_length()
        return self.begin + (self.length << doubled) - 1

    def snapshot(self) -> list[int]:
        return [self.number, self.begin, self.length, self.told]
