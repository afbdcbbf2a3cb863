"""Times as a format describes them, `%d.%m.%Y %H:%M:%S`: the directives of `strptime`, in English, whatever the locale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

from tidelog.plans.data.times import EPOCH, read_offset
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.numerals import shorten

_CENTURY = 69
"""A year of two digits from this one on is of the last century."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d\d)",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "j": r"(?P<j>\d{1,3})",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d{1,18})",
    "p": r"(?P<p>am|pm)",
    "b": rf"(?P<b>{'|'.join(_MONTHS)})",
    "B": rf"(?P<B>{'|'.join(_LONG_MONTHS)})",
    "a": f"(?:{'|'.join(day[:3] for day in _DAYS)})",
    "A": f"(?:{'|'.join(_DAYS)})",
    "z": r"(?P<z>z|[+-]\d\d(?::?\d\d)?)",
    "%": "%",
}
_SHORTHANDS = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}
_PART = re.compile(r"%(.?)|\s+|[^%\s]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """Reads times of one format."""

    text: str
    pattern: re.Pattern[str]

    def read(self, text: str) -> tuple[int, Fraction | int, int | None]:
        """The whole seconds since 1970 that a time's clock shows, the rest of a second, and its offset from UTC, if it
        tells one; DataError if it is not of the format."""
        match = self.pattern.fullmatch(text)
        if match is None:
            raise DataError(f"time `{shorten(text)}` is not of the format `{self.text}`")
        parts = match.groupdict()
        hour, minute, second = _hour(parts), int(parts.get("M") or 0), int(parts.get("S") or 0)
        if not 0 <= hour <= 23 or minute > 59 or second > 59:
            raise DataError(f"time `{shorten(text)}` is no time of a day")
        try:
            days = _day(parts) - EPOCH
        except ValueError:
            raise DataError(f"time `{shorten(text)}` is no day of the calendar") from None
        decimals, zone = parts.get("f"), parts.get("z")
        offset = None if zone is None else read_offset(zone, text)
        rest = Fraction(int(decimals), 10 ** len(decimals)) if decimals else 0
        return days * 86_400 + hour * 3600 + minute * 60 + second, rest, offset


@lru_cache(maxsize=64)
def compile_format(text: str) -> TimeFormat:
    """What reads times of a format; SpecError where it has a directive that is none, or does not say which day it is.

    >>> compile_format("%d.%m.%Y %H:%M").read("2.1.1970 00:01")[0]
    86460
    """
    found: list[str] = []
    pattern = "".join(_pieces(text, text, found))
    names = set(found)
    for name in found:
        if found.count(name) > 1 and name not in "%aA":
            raise SpecError(f"format `{text}` has `%{name}` twice")
    if not (names & {"Y", "y"} and ("j" in names or ("d" in names and names & {"m", "b", "B"}))):
        raise SpecError(f"format `{text}` does not say which day it is: it needs a year, a month and a day")
    if ("I" in names) != ("p" in names):
        raise SpecError(f"format `{text}`: `%I` and `%p` go together")
    return TimeFormat(text, re.compile(pattern, re.ASCII | re.IGNORECASE))


def _pieces(format_: str, whole: str, found: list[str]) -> list[str]:
    """The pieces of a pattern; the directives are added to `found`."""
    pieces: list[str] = []
    for part in _PART.finditer(format_):
        name = part[1]
        if name in _SHORTHANDS:
            pieces += _pieces(_SHORTHANDS[name], whole, found)
        elif name is not None:
            name = "b" if name == "h" else name
            if name not in _DIRECTIVES:
                known = " ".join(f"%{each}" for each in (*_DIRECTIVES, *_SHORTHANDS))
                raise SpecError(f"format `{whole}` has an unknown directive `%{name}`: there are {known}")
            found.append(name)
            pieces.append(_DIRECTIVES[name])
        else:
            pieces.append(r"\s+" if part[0].isspace() else re.escape(part[0]))
    return pieces


def _hour(parts: dict[str, str | None]) -> int:
    """The hour of a day; -1 where there is none such."""
    if parts.get("I") is None:
        return int(parts.get("H") or 0)
    hour = int(parts["I"] or 0)
    return hour % 12 + 12 * (parts["p"] or "").lower().startswith("p") if 1 <= hour <= 12 else -1


def _day(parts: dict[str, str | None]) -> int:
    """The number of a day; ValueError where the calendar has none such."""
    short = parts.get("y")
    year = int(parts.get("Y") or 0) if short is None else int(short) + (1900 if int(short) >= _CENTURY else 2000)
    number = parts.get("j")
    if number is not None:
        first = date(year, 1, 1).toordinal()
        if not 1 <= int(number) <= date(year, 12, 31).toordinal() - first + 1:
            raise ValueError("a year has no such day")
        return first + int(number) - 1
    name = (parts.get("b") or parts.get("B") or "").lower()
    month = _MONTHS.index(name[:3]) + 1 if name else int(parts.get("m") or 0)
    return date(year, month, int(parts.get("d") or 0)).toordinal()
