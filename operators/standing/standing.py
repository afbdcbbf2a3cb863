"""The rows that stand at a port of an operator that takes them as if they never ended."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.stores.coverage import Bounds, merge
from tidelog.plans.data.facts import Fact, Row


class Standing:
    """Rows that stand, from when this has come (`since`); and what facts tell of them beside that, for when they end.

    A row may end before it has come, as if it had never been told. State: all of these.

    >>> rows = Standing()
    >>> rows.begin(("a",), 3, 5), rows.begin(("b",), 7, 5), rows.due(), rows.come(8)
    (True, False, 7, [(('b',), 7)])
    >>> rows.since[("a",)] = 3
    >>> rows.beside([(("a",), 1, 6), (("a",), 9, 12)], 5), rows.end(("a",), 3, 8, 8)
    ([(('a',), 1, 2)], [1, 12])
    """

    __slots__ = ("_ahead", "_coming", "_count", "_under", "since")

    def __init__(self) -> None:
        self.since: dict[Row, int] = {}
        self._ahead: dict[Row, int] = {}
        self._coming: list[tuple[int, int, Row]] = []  # when these come
        self._count = 0  # rows need not be comparable
        self._under: dict[Row, Bounds] = {}

    def begin(self, row: Row, lo: int, known: int) -> bool:
        """A row is told to stand; whether that has come already."""
        if lo <= known:
            return True
        self._ahead[row] = lo
        self._count += 1
        heappush(self._coming, (lo, self._count, row))
        return False

    def never_came(self, row: Row) -> bool:
        """A row stands no longer; whether it had not come yet."""
        return self._ahead.pop(row, None) is not None

    def come(self, known: int) -> list[tuple[Row, int]]:
        """The rows that have come by now."""
        found, coming = list[tuple[Row, int]](), self._coming
        while coming and coming[0][0] <= known:
            lo, _, row = heappop(coming)
            if self._ahead.get(row) == lo:
                del self._ahead[row]
                found.append((row, lo))
        return found

    def due(self) -> int | None:
        """When the next row comes; None if none is to come."""
        return self._coming[0][0] if self._coming else None

    def beside(self, facts: Sequence[Fact], known: int) -> list[Fact]:
        """The facts beside what stands; what they tell of that is kept."""
        plain: list[Fact] = []
        for row, lo, hi in facts:
            since = self.since.get(row)
            if since is None or hi < since:
                plain.append((row, lo, hi))
                continue
            self.keep(row, lo, hi, known)
            if lo < since:
                plain.append((row, lo, since - 1))
        return plain

    def keep(self, row: Row, lo: int, hi: int, known: int) -> None:
        """Keep what a fact tells of a row, as long as that may have ended before."""
        bounds = self._under.setdefault(row, [])
        merge(bounds, lo, hi, 1, row, [])
        gone = 0
        while gone < len(bounds) and bounds[gone + 1] <= known:
            gone += 2
        del bounds[:gone]

    def end(self, row: Row, lo: int, hi: int, known: int) -> Bounds:
        """A row stands no longer; when it has held, and will: as far as it was known, and as facts tell."""
        del self.since[row]
        bounds = self._under.pop(row, [])
        merge(bounds, lo, max(lo, hi, known), 1, row, [])
        return bounds

    def entries(self) -> int:
        """How many ranges are stored, beside the rows that stand."""
        return len(self._coming) + sum(len(bounds) >> 1 for bounds in self._under.values())

    def state(self) -> dict[str, Any]:
        """All of it as plain data."""
        since, ahead = ([[list(row), lo] for row, lo in rows.items()] for rows in (self.since, self._ahead))
        return {"since": since, "ahead": ahead, "under": [[list(row), list(bounds)] for row, bounds in self._under.items()]}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self.since = {tuple(row): lo for row, lo in state["since"]}
        self._ahead = {tuple(row): lo for row, lo in state["ahead"]}
        self._under = {tuple(row): list(bounds) for row, bounds in state["under"]}
        self._coming = [(lo, i, row) for i, (row, lo) in enumerate(self._ahead.items())]
        heapify(self._coming)
        self._count = len(self._coming)
