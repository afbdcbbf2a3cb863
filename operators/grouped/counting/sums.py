"""Counts, sums, means and deviations: exact, rounded once when they are told.

A number is an integer times a power of two, and so is a float; so a sum is kept as an integer, of units of `2**-scale`, and
does not depend on the order in which numbers come and go. `scale` grows where a finer number comes.
"""

from __future__ import annotations

import math
from typing import Any

from tidelog.operators.grouped.counting.tally import Amount
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import MAX_INTEGER, canonical
from tidelog.plans.tree.syntax import Value

_EXACT = 1 << 53
"""Below it, a float that is whole is exactly the number that was rounded to it, if that was whole."""
_ROOT_BITS = 64
"""How many bits of a root are computed before it is rounded to the 53 of a float."""


class Count(Amount):
    """`count()`: how many time points there are.

    >>> count = Count()
    >>> count.add(None, 2), count.change_rate(None, 1), count.move(3), count.value()
    (None, None, None, 5)
    """

    __slots__ = ("_rate", "_size")

    def __init__(self) -> None:
        self._size = self._rate = 0

    def add(self, value: Value | None, weight: int) -> None:
        self._size += weight

    def change_rate(self, value: Value | None, change: int) -> None:
        self._rate += change

    def move(self, ticks: int) -> None:
        self._size += self._rate * ticks

    def is_steady(self) -> bool:
        return not self._rate

    def value(self) -> Value | None:
        return self._size or None

    def state(self) -> list[Any]:
        return [self._size]

    def load(self, state: list[Any]) -> None:
        (self._size,) = state


class Sum(Amount):
    """`sum(V)`; what `avg(V)` has in common with it.

    >>> total = Sum()
    >>> for number in (0.1, 1e17, 0.2, -1e17):
    ...     total.add(number, 1)
    >>> total.value()
    0.30000000000000004
    """

    __slots__ = ("_rate", "_scale", "_size", "_size_rate", "_total")

    def __init__(self) -> None:
        self._size = self._size_rate = 0
        self._total = self._rate = 0  # in units of 2**-scale
        self._scale = 0

    def _scaled(self, value: Value | None) -> int:
        """A number in units; they are made finer where that takes it."""
        if isinstance(value, int):
            return value << self._scale
        if not isinstance(value, float):
            raise TypeError(f"not a number: {value!r}")
        above, below = value.as_integer_ratio()
        finer = below.bit_length() - 1 - self._scale
        if finer > 0:
            self._refine(finer)
            return above
        return above << -finer

    def _refine(self, bits: int) -> None:
        self._scale += bits
        self._total <<= bits
        self._rate <<= bits

    def add(self, value: Value | None, weight: int) -> None:
        scaled = self._scaled(value)
        self._total += scaled if weight == 1 else scaled * weight
        self._size += weight

    def change_rate(self, value: Value | None, change: int) -> None:
        scaled = self._scaled(value)  # first, since it may change the units
        self._rate += scaled * change
        self._size_rate += change

    def move(self, ticks: int) -> None:
        self._total += self._rate * ticks
        self._size += self._size_rate * ticks

    def is_steady(self) -> bool:
        return not self._rate

    def value(self) -> Value | None:
        return rounded(self._total, 1 << self._scale) if self._size else None

    def state(self) -> list[Any]:
        return [self._size, str(self._total), self._scale]

    def load(self, state: list[Any]) -> None:
        self._size, total, self._scale, *_ = state
        self._total = int(total)


class Mean(Sum):
    """`avg(V)`: over held values, the time-weighted mean."""

    __slots__ = ()

    def is_steady(self) -> bool:
        """Also while what comes and goes has this very mean, such as a value that is held for long."""
        return self._rate * self._size == self._total * self._size_rate

    def value(self) -> Value | None:
        return rounded(self._total, self._size << self._scale) if self._size else None


class Deviation(Sum):
    """`stddev(V)`: the standard deviation of a sample, by n − 1; none of fewer than two.

    >>> deviation = Deviation()
    >>> for number in (2, 4, 4, 4, 5, 5, 7, 9):
    ...     deviation.add(number, 1)
    >>> deviation.value()
    2.138089935299395
    """

    __slots__ = ("_square_rate", "_squares")

    def __init__(self) -> None:
        super().__init__()
        self._squares = self._square_rate = 0  # in units of 4**-scale

    def _refine(self, bits: int) -> None:
        super()._refine(bits)
        self._squares <<= 2 * bits
        self._square_rate <<= 2 * bits

    def add(self, value: Value | None, weight: int) -> None:
        super().add(value, weight)
        scaled = self._scaled(value)
        self._squares += scaled * scaled * weight

    def change_rate(self, value: Value | None, change: int) -> None:
        super().change_rate(value, change)
        scaled = self._scaled(value)
        self._square_rate += scaled * scaled * change

    def move(self, ticks: int) -> None:
        super().move(ticks)
        self._squares += self._square_rate * ticks

    def is_steady(self) -> bool:
        return not (self._rate or self._size_rate or self._square_rate)

    def value(self) -> Value | None:
        size = self._size
        if size < 2:
            return None
        above = size * self._squares - self._total * self._total
        return root(above, size * (size - 1) << 2 * self._scale)

    def state(self) -> list[Any]:
        return [*super().state(), str(self._squares)]

    def load(self, state: list[Any]) -> None:
        super().load(state)
        self._squares = int(state[-1])


def rounded(above: int, below: int) -> Value:
    """A fraction as a value: itself where it is whole and fits into 64 bits, else the nearest float.

    DataError beyond all floats.

    >>> rounded(6, 3), rounded(1, 3), rounded((1 << 62) + 1, 1)
    (2, 0.3333333333333333, 4611686018427387905)
    """
    if below == 1 and -MAX_INTEGER < above < MAX_INTEGER:
        return above
    try:
        nearest = above / below
    except OverflowError:
        raise DataError("a number must not be larger than a float can be") from None
    if -_EXACT < nearest < _EXACT:
        return canonical(nearest)
    whole, rest = divmod(above, below)
    return canonical(nearest) if rest or abs(whole) >= MAX_INTEGER else whole


def root(above: int, below: int) -> Value:
    """The square root of a fraction that is not negative, rounded once.

    >>> root(9, 4), root(4, 1), root(2, 1), root(0, 5)
    (1.5, 2, 1.4142135623730951, 0)
    """
    if not above:
        return 0
    shift = max(0, 2 * _ROOT_BITS - above.bit_length() + below.bit_length() + 1) // 2
    square, rest = divmod(above << 2 * shift, below)
    found = math.isqrt(square)
    if found * found != square or rest:
        found = found << 1 | 1  # a bit behind the last says that the root is not exact, so that it rounds rightly
        shift += 1
    return rounded(found, 1 << shift)
