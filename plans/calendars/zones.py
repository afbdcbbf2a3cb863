"""Zones: from a time on a clock on the wall to the instant at which the clock shows it.

Instants are whole seconds since 1970-01-01T00:00:00Z. Where a clock is set forward, some times never come; where it is set
back, some come twice.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

EPOCH = date(1970, 1, 1).toordinal()
DAY = 24 * 60 * 60
FIRST, LAST = date(2, 1, 1).toordinal(), date(9998, 12, 31).toordinal()
"""The days for which calendars are computed: beyond them Python has no dates."""


class UnknownZoneError(Exception):
    """No zone has this name; `near` is one that may be meant, or empty. `is_missing`: the machine knows no zones at all."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        known = available_timezones()
        self.is_missing = not known
        last = {zone.rpartition("/")[2].lower(): zone for zone in sorted(known)}
        close = get_close_matches(name[:60], sorted(known), 1, 0.7)
        self.near = close[0] if close else last.get(name[:60].strip().lower().replace(" ", "_"), "")


@lru_cache(maxsize=256)
def zone_named(name: str) -> tzinfo:
    """The zone of a name such as `Europe/Berlin`, UTC where there is none; raises UnknownZoneError."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # a name may be a path that leads elsewhere
        raise UnknownZoneError(name) from None


def offset_at(zone: tzinfo, instant: int) -> int:
    """How many seconds the clock is ahead of UTC at an instant."""
    return _seconds(datetime.fromtimestamp(instant, zone).utcoffset())


def instant_of(zone: tzinfo, day: int, second: int, *, last: bool = False) -> int:
    """The instant at which the clock shows a second of a day (an ordinal; 86,400 is the next day's first).

    A time that comes twice is the first of both, or the `last`. In place of one that never comes stands the instant at which
    the clock jumps over it.
    """
    day, second = day + second // DAY, second % DAY
    local = datetime.fromordinal(day) + timedelta(seconds=second)
    shown = (day - EPOCH) * DAY + second
    before = _seconds(local.replace(tzinfo=zone, fold=0).utcoffset())
    after = _seconds(local.replace(tzinfo=zone, fold=1).utcoffset())
    if before < after:
        return _jump(zone, shown - after, shown - before)
    return shown - (after if last else before)


def jumps_between(zone: tzinfo, low: int, high: int) -> list[int]:
    """The instants behind `low` and up to `high` at which the clock is set, if no two lie within three hours."""
    found = []
    step = 3 * 60 * 60
    for begin in range(low, high, step):
        end = min(begin + step, high)
        if offset_at(zone, begin) != offset_at(zone, end):
            found.append(_jump(zone, begin, end))
    return found


def _jump(zone: tzinfo, low: int, high: int) -> int:
    """The first instant behind `low`, up to `high`, at which the clock shows another offset than at `low`."""
    before = offset_at(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * DAY + offset.seconds
