"""Times as others write them: of a format, counted since 1970, with the clock of a zone, with a decimal comma."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from tidelog.plans.data.dialect import Dialect
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.data.times import TimeLike, TimeReader, read_iso
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.numerals import read_fraction, shorten

PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of what a number counts are a second."""
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt ][\d:.]*)?\Z", re.ASCII)
"""A time of ISO-8601 without an offset from UTC, if it is one."""
_BLOCK = 900
"""A clock is not set within so many seconds if it is as far ahead of UTC where they begin and where they end."""
_MOST_BLOCKS = 4096
_INFINITE = ("inf", "+inf", "-inf")
_BEGIN = datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows, wherever it hangs


class ForeignTimes(TimeReader):
    """Reads the times of a dialect.

    A time without an offset from UTC is what a clock of the zone shows. Where that comes twice, as the clock is set back, it
    is the first of the two. Where it never comes, as the clock is set forward, it is refused. SpecError where the dialect
    needs a unit and the program has none.
    """

    def __init__(self, timeline: Timeline, dialect: Dialect) -> None:
        super().__init__(timeline)
        option = "format" if dialect.format else "epoch" if dialect.epoch else "zone" if dialect.zone else ""
        if option and timeline.unit is None:
            raise SpecError(f"`{option}=` needs a unit: declare one, such as `timeline integer, unit 1 s`")
        self._format = dialect.time_format()
        self._parts = PARTS[dialect.epoch] if dialect.epoch else 0
        self._has_comma = dialect.decimal == ","
        self._zone_name = dialect.zone or ""
        self._zone = ZoneInfo(dialect.zone) if dialect.zone else None
        self._steady: dict[int, int | None] = {}

    def read_point(self, text: str) -> int:
        text = text.strip()
        if not text:
            raise DataError("a time is missing")
        if self._format is not None:
            whole, rest, offset = self._format.read(text)
            return self._encode(self._shown(whole, text) + rest if offset is None else whole - offset + rest, text)
        if self._has_comma:
            if "." in text:
                raise DataError(f"time `{shorten(text)}` has a point, where a comma stands before decimals")
            text = text.replace(",", ".")
        if self._parts:
            return self._encode(read_fraction(text) / self._parts, text)
        if self._zone is not None and _LOCAL.match(text):
            time = read_iso(text)
            whole = time.numerator // time.denominator
            return self._encode(self._shown(whole, text) + time - whole, text)
        return super().read_point(text)

    def read_ends(self, low: str, high: str) -> tuple[int, int]:
        ends = [
            (NEG if end.strip()[0] == "-" else POS) if end.strip().lower() in _INFINITE else self.read_point(end)
            for end in (low, high)
        ]
        if ends[0] > ends[1] or ends[0] == POS or ends[1] == NEG:
            raise DataError(f"interval [{shorten(low)},{shorten(high)}] is empty")
        return ends[0], ends[1]

    def of_clock(self, time: Fraction) -> int:
        """The point at which a clock of the zone shows so many seconds since 1970."""
        whole = time.numerator // time.denominator
        try:
            shown = (_BEGIN + timedelta(seconds=whole)).isoformat()
        except OverflowError:
            raise DataError(f"time {whole} s since 1970 is not in the years 1 to 9999") from None
        return self._encode(self._shown(whole, shown) + time - whole, shown)

    def of_epoch(self, number: TimeLike) -> int:
        """The point of what a number counts since 1970."""
        return self._encode(self._exact(number) / self._parts, str(number))

    def _encode(self, seconds: Fraction | int, text: str) -> int:
        unit = self._unit(text)
        above, below = seconds.numerator * unit.denominator, seconds.denominator * unit.numerator
        point = self._point_of_ratio(above, below)
        if point is not None:
            return point
        time = Fraction(above, below)
        if self._timeline.is_integer and time.denominator != 1 and self._timeline.rounding is None:
            raise DataError(f"time `{shorten(text)}` is no whole number of units of {unit} s since 1970")
        return self.encode(time)

    def _shown(self, seconds: int, text: str) -> int:
        """The seconds since 1970 at which a clock of the zone shows this; the first of two, DataError for none."""
        if self._zone is None:
            return seconds
        block = seconds // _BLOCK
        if block not in self._steady:
            if len(self._steady) >= _MOST_BLOCKS:
                self._steady.clear()
            ends = {offset for at in (0, _BLOCK - 1) for offset in _offsets(block * _BLOCK + at, self._zone)}
            self._steady[block] = ends.pop() if len(ends) == 1 else None
        offset = self._steady[block]
        if offset is not None:
            return seconds - offset
        first, last = _offsets(seconds, self._zone)
        if first < last:  # as `fold` has it (PEP 495)
            raise DataError(f"time `{shorten(text)}` does not exist in {self._zone_name}: the clock is set forward over it")
        return seconds - first


def _offsets(seconds: int, zone: ZoneInfo) -> tuple[int, int]:
    """How many seconds a clock that shows this is ahead of UTC, for the first and for the second time that it shows it."""
    shown = (_BEGIN + timedelta(seconds=seconds)).replace(tzinfo=zone)
    first, last = (shown.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    return int(first.total_seconds()), int(last.total_seconds())


def make_reader(timeline: Timeline, dialect: Dialect) -> TimeReader:
    """What reads the times of a dialect."""
    return ForeignTimes(timeline, dialect) if dialect.times_differ else TimeReader(timeline)
