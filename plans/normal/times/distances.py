"""Arithmetic with operators' intervals: sums of distances, and the part of `since` that needs no left side."""

from __future__ import annotations

import math
from fractions import Fraction

from tidelog.plans.tree.syntax import Interval, Time


def add(first: Interval, second: Interval) -> Interval:
    """The sums of a distance of each: `[0,1) + [2,3]` is `[2,4)`. On integers all ends must be closed."""
    return Interval(
        first.low + second.low,
        first.high + second.high,
        first.left_open or second.left_open,
        first.right_open or second.right_open or math.inf in (first.high, second.high),
        span=first.span,
    )


def is_zero(interval: Interval) -> bool:
    """Whether it is `[0,0]`."""
    return interval.low == interval.high == 0


def split_stretch(interval: Interval, is_integer: bool) -> tuple[Interval | None, Interval | None]:
    """The distances at which `since` has no time in between, so that its left side does not matter; and the others.

    On rationals that is the distance 0, on integers 0 and 1: the stretch `(t', t)` is empty.
    """
    if is_integer:
        return _within(interval, Fraction(0), Fraction(1)), _within(interval, Fraction(2), math.inf)
    if interval.low != 0 or interval.left_open:
        return None, interval
    zero = Interval(Fraction(0), Fraction(0), span=interval.span)
    if interval.high == 0:
        return zero, None
    return zero, Interval(Fraction(0), interval.high, True, interval.right_open, span=interval.span)


def _within(interval: Interval, low: Time, high: Time) -> Interval | None:
    """The part of an interval with closed ends that lies in `low … high`."""
    low, high = max(interval.low, low), min(interval.high, high)
    return Interval(low, high, False, high == math.inf, span=interval.span) if low <= high else None


def inside(distance: Fraction, is_integer: bool) -> Interval:
    """The distances strictly between 0 and this one."""
    if is_integer:
        return Interval(Fraction(1), distance - 1)
    return Interval(Fraction(0), distance, True, True)
