"""Positions: the timeline cut at the multiples of the one number that divides all those of a program and its facts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline


@dataclass(frozen=True, slots=True)
class Distances:
    """A metric operator's interval in positions: distances `low … high` (None: without an end), and which sides are open."""

    low: int
    high: int | None
    left_open: bool
    right_open: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """Encoded times as positions: `unit` encoded is one position, or on a dense grid two, the point and the gap behind it.

    A grid over integers is dense where the unit is above 1: the integers between two multiples are a gap.
    """

    unit: int
    is_dense: bool
    is_integer: bool

    def position(self, time: int, *, is_end: bool) -> int | None:
        """The position of a range's begin or end; None where it has none."""
        if time in (NEG, POS):
            return None
        if not self.is_dense:
            return time
        if self.is_integer:
            return 2 * time // self.unit
        if time & 1:  # an open end: in the gap behind the begin, or before the end
            return 2 * ((time + 1) // self.unit) - 1 if is_end else 2 * ((time - 1) // self.unit) + 1
        return 2 * (time // self.unit)

    def distances(self, metric: Metric) -> Distances:
        """An operator's interval; all its numbers are multiples of the unit."""
        factor = 2 if self.is_dense else 1
        high = None if metric.b >= POS else factor * (metric.b // self.unit)
        return Distances(factor * (metric.a // self.unit), high, bool(metric.left_open), bool(metric.right_open))


def grid_for(
    timeline: Timeline, metrics: Iterable[Metric], ranges: Iterable[tuple[int, int]], *, needs_neighbours: bool
) -> Grid:
    """The coarsest grid for these operators and facts (encoded).

    `needs_neighbours` says that an operator (since, until) asks which integers follow each other, so that none may be
    taken together.
    """
    if timeline.is_integer and needs_neighbours:
        return Grid(1, is_dense=False, is_integer=True)
    unit = 0
    for metric in metrics:
        unit = math.gcd(unit, metric.a, 0 if metric.b >= POS else metric.b)
    for lo, hi in ranges:
        begin, end = (0 if lo == NEG else lo), (0 if hi == POS else hi)
        if not timeline.is_integer:
            begin, end = begin - (begin & 1), end + (end & 1)
        unit = math.gcd(unit, begin, end)
    if timeline.is_integer:
        return Grid(max(unit, 1), is_dense=unit > 1, is_integer=True)
    return Grid(unit or 2, is_dense=True, is_integer=False)
