"""Exact times as text, and what they are to compute with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.runtime.frames.exact import microseconds, within_years


def has_dates(schemas: Sequence[OutboxSchema]) -> bool:
    """Whether times are dates: every program says how long a unit is."""
    return all(schema.unit is not None for schema in schemas)


class TimeColumn:
    """From exact times as text to values to compute with: floats, or microseconds since 1970.

    What is beyond the years 1 to 9999 has no date, and what is finer than a microsecond is cut.
    """

    def __init__(self, unit: str | None, dates: bool) -> None:
        self._unit = Fraction(unit) if dates and unit is not None else None

    def value(self, text: str | None) -> float | int | None:
        if text is None:
            return None
        return self.of(exact(text))

    def of(self, number: int | Fraction) -> float | int | None:
        """The value of an exact time."""
        unit = self._unit
        if unit is None:
            return float(number)
        if isinstance(number, int) and unit.denominator == 1:  # as most are, and ten times as fast
            return within_years(number * unit.numerator * 1_000_000)
        return microseconds(number * unit)


def exact(text: str) -> int | Fraction:
    """A time of an outbox as a number."""
    return Fraction(text) if "/" in text else int(text)
