"""Time as integers: the one place where exact times become the integers that everything else computes with.

Every range of times inside the engine is a *closed range of integers* `lo … hi`, with lo ≤ hi:

* `timeline integer`: the time t is the integer t. `[1,3)` is the range 1 … 2.
* `timeline rational`: with the resolution r, the time x is the even integer 2·x/r, and the open gap between x and x+r
  is the odd integer behind it. So `[0,1)` with r = 1 is 0 … 1, `(0,1]` is 1 … 2, and `(0,1)` is 1 … 1.

In both, two ranges touch exactly when the next one begins at `hi + 1`. A gap is never cut: every endpoint that a program
or its data mention is a multiple of r, so what holds somewhere in a gap holds in all of it (the `(Π,D)`-intervals of
Wałęga et al. 2023, section 2). Infinite ends are the saturating sentinels `NEG` and `POS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.syntax import Interval, Rounding, Time

POS: Final = (1 << 62) - 2
"""The end of a range that never ends.

It is even, as points are; and compiled code holds integers below 2⁶² in a machine word, which it compares at once.
"""
NEG: Final = -((1 << 62) - 2)
"""The begin of a range that has none."""
LIMIT: Final = 1 << 60
"""The largest encoded time that data or a program may mention: beyond it lies room for the operators' shifts."""
BEGUN: Final = NEG + LIMIT
"""No shift leads before it from a time: what lies there has come of what has no begin."""


@dataclass(frozen=True, slots=True)
class Metric:
    """An operator's interval ϱ, encoded: distances `a … b`, and 1 where that side is open (0 on integers)."""

    a: int
    b: int
    left_open: int = 0
    right_open: int = 0

    @property
    def is_punctual(self) -> bool:
        """Whether it is one distance, so that ◇ and □ are the same shift in time."""
        return self.a == self.b

    @property
    def length(self) -> int:
        """|ϱ| = ϱ⁺ − ϱ⁻, encoded; `POS` where unbounded."""
        return POS if self.b >= POS else self.b - self.a


@dataclass(frozen=True, slots=True)
class Timeline:
    """How the times of one program become integers, and how they are written again.

    `resolution` is the length of a tick (rational timelines), `unit` the seconds that the number 1 stands for. `rounding` is
    what becomes of times in data that are finer than a tick; None where they are refused.
    """

    kind: Literal["rational", "integer"] = "rational"
    resolution: Fraction = Fraction(1)
    unit: Fraction | None = None
    rounding: Rounding | None = None

    @property
    def is_integer(self) -> bool:
        return self.kind == "integer"

    @property
    def touch(self) -> int:
        """How far a run of the left side of `since` reaches beyond its ends: 1 on integers, 0 on rationals."""
        return 1 if self.is_integer else 0

    def rounded(self, time: Fraction) -> Fraction:
        """The time of the tick to which a time in data belongs: itself where the program does not round."""
        if self.rounding is None or time.denominator == 1:
            return time
        if self.rounding == "nearest":
            return Fraction(math.floor(time + Fraction(1, 2)))
        return Fraction(math.floor(time) if self.rounding == "down" else math.ceil(time))

    def earliest(self, time: Fraction) -> int:
        """The earliest encoded begin that a fact in data can have whose time is not before this one; DataError as below."""
        if self.rounding is not None:
            return self.encode_point(self.rounded(time))
        tick = Fraction(1) if self.is_integer else self.resolution
        return self.encode_point(math.ceil(time / tick) * tick)

    def encode_point(self, time: Fraction) -> int:
        """The integer for a finite time; DataError if it is finer than the timeline or beyond its ends."""
        ticks = time if self.is_integer else time / self.resolution
        if ticks.denominator != 1:
            raise DataError(self._too_fine(time))
        point = ticks.numerator if self.is_integer else 2 * ticks.numerator
        if not -LIMIT <= point <= LIMIT:
            raise DataError(f"time {_digits(time)} lies beyond what the timeline can hold")
        return point

    def _too_fine(self, time: Fraction) -> str:
        if self.is_integer:
            return f"time {_digits(time)} is not a whole number, as `timeline integer` needs"
        return f"time {_digits(time)} is finer than the resolution {format_time(self.resolution)}"

    def encode_interval(self, interval: Interval) -> tuple[int, int]:
        """The closed range of an interval; DataError if it is empty or cannot be represented."""
        lo = self._encode_end(interval.low)
        hi = self._encode_end(interval.high)
        if interval.left_open and lo != NEG:
            lo += 1
        if interval.right_open and hi != POS:
            hi -= 1
        if lo > hi or lo == POS or hi == NEG:
            raise DataError(f"interval {interval} is empty")
        return lo, hi

    def _encode_end(self, time: Time) -> int:
        if isinstance(time, float):
            return POS if time > 0 else NEG
        return self.encode_point(time)

    def encode_metric(self, interval: Interval) -> Metric:
        """An operator's interval (distances ≥ 0, not empty); DataError if it cannot be represented.

        On integers the open ends are resolved at once: `(0,3)` is the distances 1 … 2.
        """
        lo, hi = self._encode_end(interval.low), self._encode_end(interval.high)
        left, right = int(interval.left_open), int(interval.right_open and hi != POS)
        if self.is_integer:
            lo, hi, left, right = lo + left, hi - right, 0, 0
        if lo < 0 or lo > hi or (lo == hi and (left or right)):
            raise DataError(f"interval {interval} is empty or negative")
        return Metric(lo, hi, left, right)

    def decode_point(self, point: int) -> Fraction:
        """The time of an encoded point (the left end of the gap, for a gap)."""
        return Fraction(point) if self.is_integer else (point >> 1) * self.resolution

    def decode_interval(self, lo: int, hi: int) -> Interval:
        """The interval of a closed range; on integers both ends are closed."""
        left_open, right_open = lo == NEG, hi == POS
        low: Time = -math.inf if lo == NEG else self.decode_point(lo)
        high: Time = math.inf if hi == POS else self.decode_point(hi)
        if not self.is_integer:
            left_open = left_open or lo & 1 == 1
            if hi & 1 and hi != POS:
                right_open, high = True, self.decode_point(hi + 1)
        return Interval(low, high, left_open, right_open)

    def format_point(self, point: int) -> str:
        """A point as data writes it: an exact integer or fraction."""
        return format_time(self.decode_point(point))

    def format_range(self, lo: int, hi: int) -> str:
        """A range as data writes it: `17` for a single time, otherwise `[1,5/2)`."""
        if lo == hi and (self.is_integer or not lo & 1):
            return self.format_point(lo)
        return str(self.decode_interval(lo, hi))


def format_time(time: Time) -> str:
    """An exact time as text: `3`, `5/2`, `inf`, `-inf`."""
    if isinstance(time, float):
        return "inf" if time > 0 else "-inf"
    return str(time)


def _digits(time: Fraction) -> str:
    text = str(time)
    return text if len(text) <= 40 else text[:37] + "..."
