"""When a fact was: the time that a message holds, or the moment at which it came."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import msgspec

from tidelog.plans.data.timeline import LIMIT, Timeline
from tidelog.plans.data.times import TimeReader, read_iso
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.numerals import read_fraction, shorten

TimeFormat = Literal["iso", "s", "ms", "us", "ns"]
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MOST = 2**63
"""Below this are the counts that are times."""
NEEDS_UNIT = (
    "a time of day needs to know what a unit of time is: declare one, such as `timeline integer, unit 1 s, round down`"
)


def arrival(timeline: Timeline) -> Callable[[float], int]:
    """A function from seconds since 1970 to the last encoded time that is not after them.

    SpecError where the program declares no unit.
    """
    if timeline.unit is None:
        raise SpecError(NEEDS_UNIT)
    tick = timeline.unit if timeline.is_integer else timeline.unit * timeline.resolution
    scale = 1 if timeline.is_integer else 2
    above, below = tick.denominator, tick.numerator
    if below == 1 and above in (1, 10, 100, 1000):  # as good as exact: clocks are no better than microseconds
        return lambda seconds: math.floor(round(seconds * 1_000_000) * above / 1_000_000) * scale
    return lambda seconds: math.floor(Fraction(round(seconds * 1_000_000), 1_000_000) / tick) * scale


def written(timeline: Timeline, format: TimeFormat) -> Callable[[object], int]:
    """A function that reads a time as a device writes it, and gives the encoded time; it raises DataError for anything else.
    SpecError as for `arrival`."""
    if timeline.unit is None:
        raise SpecError(NEEDS_UNIT)
    unit, encode = timeline.unit, TimeReader(timeline).encode
    if format == "iso":

        def read_text(value: object) -> int:
            if not isinstance(value, str):
                raise DataError(f"expected a time such as 2026-11-02T03:12:00Z, got {_shown(value)}")
            return encode(read_iso(value.strip()) / unit)

        return read_text
    per_unit = _PER_SECOND[format] * unit
    above, below = per_unit.denominator, per_unit.numerator
    is_simple = timeline.is_integer and timeline.rounding in (None, "down")
    rounds = timeline.rounding is not None

    def read_count(value: object) -> int:
        if is_simple and value.__class__ is int and -_MOST < value < _MOST:
            point, finer = divmod(value * above, below)
            if (rounds or not finer) and -LIMIT <= point <= LIMIT:
                return point
        return encode(_count(value, format) / per_unit)

    return read_count


def _count(value: object, format: str) -> Fraction:
    """A number of seconds, or of parts of one, exactly as it is written."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST:
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value) and abs(value) < _MOST:
        return Fraction(Decimal(repr(value)))
    if isinstance(value, str):
        return read_fraction(value.strip())
    raise DataError(f"expected a time in {format} since 1970, got {_shown(value)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else shorten(msgspec.json.encode(value).decode())
