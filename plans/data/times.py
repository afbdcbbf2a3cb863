"""Times as data writes them, to the integers of a timeline: numbers, fractions, units, ISO-8601, intervals."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import SupportsFloat

from tidelog.plans.data.timeline import LIMIT, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.literals import UNIT_SECONDS
from tidelog.plans.tree.numerals import exact_number, read_fraction, shorten
from tidelog.plans.tree.syntax import Interval, Time

EPOCH = date(1970, 1, 1).toordinal()
"""The day that ISO-8601 times are counted from."""
_MIDNIGHT = datetime.fromisoformat("1970-01-01")
"""The same as a `datetime` without a time zone."""

TimeLike = int | float | Fraction | Decimal | str | datetime | SupportsFloat
"""A time as callers give it: a number (a float stands for its shortest decimal), text as in data (`5/2`, ISO-8601), or,
where a unit is declared, a `datetime` (UTC where it has no time zone)."""

ENDLESS = 2 * POS
"""An encoded duration that is longer than any two times lie apart."""

_INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,18}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?\Z",
    re.ASCII,
)
_QUANTITY = re.compile(r"([+-]?\d[^\s]*?)\s*([A-Za-z]+)\Z", re.ASCII)
_PLAIN_RANGE = re.compile(r"([\[(])(\d{1,15}),(\d{1,15})([\])])\Z", re.ASCII)


class TimeReader:
    """Reads the times of one timeline; every method raises DataError for what it cannot read or represent."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        ticks = Fraction(1) if timeline.is_integer else 2 / timeline.resolution
        # What a whole number is multiplied with, where that is all there is to do.
        whole = ticks.denominator == 1 and (timeline.is_integer or ticks.numerator % 2 == 0)
        self._scale = ticks.numerator if whole else 0
        self._tick = Fraction(1) if timeline.is_integer else timeline.resolution
        microseconds = (timeline.unit or 0) * 10**6
        self._unit_length = microseconds.numerator if microseconds.denominator == 1 else 0

    @property
    def whole(self) -> tuple[int, int]:
        """What encodes a whole number by multiplication, and up to which one it does; no number where none is so easy."""
        return self._scale, LIMIT // self._scale if self._scale else -1

    def read(self, text: str) -> tuple[int, int]:
        """The closed range of a time or an interval: `17`, `5/2`, `2010-07-01T00:00Z`, `[1,2)`."""
        if text[:1] in ("[", "("):
            return self.read_interval(text)
        point = self.read_point(text)
        return point, point

    def read_point(self, text: str) -> int:
        """The encoded point of one finite time."""
        if self._scale and text.isascii() and text.isdigit() and len(text) <= 18:
            point = int(text) * self._scale
            if point <= LIMIT:
                return point
        usual = self._usual_point(text)
        return self.encode(self._finite(text.strip())) if usual is None else usual

    def _usual_point(self, text: str) -> int | None:
        """The point of a time as it mostly is written, `2010-07-01T00:00:00.250Z` or `1.25`; None for any other."""
        if text[4:5] == "-":
            above, below = _microseconds(text) if self._unit_length else None, self._unit_length
        else:
            whole, _, decimals = text.partition(".")
            digits = whole + decimals
            is_decimal = whole and decimals and len(digits) <= 18 and digits.isascii() and digits.isdigit()
            above, below = int(digits) if is_decimal else None, 10 ** len(decimals)
        return None if above is None else self._point_of_ratio(above, below)

    def _point_of_ratio(self, above: int, below: int) -> int | None:
        """What `encode` gives for `above / below`; None where it gives none."""
        rounding = self._timeline.rounding
        if rounding is not None:
            whole, rest = divmod(above, below)
            goes_up = rest > 0 if rounding == "up" else rounding == "nearest" and 2 * rest >= below
            above, below = whole + goes_up, 1
        ticks, rest = divmod(above * self._tick.denominator, below * self._tick.numerator)
        point = ticks if self._timeline.is_integer else 2 * ticks
        return None if rest or not -LIMIT <= point <= LIMIT else point

    def read_whole(self, time: int) -> int:
        """The encoded point of a whole number of time units."""
        point = time * self._scale
        return point if self._scale and 0 <= point <= LIMIT else self.read_point(str(time))

    def encode(self, time: Fraction) -> int:
        """The encoded point of an exact time in data, rounded as the program says."""
        return self._timeline.encode_point(self._timeline.rounded(time))

    def point(self, time: TimeLike) -> int:
        """The encoded point of a time as callers give it; TypeError for what is none."""
        if type(time) is int and self._scale:
            point = time * self._scale
            if -LIMIT <= point <= LIMIT:
                return point
        return self.read_point(time) if isinstance(time, str) else self.encode(self._exact(time))

    def promise(self, time: TimeLike) -> int:
        """The last encoded point at which no fact can begin any more, once all later ones come after this time.

        Where times are rounded, a later one may be rounded to the same tick.
        """
        exact = self._exact(time)
        point = self.encode(exact)
        rounding = self._timeline.rounding
        return point if rounding is None or (rounding == "up" and exact.denominator == 1) else point - 1

    def last(self, time: TimeLike) -> int:
        """The encoded last point that is not after a time. Where the program rounds, a time between two ticks gives the
        earlier one."""
        exact = self._exact(time)
        return self._timeline.encode_point(exact if self._timeline.rounding is None else Fraction(math.floor(exact)))

    def duration(self, length: TimeLike | timedelta) -> int:
        """The encoded length of a duration of 0 or more: a number or `math.inf`, text (`5`, `2 min`), a `timedelta`."""
        if isinstance(length, float) and length == math.inf:
            return ENDLESS
        return self._timeline.encode_point(self.length(length))

    def length(self, length: TimeLike | timedelta) -> Fraction:
        """The exact length, in the timeline's numbers, of a finite duration of 0 or more, however fine."""
        if isinstance(length, timedelta):
            exact = Fraction(length // timedelta(microseconds=1), 10**6) / self._unit(f"{length}")
        elif isinstance(length, datetime) or (isinstance(length, str) and _ISO.match(length.strip())):
            raise DataError(f"expected a duration, got the time `{length}`")
        else:
            exact = self._exact(length)
        if exact < 0:
            raise DataError("expected a duration of 0 or more")
        return exact

    def _exact(self, time: TimeLike) -> Fraction:
        """The exact value of a time as callers give it."""
        if isinstance(time, str):
            return self._finite(time.strip())
        if isinstance(time, datetime):
            utc = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
            return self._finite(utc.isoformat())
        if isinstance(time, Decimal):
            return self._finite(str(time))
        exact = exact_number(time)
        if exact is not None:
            return exact
        if isinstance(time, Real) and not isinstance(time, Rational):
            return self._finite(repr(float(time)))
        raise TypeError(f"a time is a number, text or a datetime, got {type(time).__name__}")

    def read_ends(self, low: str, high: str) -> tuple[int, int]:
        """The closed range from one time to another, either of which may be infinite."""
        return self.read_interval(f"[{low},{high}]")

    def read_interval(self, text: str) -> tuple[int, int]:
        """The closed range of `[1,5/2)`, `(-inf,3]`."""
        plain = _PLAIN_RANGE.match(text)
        if plain and self._scale:
            lo = int(plain[2]) * self._scale + (plain[1] == "(")
            hi = int(plain[3]) * self._scale - (plain[4] == ")")
            if lo <= hi <= LIMIT:
                return lo, hi
        interval = self._interval(text.strip())
        if self._timeline.rounding is not None:
            return self._read_rounded(interval)
        return self._timeline.encode_interval(interval)

    def _read_rounded(self, interval: Interval) -> tuple[int, int]:
        """The range of an interval whose ends are rounded alike, so that what touches goes on touching."""
        low, high = self._rounded_end(interval.low), self._rounded_end(interval.high)
        try:
            return self._timeline.encode_interval(replace(interval, low=low, high=high))
        except DataError as error:
            if (low, high) == (interval.low, interval.high):
                raise
            way = "to the nearest tick" if self._timeline.rounding == "nearest" else self._timeline.rounding
            raise DataError(f"`{interval}` rounded {way}: {error.reason}") from None

    def _rounded_end(self, time: Time) -> Time:
        return time if isinstance(time, float) else self._timeline.rounded(time)

    def _interval(self, text: str) -> Interval:
        low, comma, high = text[1:-1].partition(",")
        if text[:1] not in ("[", "(") or text[-1:] not in ("]", ")") or not comma or "," in high:
            has_dots = ".." in text or text.endswith(".")
            hint = "; `..` is for the begins that `--emit changes` tells" if has_dots else ""
            raise DataError(f"interval `{shorten(text)}` is not of the form `[1,2)`{hint}")
        return Interval(self._end(low.strip()), self._end(high.strip()), text[0] == "(", text[-1] == ")")

    def _end(self, text: str) -> Time:
        return _INFINITE[text.lower()] if text.lower() in _INFINITE else self._finite(text)

    def _finite(self, text: str) -> Fraction:
        if not text:
            raise DataError("a time is missing")
        if text[4:5] == "-" and text[:4].isdigit():
            return self._iso(text)
        quantity = _QUANTITY.match(text)
        if quantity:
            if quantity[2] not in UNIT_SECONDS:
                raise DataError(f"`{shorten(quantity[2])}` is no unit: {', '.join(UNIT_SECONDS)}")
            return read_fraction(quantity[1]) * UNIT_SECONDS[quantity[2]] / self._unit(text)
        if text.lower() in _INFINITE:
            raise DataError("a single time must be finite")
        if text[0] in "[(":
            raise DataError(f"`{shorten(text)}` is an interval, not a single time")
        if not text[0].isdigit() and text[0] not in "+-":
            raise DataError(f"time `{shorten(text)}` is neither a number, a fraction nor ISO-8601")
        return read_fraction(text)

    def _unit(self, text: str) -> Fraction:
        if self._timeline.unit is None:
            raise DataError(f"time `{shorten(text)}` needs a unit: declare one, such as `timeline integer, unit 1 s`")
        return self._timeline.unit

    def _iso(self, text: str) -> Fraction:
        unit = self._unit(text)
        time = read_iso(text) / unit
        if self._timeline.is_integer and time.denominator != 1 and self._timeline.rounding is None:
            raise DataError(f"time `{shorten(text)}` is no whole number of units of {unit} s since 1970")
        return time


def read_iso(text: str) -> Fraction:
    """The seconds since 1970 of an ISO-8601 date or time, UTC where it names no offset; DataError if it is none.

    >>> read_iso("1970-01-02T00:00:00.5+01:00")
    Fraction(165601, 2)
    """
    match = _ISO.match(text)
    if not match:
        raise DataError(f"time `{shorten(text)}` is not of the form `2010-07-01T00:00:00Z`")
    year, month, day, hour, minute, second, decimals, offset = match.groups("0")
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise DataError(f"time `{shorten(text)}` is no time of a day")
    try:
        days = date(int(year), int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        raise DataError(f"time `{shorten(text)}` is no day of the calendar") from None
    seconds = days * 86400 + int(hour) * 3600 + int(minute) * 60 + int(second) - read_offset(offset, text)
    return seconds + Fraction(int(decimals), 10 ** len(decimals))


def _microseconds(text: str) -> int | None:
    """The microseconds since 1970 of `2010-07-01T00:00:00`, `2010-07-01 00:00:00.250Z` and the like; None for others."""
    text = text.removesuffix("Z")
    is_usual = len(text) == 19 or (len(text) in (23, 26) and text[19] == "." and text[20:].isdigit())
    if not (is_usual and text[7] == "-" and text[10] in "T " and text[13] == text[16] == ":" and text[11:13] != "24"):
        return None
    try:
        since = datetime.fromisoformat(text) - _MIDNIGHT
    except ValueError:
        return None
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def read_offset(text: str, time: str) -> int:
    """The seconds that an offset such as `+02:00` is ahead of UTC."""
    if text in ("0", "Z", "z"):
        return 0
    digits = text[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise DataError(f"time `{shorten(time)}` has no valid offset from UTC")
    return (hours * 3600 + minutes * 60) * (-1 if text[0] == "-" else 1)
