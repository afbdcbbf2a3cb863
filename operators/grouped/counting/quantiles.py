"""Quantiles: numbers in order, each with its weight, so that the number at any place is found without going through all."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any

from tidelog.operators.grouped.counting.sums import rounded
from tidelog.operators.grouped.counting.tally import Amount
from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.tree.syntax import Value


class Weights:
    """Numbers with their weights, in blocks of neighbours.

    >>> weights = Weights()
    >>> for number, weight in ((5, 2), (1, 1), (9, 3)):
    ...     weights.add(number, weight)
    >>> [weights.at(place) for place in range(6)]
    [1, 5, 5, 9, 9, 9]
    """

    __slots__ = ("_blocks", "_lasts", "size")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._lasts: list[float] = []  # the largest number of each block
        self.size = 0

    def add(self, number: float, weight: int) -> None:
        """Change a number's weight; one whose weight is 0 goes."""
        self.size += weight
        if not self._blocks:
            self._blocks, self._lasts = [_Block([number], [weight])], [number]
            return
        place = min(bisect_left(self._lasts, number), len(self._lasts) - 1)
        block = self._blocks[place]
        block.add(number, weight)
        if not block.numbers:
            del self._blocks[place], self._lasts[place]
            return
        self._lasts[place] = block.numbers[-1]
        if len(block.numbers) > LIMITS.block:
            self._blocks.insert(place + 1, block.cut())
            self._lasts[place] = block.numbers[-1]
            self._lasts.insert(place + 1, self._blocks[place + 1].numbers[-1])

    def at(self, place: int) -> float:
        """The number at a place, counted from 0."""
        for block in self._blocks:
            if place < block.total:
                return block.at(place)
            place -= block.total
        raise IndexError(place)

    def pairs(self) -> Iterator[tuple[float, int]]:
        """Each number with its weight, in order."""
        for block in self._blocks:
            yield from zip(block.numbers, block.weights, strict=True)

    def has_one(self) -> bool:
        """Whether there is one number alone."""
        return len(self._blocks) == 1 and len(self._blocks[0].numbers) == 1


class _Block:
    __slots__ = ("_sums", "numbers", "total", "weights")

    def __init__(self, numbers: list[float], weights: list[int]) -> None:
        self.numbers, self.weights = numbers, weights
        self.total = sum(weights)
        self._sums: list[int] = []  # of the weights up to each, until something changes

    def add(self, number: float, weight: int) -> None:
        place = bisect_left(self.numbers, number)
        if place == len(self.numbers) or self.numbers[place] != number:
            self.numbers.insert(place, number)
            self.weights.insert(place, weight)
        else:
            self.weights[place] += weight
            if not self.weights[place]:
                del self.numbers[place], self.weights[place]
        self.total += weight
        self._sums = []

    def cut(self) -> _Block:
        """Take away the upper half."""
        half = len(self.numbers) // 2
        upper = _Block(self.numbers[half:], self.weights[half:])
        del self.numbers[half:], self.weights[half:]
        self.total, self._sums = sum(self.weights), []
        return upper

    def at(self, place: int) -> float:
        if not self._sums:
            self._sums = list(accumulate(self.weights))
        return self.numbers[bisect_right(self._sums, place)]


class Quantile(Amount):
    """`quantile(Q, V)`: at the place Q·(n−1) of all numbers in order, in proportion between two neighbours.

    >>> median = Quantile(Fraction(1, 2))
    >>> for number in (1, 10, 2, 4):
    ...     median.add(number, 1)
    >>> median.value()
    3
    """

    __slots__ = ("_fraction", "_rates", "_weights")

    def __init__(self, fraction: Fraction) -> None:
        self._fraction = fraction
        self._weights = Weights()
        self._rates: dict[float, int] = defaultdict(int)

    def add(self, value: Value | None, weight: int) -> None:
        self._weights.add(_number(value), weight)

    def change_rate(self, value: Value | None, change: int) -> None:
        number = _number(value)
        self._rates[number] += change
        if not self._rates[number]:
            del self._rates[number]

    def move(self, ticks: int) -> None:
        for number, rate in self._rates.items():
            self._weights.add(number, rate * ticks)

    def is_steady(self) -> bool:
        return not self._rates or (self._weights.has_one() and len(self._rates) == 1)

    def value(self) -> Value | None:
        size = self._weights.size
        if not size:
            return None
        below, rest = divmod(self._fraction.numerator * (size - 1), self._fraction.denominator)
        low = self._weights.at(below)
        if not rest or low == (high := self._weights.at(below + 1)):
            return low
        between = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(rest, self._fraction.denominator)
        return rounded(between.numerator, between.denominator)

    def state(self) -> list[Any]:
        return [list(pair) for pair in self._weights.pairs()]

    def load(self, state: list[Any]) -> None:
        for number, weight in state:
            self._weights.add(number, weight)


def _number(value: Value | None) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    return value
