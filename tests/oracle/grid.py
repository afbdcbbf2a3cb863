"""The oracle's time: finitely many cells, in each of which every formula has one truth value.

On the integer timeline a cell is one integer. On the rational timeline, where every number that the program and its
facts mention is a multiple of a step r, the cells are the multiples of r and the open gaps between two of them: the
(Π,D)-intervals of Wałęga et al. 2023, section 2, in which a canonical interpretation is constant. A cell is known
by its number; `time` gives the point that stands for it, in a gap its middle.

The cells 0 … size-1 are the horizon. Beyond it an interpretation is taken to be constant: every cell before cell 0 is
like cell 0, every cell after the last one is like the last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tidelog.plans.tree.syntax import Interval, Time

Cells = frozenset[int]
"""A set of cells of the horizon."""

PAST = -1
"""The direction of `diamondminus`, `boxminus` and `since`."""
FUTURE = 1
"""The direction of `diamondplus`, `boxplus` and `until`."""


def common_step(numbers: Iterable[Fraction]) -> Fraction:
    """The largest number that all of these are multiples of; 1 if there is none but 0."""
    step = Fraction(0)
    for number in numbers:
        step = Fraction(
            math.gcd(step.numerator * number.denominator, number.numerator * step.denominator),
            step.denominator * number.denominator,
        )
    return step or Fraction(1)


@dataclass(frozen=True, slots=True)
class Witness:
    """A way to choose t' for `since` at a time t: t' lies in `cell`, and (t', t) meets the cells `between`."""

    cell: int
    between: Cells


@dataclass
class Grid:
    """The cells of one evaluation; `low` is the time of cell 0, `step` the distance between two points."""

    dense: bool
    step: Fraction
    low: Fraction
    size: int
    _windows: dict[tuple[Interval, int], list[Cells]] = field(default_factory=dict)
    _witnesses: dict[tuple[Interval, int], list[list[Witness]]] = field(default_factory=dict)

    def is_gap(self, cell: int) -> bool:
        """Whether the cell is the open gap between two points (cell 0 is a point)."""
        return self.dense and cell % 2 == 1

    def time(self, cell: int) -> Fraction:
        """The time point that stands for the cell."""
        return self.low + cell * (self.step / 2 if self.dense else self.step)

    def clamp(self, cell: float) -> int:
        """The cell of the horizon that this cell is like."""
        return int(min(max(cell, 0), self.size - 1))

    def meeting(self, interval: Interval) -> tuple[float, float]:
        """The first and the last cell that hold a point of the interval; infinite where it is."""
        first = _first(self._place(interval.low), interval.left_open, self.dense)
        last = -_first(-self._place(interval.high), interval.right_open, self.dense)
        return first, last

    def _place(self, time: Time) -> Time:
        """A time in units in which cells count: cell k is the number k, and on dense time k±1 if k is odd."""
        if isinstance(time, float):
            return time
        return (time - self.low) / self.step * (2 if self.dense else 1)

    def window(self, cell: int, interval: Interval, direction: int) -> tuple[float, float]:
        """The cells that meet all t' with t−t' (past) or t'−t (future) in the interval, t being the cell's time.

        Which t of a gap is taken does not matter for the cells that are met, as the interval's ends are multiples of
        the step.
        """
        time = self.time(cell)
        if direction == FUTURE:
            shifted = Interval(time + interval.low, time + interval.high, interval.left_open, interval.right_open)
        else:
            shifted = Interval(time - interval.high, time - interval.low, interval.right_open, interval.left_open)
        return self.meeting(shifted)

    def windows(self, interval: Interval, direction: int) -> list[Cells]:
        """For each cell of the horizon, what `window` says, as a set of cells of the horizon."""
        key = (interval, direction)
        if key not in self._windows:
            ends = [self.window(cell, interval, direction) for cell in range(self.size)]
            self._windows[key] = [frozenset(range(self.clamp(a), self.clamp(b) + 1)) for a, b in ends]
        return self._windows[key]

    def witnesses(self, interval: Interval, direction: int) -> list[list[Witness]]:
        """For each cell t of the horizon, the choices of t' for `since` (past) or `until` (future) at t."""
        key = (interval, direction)
        if key not in self._witnesses:
            self._witnesses[key] = [self._choices(cell, interval, direction) for cell in range(self.size)]
        return self._witnesses[key]

    def _choices(self, cell: int, interval: Interval, direction: int) -> list[Witness]:
        first, last = self.window(cell, interval, direction)
        # All choices two or more cells beyond the horizon ask for the same: one of them is enough.
        first = max(first, min(last, -2))
        last = min(last, max(first, self.size + 1))
        choices = []
        for other in range(int(first), int(last) + 1):
            ends = min(other, cell), max(other, cell)
            between = self._within(cell, interval) if other == cell else self._between(*ends)
            choices.append(Witness(self.clamp(other), between))
        return choices

    def _within(self, cell: int, interval: Interval) -> Cells:
        """What lies strictly between t' and t of one cell: nothing if t' = t is allowed, else a part of the gap."""
        if interval.low == 0 and not interval.left_open:
            return frozenset()
        return frozenset({cell})

    def _between(self, left: int, right: int) -> Cells:
        """The cells that hold a point strictly between a point of the left and a point of the right cell.

        A stretch that begins or ends inside a gap has a part of this gap in it.
        """
        first = left if self.is_gap(left) else left + 1
        last = right if self.is_gap(right) else right - 1
        return frozenset(self.clamp(cell) for cell in range(first, last + 1))


def _first(place: Time, is_open: bool, dense: bool) -> float:
    """The first cell with a point at or after this place (after it, if open)."""
    if isinstance(place, float):
        return place
    if not dense:
        return math.floor(place) + 1 if is_open else math.ceil(place)
    if place.denominator == 1 and place % 2 == 0:
        return int(place) + 1 if is_open else int(place)
    return 2 * (place // 2) + 1
