"""Times out of Arrow columns: as encoded points of a timeline, a whole column at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import as_text
from tidelog.plans.data.foreign_times import PARTS, ForeignTimes
from tidelog.plans.data.intervals import Range
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.arrow import pa, pc, plain, values_of
from tidelog.runtime.frames.layout import TimeKind
from tidelog.runtime.frames.values import Problems

MAX_RANGES = 65_536
"""How many exact intervals are remembered."""
_DAY = 86_400
_INFINITE = {NEG: ("-inf",), POS: ("inf", "+inf")}


class PointReader:
    """Reads the column of one time. What is finer than the timeline is rounded as it says, or told with its row.

    `endless`, of the begin or the end of an interval, is `NEG` or `POS`: what `-inf` or `inf` then is.
    """

    def __init__(
        self, timeline: Timeline, name: str, kind: TimeKind, endless: int | None = None, dialect: Dialect = OURS
    ) -> None:
        self.timeline, self.kind, self._name, self.dialect = timeline, kind, name, dialect
        self._endless = endless
        self._infinity = math.nan if endless is None else math.copysign(math.inf, endless)
        self._foreign = ForeignTimes(timeline, dialect) if dialect.times_differ else None
        self._reader = self._foreign or TimeReader(timeline)
        self.ticks = Fraction(1) if timeline.is_integer else 1 / timeline.resolution

    def read(self, array: Any, problems: Problems) -> list[int]:
        """The points of a column; 0 where it has a null, which is for the caller to tell, and in rows with `problems`."""
        array = plain(array)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_null(array.type):
            return [0] * len(array)
        if self.kind == "timestamp":
            return self._timestamps(array, problems)
        if self._foreign is not None and self.kind != "text":
            return self._foreign_numbers(self._foreign, array, problems)
        if self.kind == "integer":
            return self._scaled(array.to_pylist(), self.ticks, Fraction, problems)
        if self.kind == "float":
            return self._floats(array.cast(pa.float64()), problems)
        return self._each(values_of(array), self._text if self.kind == "text" else self._reader.point, problems)

    def _text(self, text: str | bytes) -> int:
        text = as_text(text)
        if self._endless is not None and text.strip().lower() in _INFINITE[self._endless]:
            return self._endless
        return self._reader.read_point(text)

    def _foreign_numbers(self, times: ForeignTimes, array: Any, problems: Problems) -> list[int]:
        """Points of numbers that count since 1970, or whose digits are of a format."""
        if self.dialect.format is not None:
            return self._each(array.to_pylist(), lambda number: times.read_point(str(number)), problems)
        if self.dialect.epoch is None:
            return self._each(array.to_pylist(), times.point, problems)
        return self._each(array.to_pylist(), times.of_epoch, problems)

    def _timestamps(self, array: Any, problems: Problems) -> list[int]:
        parts = parts_of(array.type)
        if pa.types.is_date32(array.type):
            array = array.cast(pa.int32())
        seconds = Fraction(1) / parts
        unit = self.timeline.unit or Fraction(1)
        zone = getattr(array.type, "tz", None)
        numbers = array.cast(pa.int64()).to_pylist()
        if self._foreign is not None and zone is None:
            clock = self._foreign.of_clock
            return self._each(numbers, lambda number: clock(number * seconds), problems)
        return self._scaled(numbers, seconds / unit * self.ticks, lambda number: number * seconds / unit, problems)

    def _scaled(
        self, numbers: Sequence[int | None], ticks: Fraction, exact: Callable[[int], Fraction], problems: Problems
    ) -> list[int]:
        """Points of numbers that are so many ticks each; `exact` is the time of one that is no whole number of them."""
        above, below = ticks.numerator * (1 if self.timeline.is_integer else 2), ticks.denominator
        present = [number or 0 for number in numbers]
        is_whole = below == 1 or not any(number * ticks.numerator % below for number in present)
        if is_whole and max(map(abs, present), default=0) * above <= LIMIT * below:
            return [number * above // below for number in present]
        return self._each(numbers, lambda number: self._reader.encode(Fraction(exact(number))), problems)

    def _floats(self, array: Any, problems: Problems) -> list[int]:
        """Points of floats, each of which stands for its shortest decimal."""
        values: list[float | None] = array.to_pylist()
        endless = []
        for i in pc.indices_nonzero(pc.invert(pc.is_finite(array)).fill_null(False)).to_pylist():
            if values[i] == self._infinity:
                endless.append(i)
            else:
                problems.setdefault(i, f"`{self._name}` is {values[i]}: a single time must be finite")
            values[i] = None
        points = self._decimals([0.0 if value is None else value for value in values] if None in values else values)
        if points is None:
            points = self._each(values, self._reader.point, problems)
        for i in endless:
            points[i] = self._endless or 0
        return points

    def _decimals(self, values: Sequence[Any]) -> list[int] | None:
        """Points of floats where all are decimals with as many places as the resolution has; None where one is not.

        A float stands for its shortest decimal. Where floats lie closer than the resolution, one decimal at most with so
        many places is rounded to this float, so it is the shortest.
        """
        ticks = self.ticks.numerator
        if not values or self.ticks.denominator != 1 or str(ticks).rstrip("0") != "1":
            return None
        if math.ulp(max(map(abs, values))) * ticks >= 1:
            return None
        counts = [round(value * ticks) for value in values]
        if any(count / ticks != value for count, value in zip(counts, values, strict=True)):
            return None
        return counts if self.timeline.is_integer else [2 * count for count in counts]

    def _each(self, values: Sequence[Any], read: Callable[[Any], int], problems: Problems) -> list[int]:
        found: list[int] = []
        known: dict[Any, int] = {}
        for i, value in enumerate(values):
            point = known.get(value)
            if point is None and value is not None:
                try:
                    point = known[value] = read(value)
                except DataError as error:
                    problems.setdefault(i, f"`{self._name}`: {error.reason}")
            found.append(point or 0)
        return found


class ExactTimes:
    """Reads the intervals of stored facts: exact times as text, in a unit that is `scale` units of the timeline."""

    def __init__(self, timeline: Timeline, scale: Fraction = Fraction(1)) -> None:
        self._reader = TimeReader(timeline)
        self._scale = scale
        self._known: dict[tuple[Any, ...], Range] = {}

    def read(self, *columns: Any) -> Range:
        """The range of what stands in the columns `EXACT`; DataError where that is no interval."""
        found = self._known.get(columns)
        if found is None:
            if len(self._known) >= MAX_RANGES:
                self._known.clear()
            found = self._known[columns] = self._read(*columns)
        return found

    def _read(
        self, start: str | bytes | None, end: str | bytes | None, start_open: bool | None, end_open: bool | None
    ) -> Range:
        if start_open is None or end_open is None:
            raise DataError(f"`{'start_open' if start_open is None else 'end_open'}` is null")
        low = "-inf" if start is None else self._scaled(as_text(start))
        high = "inf" if end is None else self._scaled(as_text(end))
        return self._reader.read_interval(f"{'(' if start_open else '['}{low},{high}{')' if end_open else ']'}")

    def _scaled(self, text: str) -> str:
        return text if self._scale == 1 else str(Fraction(text) * self._scale)


def parts_of(kind: Any) -> Fraction:
    """How many of what a column of dates or timestamps counts are a second."""
    if pa.types.is_date32(kind):
        return Fraction(1, _DAY)
    return Fraction(1000 if pa.types.is_date64(kind) else PARTS[kind.unit])
