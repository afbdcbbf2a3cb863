"""What waits for a time: kept by that time, so that many items that are due together cost one look."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ByTime(Generic[Item]):
    """Items by a time at which something is due; those of one time in the order in which they came.

    Whoever adds many may append to the list in `at` by itself where the time is known already.

    >>> later: ByTime[str] = ByTime()
    >>> later.add(7, "a"), later.add(5, "b"), later.add(7, "c"), later.first()
    (None, None, None, 5)
    >>> later.take(6), later.take(7), later.take(8)
    ([(5, ['b'])], [(7, ['a', 'c'])], [])
    """

    __slots__ = ("_times", "at")

    def __init__(self) -> None:
        self.at: dict[int, list[Item]] = {}
        self._times: list[int] = []

    def add(self, time: int, item: Item) -> None:
        items = self.at.get(time)
        if items is not None:
            items.append(item)
        else:
            self.at[time] = [item]
            heappush(self._times, time)

    def remove(self, time: int, item: Item) -> None:
        """Take out an item that has been added, and that no time has reached."""
        self.at[time].remove(item)

    def first(self) -> int | None:
        """The least time at which something is due; None if nothing is."""
        return self._times[0] if self._times else None

    def take(self, time: int) -> list[tuple[int, list[Item]]]:
        """Take out what is due by this time, in order of time."""
        times, found = self._times, list[tuple[int, list[Item]]]()
        while times and times[0] <= time:
            due = heappop(times)
            found.append((due, self.at.pop(due)))
        return found

    def reached(self, time: int) -> list[Item]:
        """The same, without the times."""
        times, found = self._times, list[Item]()
        while times and times[0] <= time:
            found += self.at.pop(heappop(times))
        return found

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self.at.values())

    def in_order(self) -> list[tuple[int, list[Item]]]:
        """All that waits, in order of time."""
        return sorted(self.at.items(), key=_time_of)

    def __len__(self) -> int:
        return sum([len(items) for items in self.at.values()])

    def clear(self) -> None:
        """Nothing waits any more."""
        self.at.clear()
        self._times.clear()


def _time_of(entry: tuple[int, object]) -> int:
    return entry[0]
