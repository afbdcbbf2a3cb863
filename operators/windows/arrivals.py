"""The order of arrival: what tuple windows count, and what waits until its place in the order is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from tidelog.plans.data.facts import Fact, Row


class Arrivals:
    """Input facts by the time at which they begin, and within one time in order of arrival; each fact once.

    They come as rows `(predicate, *row)`; those of other predicates than `of` (if there are any) do not count. Lifecycle:
    **add** facts beyond the frontier in order of arrival → **settle** a frontier, which takes out what lies at or before it.
    So what is stored is what lies beyond the frontier.

    >>> arrivals = Arrivals()
    >>> arrivals.add([(("p", 1), 5, 5), (("q", 2), 3, 3), (("p", 2), 3, 3), (("q", 2), 3, 3)])
    >>> list(arrivals.settle(4))
    [(3, [('q', 2), ('p', 2)])]
    """

    __slots__ = ("_of", "_times", "_waiting")

    def __init__(self, of: Iterable[str] = ()) -> None:
        self._of = frozenset(of)
        self._times: list[int] = []
        self._waiting: dict[int, dict[Row, None]] = {}

    def add(self, facts: Iterable[Fact]) -> None:
        """Take facts in order of arrival."""
        of, waiting = self._of, self._waiting
        for row, time, _ in facts:
            if of and row[0] not in of:
                continue
            rows = waiting.get(time)
            if rows is None:
                waiting[time] = {row: None}
                heappush(self._times, time)
            else:
                rows.setdefault(row)

    def settle(self, frontier: int) -> Iterator[tuple[int, list[Row]]]:
        """The times at or before the frontier, each with its facts in order."""
        while self._times and self._times[0] <= frontier:
            time = heappop(self._times)
            yield time, list(self._waiting.pop(time))

    def first(self) -> int | None:
        """The first time at which a fact waits."""
        return self._times[0] if self._times else None

    def entries(self) -> int:
        """How many facts wait."""
        return sum(map(len, self._waiting.values()))

    def snapshot(self) -> list[Any]:
        """What waits, as plain lists."""
        return [[time, [list(row) for row in self._waiting[time]]] for time in sorted(self._times)]

    def restore(self, data: list[Any]) -> None:
        """Take over a snapshot in place of what waits here."""
        self._times = [time for time, _ in data]
        self._waiting = {time: dict.fromkeys(map(tuple, rows)) for time, rows in data}
