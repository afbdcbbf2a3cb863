"""When to look at each row, or alarm, again, so that what nothing happens to costs nothing as time moves on."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from tidelog.operators.stores.amortised import LIMITS

Item = TypeVar("Item")


class Agenda(Generic[Item]):
    """The frontier at which something is due, for each row: the earliest that was scheduled since it was last reached.

    >>> agenda = Agenda()
    >>> agenda.schedule(("a",), 9), agenda.schedule(("b",), 7), agenda.schedule(("a",), 5)
    (None, None, None)
    >>> agenda.reached(6), agenda.reached(9)
    ([('a',)], [('b',)])
    """

    __slots__ = ("_count", "_due", "_scheduled")

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Item]] = []
        self._scheduled: dict[Item, int] = {}
        self._count = 0  # rows need not be comparable

    def schedule(self, row: Item, due: int) -> None:
        """Look at the row at this frontier, unless that happens earlier; what was scheduled for later is void."""
        scheduled = self._scheduled
        known = scheduled.get(row)
        if known is None or due < known:
            scheduled[row] = due
            self._count += 1
            heappush(self._due, (due, self._count, row))
            if len(self._due) > 2 * len(scheduled) + LIMITS.spare:
                self._due[:] = [(due, self._count + i, row) for i, (row, due) in enumerate(scheduled.items(), 1)]
                heapify(self._due)
                self._count += len(scheduled)

    def first(self) -> int | None:
        """No row is due before this frontier; None if nothing is scheduled."""
        return self._due[0][0] if self._due else None

    def reached(self, frontier: int) -> list[Item]:
        """Take out the rows that are due by this frontier."""
        due, scheduled, rows = self._due, self._scheduled, list[Item]()
        while due and due[0][0] <= frontier:
            when, _, row = heappop(due)
            if scheduled.get(row) == when:
                del scheduled[row]
                rows.append(row)
        return rows

    def clear(self) -> None:
        """Forget all that was scheduled."""
        self._due.clear()
        self._scheduled.clear()
