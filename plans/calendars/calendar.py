"""Calendars: in which intervals of time a declared calendar holds, and in which order they come.

All that is known of a calendar follows from its declaration, so it is known at all times. Intervals are half open, in whole
seconds since 1970-01-01T00:00:00Z: `[begin, end)`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal, NamedTuple, TypeVar

from tidelog.plans.calendars.zones import DAY, EPOCH, FIRST, LAST, instant_of, jumps_between, offset_at, zone_named
from tidelog.plans.tree.syntax import Daily, PeriodName

_HOUR = 60 * 60
_SLACK = 2
"""So many days before a time the days are looked at that may reach it: a clock may lack, or have twice, a day."""
_LONGEST: dict[str, int] = {"hour": _HOUR, "day": DAY, "week": 7 * DAY, "month": 31 * DAY, "year": 366 * DAY}
LOOKED_AHEAD = 9 * 366 * DAY
"""In so many seconds each date of a year comes, also 29 February around a year 2100 without one."""

_Ordered = TypeVar("_Ordered", int, str)


class Spell(NamedTuple):
    """One interval in which a calendar holds, and the name that its argument has there: that of a period, or of an event."""

    begin: int
    end: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """A calendar as it is declared: `daily`, or `each` period, or `events` from a file; not where one `excepted` holds.

    `is_named` tells that its argument is the name of the period, or of the event. `file` names the declaration and the file
    that the events were read from.
    """

    daily: tuple[Daily, ...] = ()
    each: PeriodName | Literal[""] = ""
    events: tuple[Spell, ...] = ()
    zone: str = ""
    excepted: tuple[Calendar, ...] = ()
    is_named: bool = False
    longest_event: int = 0
    file: str = ""

    @property
    def is_listed(self) -> bool:
        """Whether all of its spells are known one by one: those of a file, as many as it has."""
        return not self.daily and not self.each

    @property
    def longest(self) -> int:
        """No spell is longer, in seconds."""
        if self.each:
            return _LONGEST[self.each] + self._set_back
        if self.is_listed:
            return self.longest_event
        lengths = ((end - begin) % DAY or DAY for item in self.daily for begin, end in item.times or ((0, DAY),))
        return max(lengths, default=0) + self._set_back

    @property
    def _set_back(self) -> int:
        """By so many seconds at most a clock may be set back meanwhile: by a day where a place crosses the date line."""
        return 0 if self.zone in ("", "UTC") else _HOUR if self.each == "hour" else DAY

    def spells(self, low: int, high: int) -> list[Spell]:
        """The spells that begin at `low … high`, in order."""
        found = [spell for spell in self._whole(low, high) if spell.begin <= high]
        if self.excepted:
            found = list(self._without_excepted(found))
        return [spell for spell in found if low <= spell.begin <= high]

    def around(self, time: int) -> Spell | None:
        """The spell in which a time lies; None if the calendar does not hold then."""
        for spell in reversed(self.spells(time - self.longest, time)):
            if spell.begin <= time < spell.end:
                return spell
        return None

    def following(self, time: int) -> Spell | None:
        """The first spell that begins at a time or later; None if there is none in the next nine years."""
        step = max(self.longest, 8 * DAY)
        for low in range(time, time + LOOKED_AHEAD, step):
            for spell in self.spells(low, low + step - 1):
                return spell
        return None

    def _whole(self, low: int, high: int) -> Iterator[Spell]:
        """The spells that may hold at some time of `low … high`, in order, with what is excepted."""
        if self.is_listed:
            begin = bisect_left(self.events, (low - self.longest_event,))
            yield from self.events[begin : bisect_right(self.events, (high + 1,))]
            return
        first = max(low // DAY + EPOCH - self.longest // DAY - _SLACK, FIRST)
        last = min(high // DAY + EPOCH + _SLACK, LAST)
        if self.each:
            yield from _periods(self.each, self.zone, first, last, is_named=self.is_named)
        else:
            yield from _disjoint(spell for day in range(first, last + 1) for spell in self._of_day(day))

    def _of_day(self, day: int) -> list[Spell]:
        """The spells that begin on a day."""
        found: list[Spell] = []
        for item in self.daily:
            if not _falls_on(item, day):
                continue
            for begin, end in item.times or ((0, DAY),):
                low = _instant(self.zone, day, begin)
                high = _instant(self.zone, day, end if end > begin else end + DAY, last=True)
                if low < high:
                    found.append(Spell(low, high))
        return sorted(found)

    def _without_excepted(self, spells: list[Spell]) -> Iterator[Spell]:
        for spell in spells:
            begin = spell.begin
            longest = max(calendar.longest for calendar in self.excepted)
            holes = [h for calendar in self.excepted for h in calendar.spells(spell.begin - longest, spell.end)]
            for hole in sorted(holes):
                if hole.begin > begin:
                    yield Spell(begin, min(hole.begin, spell.end), spell.name)
                begin = max(begin, hole.end)
                if begin >= spell.end:
                    break
            if begin < spell.end:
                yield Spell(begin, spell.end, spell.name)


def every(period: PeriodName, zone: str = "", *, is_named: bool = False) -> Calendar:
    """The calendar of a period: `each day`."""
    return Calendar(each=period, zone=zone, is_named=is_named)


def _falls_on(item: Daily, day: int) -> bool:
    if not item.days and not item.dates:
        return True
    weekday = (day - 1) % 7
    if any(_is_between(weekday, low, high) for low, high in item.days):
        return True
    if not item.dates:
        return False
    full = date.fromordinal(day).isoformat()
    return any(_is_between(full[-len(low) :], low, high) for low, high in item.dates)


def _is_between(value: _Ordered, low: _Ordered, high: _Ordered) -> bool:
    """Whether something lies in a range that may go round, such as `sat-mon`."""
    return low <= value <= high if low <= high else value >= low or value <= high


def _disjoint(spells: Iterable[Spell]) -> Iterator[Spell]:
    """The spells in order; one that begins in an earlier one begins where that ends."""
    reached: int | None = None
    for spell in spells:
        begin = spell.begin if reached is None else max(spell.begin, reached)
        if begin < spell.end:
            yield Spell(begin, spell.end, spell.name)
            reached = spell.end


@lru_cache(maxsize=4096)
def _instant(zone: str, day: int, second: int, *, last: bool = False) -> int:
    return instant_of(zone_named(zone), day, second, last=last)


def _periods(period: PeriodName, zone: str, first: int, last: int, *, is_named: bool) -> Iterator[Spell]:
    if period == "hour":
        for day in range(first, last + 1):
            yield from _hours(zone, day, is_named=is_named)
        return
    begins = _first_days(period, first, last)
    for day, following in pairwise(begins):
        begin, end = _instant(zone, day, 0), _instant(zone, following, 0)
        if begin < end:
            yield Spell(begin, end, _name_of(period, day) if is_named else "")


def _first_days(period: PeriodName, first: int, last: int) -> list[int]:
    """The first days of the periods that lie in a range of days, and the one behind."""
    if period == "day":
        return list(range(first, last + 2))
    if period == "week":
        return list(range(first - (first - 1) % 7, last + 8, 7))
    low, high = date.fromordinal(first).year, date.fromordinal(last).year
    months = (1,) if period == "year" else range(1, 13)
    begins = [date(year, month, 1).toordinal() for year in range(low, high + 2) for month in months]
    return [day for day, following in pairwise(begins) if day <= last and following > first] + [
        next(day for day in begins if day > last)
    ]


def _name_of(period: PeriodName, day: int) -> str:
    found = date.fromordinal(day)
    match period:
        case "week":
            year, week, _ = found.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return found.isoformat()[:7]
        case "year":
            return found.isoformat()[:4]
        case _:
            return found.isoformat()


@lru_cache(maxsize=256)
def _hours(zone: str, day: int, *, is_named: bool) -> tuple[Spell, ...]:
    """The hours of a day: they begin where the clock shows a whole hour, and where it is set."""
    found = zone_named(zone)
    low, high = _instant(zone, day, 0), _instant(zone, day + 1, 0)
    if low == high:
        return ()  # the day never comes
    offset = offset_at(found, low)
    jumps = [] if high - low == DAY and offset == offset_at(found, high) else jumps_between(found, low, high - 1)
    begins = {low, *jumps}
    for since, until in pairwise([low, *jumps, high]):
        shift = offset_at(found, since)
        begins.update(range(since + -(since + shift) % _HOUR, until, _HOUR))
    ordered = sorted(begins)
    return tuple(
        Spell(begin, end, _hour_name(found, begin) if is_named else "") for begin, end in pairwise([*ordered, high])
    )


def _hour_name(zone: tzinfo, instant: int) -> str:
    """Such as `2026-11-23T08+01:00`."""
    offset = offset_at(zone, instant)
    shown = instant + offset
    day, hour = date.fromordinal(shown // DAY + EPOCH).isoformat(), shown % DAY // _HOUR
    sign, rest = ("+", offset) if offset >= 0 else ("-", -offset)
    text = f"{day}T{hour:02}{sign}{rest // _HOUR:02}:{rest // 60 % 60:02}"
    return f"{text}:{rest % 60:02}" if rest % 60 else text


def of_events(spells: Iterable[Spell], excepted: tuple[Calendar, ...] = (), *, is_named: bool = False) -> Calendar:
    """The calendar that holds during some events, each with its name where it `is_named`."""
    named = ((spell.name if is_named else "", spell.begin, spell.end) for spell in spells)
    found: list[Spell] = []
    for name, group in groupby(sorted(named), key=lambda item: item[0]):
        found += _disjoint(Spell(begin, end, name) for _, begin, end in group)
    longest = max((spell.end - spell.begin for spell in found), default=0)
    return Calendar(events=tuple(sorted(found)), longest_event=longest, excepted=excepted, is_named=is_named)
