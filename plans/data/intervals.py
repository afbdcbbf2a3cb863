"""Maximal intervals: sets of times as sorted lists of closed ranges of encoded time, none touching another.

The stores of operators (`operators/stores/coverage.py`) keep such sets as flat bounds, and answer what is new in them; what
is computed once, of ranges that are there, is computed here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from operator import itemgetter
from typing import TypeVar

Range = tuple[int, int]
Ranges = list[Range]

K = TypeVar("K", bound=Hashable)

_END = itemgetter(1)


def united(ranges: Iterable[Range]) -> Ranges:
    """The union of ranges in any order.

    >>> united([(5, 6), (1, 2), (3, 4), (9, 9)])
    [(1, 6), (9, 9)]
    """
    found: Ranges = []
    for lo, hi in sorted(ranges):
        if found and lo <= found[-1][1] + 1:
            if hi > found[-1][1]:
                found[-1] = (found[-1][0], hi)
        elif lo <= hi:
            found.append((lo, hi))
    return found


def maximal(facts: Iterable[tuple[K, int, int]]) -> list[tuple[K, int, int]]:
    """What holds over ranges in any order, each over its maximal ranges; what comes first in the facts comes first.

    >>> maximal([("b", 4, 6), ("a", 9, 9), ("b", 1, 3)])
    [('b', 1, 6), ('a', 9, 9)]
    """
    ranges: dict[K, Ranges] = {}
    for key, lo, hi in facts:
        ranges.setdefault(key, []).append((lo, hi))
    return [(key, lo, hi) for key, some in ranges.items() for lo, hi in united(some)]


def unite(ranges: Ranges, lo: int, hi: int) -> None:
    """Put one more range among those that are there; what it touches becomes one with it.

    >>> ranges = [(1, 2), (5, 6), (9, 9)]
    >>> unite(ranges, 3, 4)
    >>> ranges
    [(1, 6), (9, 9)]
    """
    first = bisect_left(ranges, lo - 1, key=_END)
    last = first
    while last < len(ranges) and ranges[last][0] <= hi + 1:
        last += 1
    if first < last:
        lo, hi = min(lo, ranges[first][0]), max(hi, ranges[last - 1][1])
    ranges[first:last] = [(lo, hi)]


def within(ranges: Sequence[Range], lo: int, hi: int) -> Ranges:
    """What lies in `lo … hi`.

    >>> within([(1, 4), (6, 9)], 3, 7)
    [(3, 4), (6, 7)]
    """
    found: Ranges = []
    for i in range(bisect_left(ranges, lo, key=_END), len(ranges)):
        low, high = ranges[i]
        if low > hi:
            break
        found.append((max(low, lo), min(high, hi)))
    return found


def intersected(left: Sequence[Range], right: Sequence[Range]) -> Ranges:
    """What lies in both.

    >>> intersected([(1, 4), (6, 9)], [(0, 2), (4, 7)])
    [(1, 2), (4, 4), (6, 7)]
    """
    found: Ranges = []
    i = j = 0
    while i < len(left) and j < len(right):
        lo, hi = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if lo <= hi:
            found.append((lo, hi))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def subtracted(ranges: Sequence[Range], taken: Sequence[Range]) -> Ranges:
    """What lies in `ranges` and not in `taken`.

    >>> subtracted([(1, 9)], [(0, 2), (4, 5)])
    [(3, 3), (6, 9)]
    """
    found: Ranges = []
    i = 0
    for lo, hi in ranges:
        while i and taken[i - 1][1] >= lo:
            i -= 1
        while i < len(taken) and taken[i][0] <= hi:
            if taken[i][0] > lo:
                found.append((lo, taken[i][0] - 1))
            lo = max(lo, taken[i][1] + 1)
            i += 1
        if lo <= hi:
            found.append((lo, hi))
    return found


def covers(ranges: Sequence[Range], lo: int, hi: int) -> bool:
    """Whether one of the ranges holds all of `lo … hi`."""
    return within(ranges, lo, hi) == [(lo, hi)]


def length(ranges: Sequence[Range]) -> int:
    """How many encoded times there are in ranges.

    >>> length([(1, 4), (6, 6)])
    5
    """
    return sum(hi - lo + 1 for lo, hi in ranges)
