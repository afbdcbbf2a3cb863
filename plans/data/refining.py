"""Exact times where data may be finer than the program: how fine they are is found out, and what was read is encoded anew.

A stream refuses a time finer than its resolution, since what has been answered cannot be encoded anew. Batch commands have
all facts before they derive anything, so they take the resolution that the facts need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from tidelog.plans.data.timeline import NEG, POS, Timeline, format_time
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import shorten

T = TypeVar("T")


@dataclass(frozen=True)
class RefiningTimeline(Timeline):
    """A timeline that notes how fine the times are that it is given, in place of refusing them.

    Where `is_too_coarse`, what has been encoded since the last refinement means nothing: read it again with `refined()`.
    """

    _noted: list[Fraction] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, timeline: Timeline) -> RefiningTimeline:
        """The timeline that begins with the resolution of this one."""
        return cls(timeline.kind, timeline.resolution, timeline.unit, timeline.rounding)

    @property
    def is_too_coarse(self) -> bool:
        """Whether a time was finer than the resolution."""
        return bool(self._noted)

    def refined(self) -> RefiningTimeline:
        """The timeline whose resolution all times need that this one was given."""
        return RefiningTimeline(self.kind, self._finest, self.unit, self.rounding)

    @property
    def _finest(self) -> Fraction:
        return self._noted[0] if self._noted else self.resolution

    def encode_point(self, time: Fraction) -> int:
        """The integer for a finite time, or 0, with a note, where it is too fine; DataError where it cannot be held."""
        try:
            return super().encode_point(time)
        except DataError as error:
            if self.is_integer:
                raise
            if (time / self.resolution).denominator == 1:
                resolution = shorten(format_time(self.resolution))
                raise DataError(f"{error.reason} at the resolution {resolution}") from None
        self._noted[:] = [common_divisor(self._finest, time)]
        return 0


def read_exactly(timeline: Timeline, read: Callable[[Timeline], T]) -> tuple[T, Timeline]:
    """What `read` reads with the timeline, or with the coarsest finer one on which it is exact; and that timeline.

    DataError, from `read`, for what cannot be read at all.

    >>> from tidelog.plans.data.times import TimeReader
    >>> read_exactly(Timeline(), lambda timeline: TimeReader(timeline).read_point("3/2"))
    (6, Timeline(kind='rational', resolution=Fraction(1, 2), unit=None, rounding=None))
    """
    refining = RefiningTimeline.of(timeline)
    while True:
        try:
            result = read(refining)
        except DataError:
            if not refining.is_too_coarse:
                raise
        else:
            if not refining.is_too_coarse:
                return result, replace(timeline, resolution=refining.resolution)
        refining = refining.refined()


def common_divisor(a: Fraction, b: Fraction) -> Fraction:
    """The largest number that divides both, so that both are whole multiples of it.

    >>> common_divisor(Fraction(1, 2), Fraction(1, 3))
    Fraction(1, 6)
    """
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def refine_begin(lo: int, factor: int) -> int:
    """The begin of a range on the rational timeline whose ticks are `factor` times as many.

    >>> refine_begin(2, 3), refine_begin(3, 3)  # [1 and (1
    (6, 7)
    """
    return lo if lo == NEG else (lo - 1) * factor + 1 if lo & 1 else lo * factor


def refine_end(hi: int, factor: int) -> int:
    """The end of a range on the rational timeline whose ticks are `factor` times as many.

    >>> refine_end(4, 3), refine_end(3, 3)  # 2] and 2)
    (12, 11)
    """
    return hi if hi == POS else (hi + 1) * factor - 1 if hi & 1 else hi * factor
