"""What a store holds, by when it ends: so what has ended is found without looking at what has not.

Items are filed into buckets by how long they still last: as long as the others of their bucket, to a factor of two. A bucket
is due when the last of its items is to end. Whoever takes it lets go of what has ended, and files again what has been
lengthened meanwhile. So an item is looked at about once, what is dead never exceeds about what is alive, and no call walks
the store.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, Generic, TypeVar

from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.data.timeline import POS

Item = TypeVar("Item")

_END: Callable[[Any], int] = itemgetter(0)


class Buckets(Generic[Item]):
    """Items whose ends are known, each until it is taken.

    >>> buckets = Buckets()
    >>> buckets.file(0, [6, 9, 4], ["a", "b", "c"])
    >>> buckets.take(5), buckets.take(6), buckets.take(9)
    ([], ['c', 'a'], ['b'])
    """

    __slots__ = ("_filed", "_heap", "due", "size")

    def __init__(self) -> None:
        self.due = POS
        """When the first bucket is due; `POS` if there is none."""
        self.size = 0
        """How many items that has."""
        self._heap: list[tuple[int, int, list[Item]]] = []
        self._filed = 0  # buckets due together leave in order; items need not be comparable

    def file(self, now: int, ends: list[int], items: list[Item]) -> None:
        """Put items into buckets by when each of them ends, but for those without an end. Both lists are given away."""
        if not items:
            return
        last = max(ends)
        if _class(now, min(ends)) == _class(now, last) and last < POS and len(items) <= LIMITS.bucket:
            self._put(last, items)
            return
        ordered = sorted(ends)
        if ordered != ends:
            items = [item for _, item in sorted(zip(ends, items, strict=True), key=_END)]
        at, count = 0, bisect_left(ordered, POS)
        while at < count:
            of_class = bisect_left(ordered, now + (1 << _class(now, ordered[at])), at, count)
            upto = min(of_class, at + LIMITS.bucket)
            self._put(ordered[upto - 1], items[at:upto])
            at = upto

    def _put(self, due: int, items: list[Item]) -> None:
        self._filed += 1
        heappush(self._heap, (due, self._filed, items))
        self.due, self.size = self._heap[0][0], len(self._heap[0][2])

    def take(self, now: int) -> list[Item]:
        """The items of a bucket that is due; none if no bucket is."""
        heap = self._heap
        if not heap or heap[0][0] > now:
            return []
        items = heappop(heap)[2]
        self.due, self.size = (heap[0][0], len(heap[0][2])) if heap else (POS, 0)
        return items

    def clear(self) -> None:
        """Forget all items."""
        self._heap.clear()
        self.due, self.size = POS, 0


def _class(now: int, end: int) -> int:
    return (end - now).bit_length() if end > now else 0
