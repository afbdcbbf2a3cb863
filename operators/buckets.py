"""What a store holds, by when it ends: so what has ended is found without looking at what has not.

Items are filed into buckets by how long they still last: as long as the others of their bucket, to a factor of two. A bucket
is due when the last of its items is to end. Whoever takes it lets go of what has ended, and files again what has been
lengthened meanwhile. So an item is looked at about once, what is dead never exceeds about what is alive, and no call walks
the store. A bucket is a tuple: garbage collection has nothing to do with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Generic, TypeVar

Item = TypeVar("Item")

_LARGEST = 1_024


class Buckets(Generic[Item]):
    """Items whose ends are known, each until it is taken.

    >>> buckets = Buckets()
    >>> buckets.file(0, [6, 9, 4], ["a", "b", "c"])
    >>> buckets.take(5), buckets.take(6), buckets.take(9)
    ((), ('a', 'c'), ('b',))
    """

    __slots__ = ("_filed", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, tuple[Item, ...]]] = []
        self._filed = 0  # buckets due together leave in order; items need not be comparable

    def file(self, now: int, ends: Sequence[int], items: Sequence[Item]) -> None:
        """Put items into buckets, and when each of them ends; those without an end are not to be filed."""
        if not items:
            return
        if _class(now, min(ends)) == _class(now, max(ends)):
            self._put(ends, items)
            return
        classes: dict[int, tuple[list[int], list[Item]]] = {}
        for end, item in zip(ends, items, strict=True):
            alike = classes.setdefault(_class(now, end), ([], []))
            alike[0].append(end)
            alike[1].append(item)
        for alike in classes.values():
            self._put(*alike)

    def _put(self, ends: Sequence[int], items: Sequence[Item]) -> None:
        for i in range(0, len(items), _LARGEST):
            self._filed += 1
            heappush(self._heap, (max(ends[i : i + _LARGEST]), self._filed, tuple(items[i : i + _LARGEST])))

    def take(self, now: int) -> tuple[Item, ...]:
        """The items of a bucket that is due; none if no bucket is."""
        heap = self._heap
        return heappop(heap)[2] if heap and heap[0][0] <= now else ()

    def clear(self) -> None:
        """Forget all items."""
        self._heap.clear()


def _class(now: int, end: int) -> int:
    return (end - now).bit_length() if end > now else 0
