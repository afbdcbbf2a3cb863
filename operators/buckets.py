"""What a store holds, by when it ends: so what has ended is found without looking at what has not.

Items are filed into buckets by how long they still last: as long as the others of their bucket, to a factor of two. A bucket
is due when the last of its items is to end. Whoever takes it lets go of what has ended, and files again what has been
lengthened meanwhile. So an item is looked at about once, what is dead never exceeds about what is alive, and no call walks
the store.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Generic, TypeVar

from tidelog.plans.timeline import POS

Item = TypeVar("Item")

_LARGEST = 1_024


class Buckets(Generic[Item]):
    """Items whose ends are known, each until it is taken.

    >>> buckets = Buckets()
    >>> buckets.file(0, [6, 9, 4], ["a", "b", "c"])
    >>> buckets.take(5), buckets.take(6), buckets.take(9)
    ([], ['a', 'c'], ['b'])
    """

    __slots__ = ("_filed", "_heap", "due")

    def __init__(self) -> None:
        self.due = POS
        """When the first bucket is due; `POS` if there is none."""
        self._heap: list[tuple[int, int, list[Item]]] = []
        self._filed = 0  # buckets due together leave in order; items need not be comparable

    def file(self, now: int, ends: list[int], items: list[Item]) -> None:
        """Put items into buckets by when each of them ends, but for those without an end. Both lists are given away."""
        if not items:
            return
        last = max(ends)
        if _class(now, min(ends)) == _class(now, last) and last < POS and len(items) <= _LARGEST:
            self._put(last, items)
            return
        classes: dict[int, tuple[list[int], list[Item]]] = {}
        for end, item in zip(ends, items, strict=True):
            if end < POS:
                whens, alike = classes.setdefault(_class(now, end), ([], []))
                whens.append(end)
                alike.append(item)
        for whens, alike in classes.values():
            for i in range(0, len(alike), _LARGEST):
                self._put(max(whens[i : i + _LARGEST]), alike[i : i + _LARGEST])

    def _put(self, due: int, items: list[Item]) -> None:
        self._filed += 1
        heappush(self._heap, (due, self._filed, items))
        self.due = self._heap[0][0]

    def take(self, now: int) -> list[Item]:
        """The items of a bucket that is due; none if no bucket is."""
        heap = self._heap
        if not heap or heap[0][0] > now:
            return []
        items = heappop(heap)[2]
        self.due = heap[0][0] if heap else POS
        return items

    def clear(self) -> None:
        """Forget all items."""
        self._heap.clear()
        self.due = POS


def _class(now: int, end: int) -> int:
    return (end - now).bit_length() if end > now else 0
