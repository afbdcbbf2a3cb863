"""Calendars, worked out from what clocks on the wall show: by their declarations, and by the periods that `per` names.

Nothing here is shared with the calendars by which answers are derived. Where a clock passes a time is searched for, down to
the second; it may be slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from zoneinfo import ZoneInfo

from tidelog.plans.tree.syntax import CalendarDeclaration, Daily, Interval, Period, Time
from tidelog.verifier.terms import Row
from tidelog.verifier.times import Line, Refused, Times

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86400
_PERIODS = ("hour", "day", "week", "month", "year")

Spell = tuple[int, int, str]
"""The second at which it begins, the one at which it is over, and its name."""
Events = Mapping[str, Iterable[Spell]]
"""What the files of calendars say, by the calendar."""


class Almanac:
    """The calendars of a program, between two seconds."""

    def __init__(self, declared: Iterable[CalendarDeclaration], events: Events, line: Line, low: Time, high: Time) -> None:
        self._declared = {item.predicate: item for item in declared}
        self._events = events
        self._line = line
        self._low, self._high = (self._second(end) for end in (low, high))

    def _second(self, time: Time) -> int:
        unit = self._line.unit
        if unit is None:
            raise Refused("a calendar needs a unit of time")
        return math.floor(Fraction(time) * unit)

    def facts(self) -> Iterator[tuple[str, Row, Times]]:
        """All calendars: their rows, each with a stretch of its times."""
        for name, item in self._declared.items():
            for spell in self._spells(name):
                row: Row = (spell[2],) if item.fields else ()
                times = self._times(spell)
                if times:
                    yield name, row, times

    def periods(self, period: Period) -> list[Times]:
        """The stretches of what `per` names."""
        is_declared = period.name in self._declared and not period.zone
        spells = self._spells(period.name) if is_declared else self._each(period.name, period.zone)
        return [times for spell in spells if (times := self._times(spell))]

    def _times(self, spell: Spell) -> Times:
        unit = self._line.unit or Fraction(1)
        ends = [Fraction(second) / unit for second in spell[:2]]
        if self._line.is_whole:
            ends = [Fraction(math.ceil(end)) for end in ends]
        return self._line.times(Interval(ends[0], ends[1], False, True)) if ends[0] < ends[1] else []

    def _spells(self, name: str) -> list[Spell]:
        item = self._declared[name]
        if item.path:
            found = _one_after_another(self._events[name], named=bool(item.fields))
        elif item.each:
            found = list(self._each(item.each, item.zone))
        else:
            found = _one_after_another(self._daily(item.daily, item.zone), named=False)
        for excepted in item.excepted:
            holes = self._spells(excepted)
            found = [piece for spell in found for piece in _without(spell, holes)]
        return found

    def _days(self) -> Iterator[date]:
        low, high = ((_EPOCH + timedelta(seconds=end)).date() for end in (self._low, self._high))
        for ordinal in range(low.toordinal() - 3, high.toordinal() + 4):
            yield date.fromordinal(ordinal)

    def _daily(self, daily: tuple[Daily, ...], zone: str) -> Iterator[Spell]:
        for day in self._days():
            for item in daily:
                if not _is_on(item, day):
                    continue
                for begin, end in item.times or ((0, _DAY),):
                    first = _passes(zone, datetime.combine(day, datetime.min.time()) + timedelta(seconds=begin), last=False)
                    over = end if end > begin else end + _DAY
                    last = _passes(zone, datetime.combine(day, datetime.min.time()) + timedelta(seconds=over), last=True)
                    yield first, last, ""

    def _each(self, period: str, zone: str) -> Iterator[Spell]:
        if period not in _PERIODS:
            raise Refused(f"there is no period `{period}`")
        if period == "hour":
            yield from self._hours(zone)
            return
        days = [day for day in self._days_from(period) if _name(period, day) != _name(period, day - timedelta(days=1))]
        for day, following in pairwise(days):
            begin, end = (
                _passes(zone, datetime.combine(each, datetime.min.time()), last=False) for each in (day, following)
            )
            if begin < end:
                yield begin, end, _name(period, day)

    def _days_from(self, period: str) -> Iterator[date]:
        """The days from the begin of a period that holds the first on, to that of one behind the last."""
        days = list(self._days())
        more = {"day": 2, "week": 8, "month": 32, "year": 367}[period]
        for ordinal in range(days[0].toordinal() - more, days[-1].toordinal() + more):
            yield date.fromordinal(ordinal)

    def _hours(self, zone: str) -> Iterator[Spell]:
        """Where what a clock shows of the hour, and its offset, changes: looked at each quarter of an hour."""
        quarter = 15 * 60
        at = self._low // quarter * quarter - 8 * quarter
        begin, shown = None, _hour(zone, at)
        while at <= self._high + 8 * quarter:
            following = _hour(zone, at + quarter)
            if following != shown:
                turn = _first(at, at + quarter, partial(_is_other_hour, zone, shown))
                if begin is not None:
                    yield begin, turn, shown
                begin, shown = turn, _hour(zone, turn)
            at += quarter


def _zone(name: str) -> tzinfo:
    return ZoneInfo(name) if name else UTC


def _clock(zone: str, second: int) -> datetime:
    """What a clock shows."""
    return (_EPOCH + timedelta(seconds=second)).astimezone(_zone(zone))


@lru_cache(maxsize=4096)
def _passes(zone: str, time: datetime, *, last: bool) -> int:
    """The second at which a clock comes to a time, or jumps over it: for the first or the last time."""
    middle = int((time.replace(tzinfo=UTC) - _EPOCH).total_seconds())
    hour = 60 * 60
    found = []
    for low in range(middle - 27 * hour, middle + 27 * hour, hour):
        if _shows(zone, low) < time <= _shows(zone, low + hour):
            found.append(_first(low, low + hour, lambda second: _shows(zone, second) >= time))
        else:  # the clock may come to it, and be set back, within the hour
            sets = _offset(zone, low) != _offset(zone, low + hour)
            found += _within(zone, time, low, low + hour) if sets else []
    return (max if last else min)(found)


def _within(zone: str, time: datetime, low: int, high: int) -> list[int]:
    turn = _first(low, high, lambda second: _offset(zone, second) != _offset(zone, low))
    found = []
    for begin, end in ((low, turn - 1), (turn, high)):
        if _shows(zone, begin) < time <= _shows(zone, end):
            found.append(_first(begin, end, lambda second: _shows(zone, second) >= time))
    if _shows(zone, turn - 1) < time <= _shows(zone, turn):
        found.append(turn)
    return found


def _shows(zone: str, second: int) -> datetime:
    return _clock(zone, second).replace(tzinfo=None, fold=0)


def _offset(zone: str, second: int) -> timedelta | None:
    return _clock(zone, second).utcoffset()


def _hour(zone: str, second: int) -> str:
    """The name of the hour that a clock shows."""
    text = _clock(zone, second).isoformat()
    return text[:13] + text[19:].replace("Z", "+00:00")


def _is_other_hour(zone: str, shown: str, second: int) -> bool:
    return _hour(zone, second) != shown


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first second behind `low`, up to `high`, at which something holds that goes on from there."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _is_on(item: Daily, day: date) -> bool:
    text = day.isoformat()
    on_weekday = any(day.weekday() in _round(low, high) for low, high in item.days)
    on_date = any(
        low <= part <= high if low <= high else part >= low or part <= high
        for low, high in item.dates
        for part in [text[-len(low) :]]
    )
    return on_weekday or on_date or not (item.days or item.dates)


def _round(low: int, high: int) -> set[int]:
    return {each % 7 for each in range(low, (high if low <= high else high + 7) + 1)}


def _name(period: str, day: date) -> str:
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[period]]


def _one_after_another(spells: Iterable[Spell], *, named: bool) -> list[Spell]:
    """Of those of one name, one that begins in an earlier one begins where that is over."""
    reached: dict[str, int] = {}
    found = []
    for low, high, name in sorted((low, high, name if named else "") for low, high, name in spells):
        begin = max(low, reached.get(name, low))
        if begin < high:
            found.append((begin, high, name))
            reached[name] = high
    return found


def _without(spell: Spell, holes: Iterable[Spell]) -> Iterator[Spell]:
    begin, end, name = spell
    for low, high, _ in sorted(holes):
        if high <= begin or low >= end:
            continue
        if low > begin:
            yield begin, low, name
        begin = max(begin, high)
    if begin < end:
        yield begin, end, name
