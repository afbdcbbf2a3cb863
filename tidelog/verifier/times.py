"""Sets of times with exact ends, and the two timelines."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from operator import itemgetter

from tidelog.plans.tree.syntax import Interval, Program, Time, TimelineDeclaration

Cut = tuple[Time, int]
"""A place between times: right before a time (0), or right behind it (1)."""
Times = list[tuple[Cut, Cut]]
"""A set of times: the stretches between two cuts, sorted, none touching another."""

ALWAYS: Times = [((-math.inf, 0), (math.inf, 0))]
_SECONDS = {
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}


class Refused(Exception):
    """A certificate does not prove what it says, or cannot be checked."""


def union(many: Iterable[tuple[Cut, Cut]]) -> Times:
    """The set of all times of some stretches, in any order.

    >>> union([((3, 1), (5, 0)), ((1, 0), (3, 1))])  # (3,5) and [1,3]
    [((1, 0), (5, 0))]
    """
    found: Times = []
    for low, high in sorted(many):
        if low >= high:
            continue
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def complement(times: Times) -> Times:
    """All other times."""
    cuts = [(-math.inf, 0), *(cut for stretch in times for cut in stretch), (math.inf, 0)]
    return [(low, high) for low, high in zip(cuts[::2], cuts[1::2], strict=True) if low < high]


def both(left: Times, right: Times) -> Times:
    """The times in both sets."""
    found, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        found.append((max(left[i][0], right[j][0]), min(left[i][1], right[j][1])))
        i, j = (i + 1, j) if left[i][1] < right[j][1] else (i, j + 1)
    return union(found)


def contains(outer: Times, inner: Times) -> bool:
    """Whether a set holds all of another: each stretch lies in one of its own, for none of them touch."""
    for low, high in inner:
        place = bisect_right(outer, low, key=itemgetter(0)) - 1
        if place < 0 or outer[place][1] < high:
            return False
    return True


class Line:
    """A program's timeline: the rational numbers, or the whole ones, and what a unit of time is."""

    def __init__(self, program: Program) -> None:
        declared = [item for item in program.statements if isinstance(item, TimelineDeclaration)]
        self.is_whole = bool(declared) and declared[-1].kind == "integer"
        self.unit = declared[-1].unit if declared else None

    def time(self, time: Time, unit: str) -> Time:
        if not unit:
            return time
        if self.unit is None or unit not in _SECONDS:
            raise Refused(f"the time {time}{unit} has no meaning without a unit")
        return time * Fraction(_SECONDS[unit]) / self.unit

    def interval(self, interval: Interval) -> Interval:
        """An interval without units; of whole numbers, with closed ends."""
        low, high = self.time(interval.low, interval.low_unit), self.time(interval.high, interval.high_unit)
        left, right = interval.left_open, interval.right_open
        if self.is_whole:
            if not isinstance(low, float):
                low, left = math.floor(low) + 1 if left else math.ceil(low), False
            if not isinstance(high, float):
                high, right = math.ceil(high) - 1 if right else math.floor(high), False
        return Interval(_plain(low), _plain(high), left or low == -math.inf, right or high == math.inf)

    def times(self, interval: Interval) -> Times:
        """The set of times of an interval."""
        plain = self.interval(interval)
        return self._between((plain.low, int(plain.left_open)), (plain.high, int(not plain.right_open)))

    def _between(self, low: Cut, high: Cut) -> Times:
        return union([(self._cut(low), self._cut(high))])

    def _cut(self, cut: Cut) -> Cut:
        time, side = cut
        if isinstance(time, float):
            return time, 0
        if not self.is_whole:
            return cut
        return (math.floor(time) + 1 if side else math.ceil(time)), 0

    def moved(self, times: Times, distances: Interval, direction: int) -> Times:
        """All t' ± d with t' of the times and d of the distances: forwards for what looks back."""
        rho = self.interval(distances)
        if rho.low < 0 or rho.low > rho.high:
            raise Refused("an operator's interval is empty or negative")
        found: Times = []
        for low, high in times:
            end = (high[0] - 1, 1) if self.is_whole and not isinstance(high[0], float) else high
            if direction > 0:
                first = (low[0] + rho.low, int(low[1] or rho.left_open))
                last = (end[0] + rho.high, int(end[1] and not rho.right_open))
            else:
                first = (low[0] - rho.high, int(low[1] or rho.right_open))
                last = (end[0] - rho.low, int(end[1] and not rho.left_open))
            found += self._between(first, last)
        return union(found)

    def hull(self, low: Cut, high: Cut) -> tuple[Cut, Cut]:
        """All times between two of which lie times of the stretch alone."""
        if self.is_whole:
            return (low[0] - 1, 0), (high[0] + 1, 0)
        return (low[0], 0), (high[0], 0 if high[0] == math.inf else 1)


def _plain(time: Time) -> Time:
    """A whole number as one that Python computes with fast."""
    return time.numerator if isinstance(time, Fraction) and time.denominator == 1 else time
