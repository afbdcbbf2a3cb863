"""From ranges that have been seen to repeat to as few as say it: the finite ones, and one of each that returns for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Times = tuple[int, int]


def fold(ranges: Sequence[Times], start: int, period: int, edge: int, unit: int) -> tuple[list[Times], list[Times], int]:
    """Of one row's sorted ranges: those that do not repeat, those that do, and the least period at which they do.

    Given that what holds in `start+1 … start+period` repeats; ranges that begin behind that are left out. Ranges that begin
    before `edge` count as not repeating, even if they fit; periods are multiples of `unit`.

    >>> fold([(1, 1), (4, 4), (14, 14), (24, 24), (34, 34)], 5, 20, 2, 2)
    ([(1, 1)], [(4, 4)], 10)
    >>> fold([(0, 0), (8, 12), (18, 22), (28, 30)], 10, 20, 20, 2)
    ([(0, 0), (8, 12)], [(18, 22)], 10)
    """
    end = start + period
    finite = [times for times in ranges if times[0] <= start]
    inside = [times for times in ranges if start < times[0] <= end]
    if not inside:
        return finite, [], period
    if inside[-1][1] >= end and finite and finite[-1][1] >= start:
        inside[-1] = (inside[-1][0], finite[-1][1] + period)  # it ends as the one before it, whose end is known
    count, least = _least(inside, period, unit)
    returning = deque(inside[:count])
    while finite and finite[-1][0] >= edge and finite[-1] == (returning[-1][0] - least, returning[-1][1] - least):
        returning.appendleft(finite.pop())
        returning.pop()
    return finite, list(returning), least


def _least(inside: Sequence[Times], period: int, unit: int) -> tuple[int, int]:
    """How many of the ranges return, and after which least period."""
    size = len(inside)
    for count in range(1, size):
        least = period * count // size
        if size % count == 0 and period * count % size == 0 and least % unit == 0 and _returns(inside, count, least, period):
            return count, least
    return size, period


def _returns(inside: Sequence[Times], count: int, least: int, period: int) -> bool:
    again = [*inside, *((lo + period, hi + period) for lo, hi in inside[:count])]
    return all(again[i + count] == (lo + least, hi + least) for i, (lo, hi) in enumerate(inside))
