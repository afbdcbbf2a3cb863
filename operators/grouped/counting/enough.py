"""Enough: whether what is in a window weighs as much as it has to."""

from __future__ import annotations

from fractions import Fraction

from tidelog.operators.grouped.counting.tally import Flow
from tidelog.plans.data.timeline import POS
from tidelog.plans.tree.syntax import Value


class Enough(Flow):
    """`count() … >= k`, and `sum(V) … >= c` where V is not below 0: 1 where it is so. More than that, if `is_strict`.

    The weight changes by as much at each tick, so it is known when it will be enough, or no longer, if nothing else happens.

    >>> enough = Enough(Fraction(5))
    >>> enough.change_rate(None, 2), enough.move(1), enough.value(), enough.lasts()
    (None, None, None, 1)
    >>> enough.move(2), enough.value(), enough.lasts() == POS
    (None, 1, True)
    """

    __slots__ = ("_excess", "_is_strict", "_rate")

    def __init__(self, least: Fraction, is_strict: bool = False) -> None:
        self._excess: int | Fraction = -(int(least) if least.denominator == 1 else least)
        self._rate: int | Fraction = 0
        self._is_strict = is_strict

    def add(self, value: Value | None, weight: int) -> None:
        self._excess += weight_of(value) * weight

    def change_rate(self, value: Value | None, change: int) -> None:
        self._rate += weight_of(value) * change

    def move(self, ticks: int) -> None:
        self._excess += self._rate * ticks

    def is_steady(self) -> bool:
        return not self._rate

    def lasts(self) -> int:
        excess, rate, is_enough = self._excess, self._rate, self._is_enough()
        if not rate or is_enough == (rate > 0):
            return POS
        ticks = int(-excess // rate)
        is_there = is_enough == self._is_strict  # the value changes where nothing is left, or missing, and not behind
        return ticks - 1 if is_there and excess + rate * ticks == 0 else ticks

    def _is_enough(self) -> bool:
        return self._excess > 0 if self._is_strict else self._excess >= 0

    def value(self) -> Value | None:
        return 1 if self._is_enough() else None


def weight_of(value: Value | None) -> int | Fraction:
    """What a time point weighs: 1 where they are counted."""
    if value is None:
        return 1
    if isinstance(value, str):
        raise TypeError(f"not a number: {value!r}")
    return max(0, value if isinstance(value, int) else Fraction(value))
