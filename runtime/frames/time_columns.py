"""Columns of times as arrays of encoded points, by integer arithmetic on whole columns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tidelog.operators.columns.arrays import Array, np
from tidelog.plans.data.foreign_times import PARTS
from tidelog.plans.data.timeline import LIMIT
from tidelog.plans.tree.numerals import EXACT_FLOAT
from tidelog.runtime.frames.arrow import pa, plain
from tidelog.runtime.frames.times import PointReader, parts_of
from tidelog.runtime.frames.value_columns import without_nulls
from tidelog.runtime.frames.values import Problems

_ONE = Fraction(1)
_MICROSECOND = Fraction(1, 10**6)


class PointColumn:
    """Reads the column of one time as `PointReader` does."""

    def __init__(self, reader: PointReader) -> None:
        self._reader = reader
        self._timeline = reader.timeline
        self._step = 1 if reader.timeline.is_integer else 2
        self._ticks = reader.ticks

    def read(self, array: Any, problems: Problems) -> Array:
        """The points of a column; 0 where it has a null, which is for the caller to tell, and in rows with `problems`."""
        array = plain(array)
        found = self._at_once(array) if len(array) else None
        return np.array(self._reader.read(array, problems), np.int64) if found is None else found

    def of_whole(self, numbers: Array) -> Array | None:
        """The points of times that are whole numbers; None, here and below, where one has to be looked at by itself."""
        return self._scaled(numbers, _ONE)

    def of_decimals(self, numbers: Array) -> Array | None:
        """The points of times that are the shortest decimals of these floats."""
        return self._decimals(numbers)

    def of_microseconds(self, numbers: Array) -> Array | None:
        """The points of so many microseconds since 1970."""
        unit = self._timeline.unit
        return None if unit is None else self._scaled(numbers, _MICROSECOND / unit)

    def of_parts(self, numbers: Array, parts: int) -> Array | None:
        """The points of so many parts of a second since 1970."""
        unit = self._timeline.unit
        return None if unit is None else self._scaled(numbers, Fraction(1, parts) / unit)

    def _whole(self, numbers: Array) -> Array | None:
        """The points of numbers, which count time units, or parts of a second since 1970."""
        epoch = self._reader.dialect.epoch
        return self.of_whole(numbers) if epoch is None else self.of_parts(numbers, PARTS[epoch])

    def _at_once(self, array: Any) -> Array | None:
        """The points, with 0 in the place of nulls; None where one of them has to be looked at by itself."""
        if pa.types.is_null(array.type) or pa.types.is_dictionary(array.type):
            return None
        match self._reader.kind:
            case "timestamp" if self._reader.dialect.zone is None or getattr(array.type, "tz", None):
                second = 1 / parts_of(array.type)
                array = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
                return self._scaled(without_nulls(array.cast(pa.int64())), second / (self._timeline.unit or _ONE))
            case "integer" if self._reader.dialect.format is None:
                return self._whole(without_nulls(array))
            case "float" if not self._reader.dialect.times_differ:
                return self._decimals(without_nulls(array.cast(pa.float64())))
            case _:
                return None

    def _scaled(self, numbers: Array, time: Fraction) -> Array | None:
        """Points of numbers, each of which stands for so much time."""
        most = max(-int(numbers.min()), int(numbers.max()))
        above, below = (time * self._ticks).as_integer_ratio()
        if max(most, below) > LIMIT:
            return None
        numbers = numbers.astype(np.int64, copy=False)
        whole = numbers // below if below > 1 else numbers
        if below > 1 and (whole * below != numbers).any():
            return self._rounded(numbers, most, time)
        return self._encoded(whole, above, most // below)

    def _rounded(self, numbers: Array, most: int, time: Fraction) -> Array | None:
        """The same, rounded to ticks as the program says."""
        above, below = time.as_integer_ratio()
        if self._ticks != 1 or 2 * most * above + below > LIMIT:
            return None
        match self._timeline.rounding:
            case "down":
                whole = numbers * above // below
            case "up":
                whole = -(-numbers * above // below)
            case "nearest":
                whole = (2 * above * numbers + below) // (2 * below)
            case _:
                return None
        return self._encoded(whole, 1, most * above // below + 1)

    def _encoded(self, whole: Array, ticks: int, most: int) -> Array | None:
        """The points of whole numbers up to this one, each of which is so many ticks."""
        scale = ticks * self._step
        if most * scale > LIMIT:
            return None
        return whole * scale if scale > 1 else whole

    def _decimals(self, numbers: Array) -> Array | None:
        """Points of floats, each of which stands for its shortest decimal; `PointReader` says why this is one."""
        ticks, below = self._ticks.as_integer_ratio()
        if below != 1 or str(ticks).rstrip("0") != "1" or ticks >= EXACT_FLOAT or not np.isfinite(numbers).all():
            return None
        if math.ulp(max(-float(numbers.min()), float(numbers.max()))) * ticks >= 1:
            return None
        counts = np.rint(numbers * ticks)
        if (counts / ticks != numbers).any():
            return None
        return self._encoded(counts.astype(np.int64), 1, EXACT_FLOAT)
