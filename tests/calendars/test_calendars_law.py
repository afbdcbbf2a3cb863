"""Calendars by what clocks show: minute by minute in ten zones, around both changes of the clock, in any year.

The definition is written here once more: a clock is read at each minute. The verifier's almanac shares no code with the
calendars: they are compared over longer times.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog.plans.calendars.calendar import Calendar, Spell, every
from tidelog.plans.calendars.declared import calendars_of
from tidelog.plans.calendars.ticks import on_timeline
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import CalendarDeclaration, Period, PeriodName
from tidelog.plans.tree.walk import statements_of
from tidelog.verifier.almanac import Almanac
from tidelog.verifier.times import Line

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Havana",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Asia/Tehran",
    "America/St_Johns",
)
PERIODS: tuple[PeriodName, ...] = ("hour", "day", "week", "month", "year")
MINUTE, HOUR, DAY = 60, 3600, 86400


def second_of(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


CHANGES = {
    "UTC": ["2024-02-29"],
    "Europe/Berlin": ["2026-03-29", "2026-10-25", "1980-04-06", "1996-10-27"],
    "America/New_York": ["2026-03-08", "2026-11-01", "1974-01-06", "2006-10-29"],
    "Asia/Kolkata": ["2000-02-29"],
    "Australia/Lord_Howe": ["2026-04-04", "2026-10-03"],
    "America/Havana": ["2026-03-08", "2026-11-01", "1991-10-13"],
    "Africa/Casablanca": ["2026-02-15", "2026-03-22"],
    "Pacific/Apia": ["2011-12-30", "2010-09-26", "2012-04-01"],
    "Asia/Tehran": ["2021-03-21", "2021-09-21", "1978-10-20"],
    "America/St_Johns": ["2006-04-02", "2010-11-07", "1988-04-03"],
}
"""In each zone days at which the clock is set, also at midnight, by half an hour, by two, or by a day."""


@st.composite
def places(draw: st.DrawFn) -> tuple[str, int]:
    """A zone and a second near a change of its clock, or in any year from 1970 to 2100."""
    zone = draw(st.sampled_from(ZONES))
    if draw(st.integers(0, 3)):
        return zone, second_of(draw(st.sampled_from(CHANGES[zone]))) + draw(st.integers(-1, 1)) * DAY
    return zone, draw(st.integers(second_of("1970-01-10"), second_of("2100-12-20"))) // DAY * DAY


def shown(zone: str, second: int) -> datetime:
    """What a clock shows, as a time without a zone."""
    return datetime.fromtimestamp(second, ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def passed(zone: str, time: datetime, pick: Callable[[list[int]], int]) -> int:
    """The minutes at which a clock has come to a time, a minute before not: the first of them, or the last."""
    middle = int(time.replace(tzinfo=UTC).timestamp())
    clock = [(second, shown(zone, second)) for second in range(middle - 26 * HOUR, middle + 26 * HOUR, MINUTE)]
    return pick([later for (_, before), (later, after) in pairwise(clock) if before < time <= after])


@drawn(40)
@given(places(), st.lists(st.tuples(st.integers(0, 95), st.integers(1, 96)), min_size=1, max_size=2))
def test_times_of_day_are_when_a_clock_shows_them(place: tuple[str, int], quarters: list[tuple[int, int]]) -> None:
    """Each spell of a day goes from the first minute at which a clock has come to its begin to the last of its end."""
    zone, near = place
    texts = [f"{a // 4:02}:{a % 4 * 15:02}-{b // 4:02}:{b % 4 * 15:02}" for a, b in quarters]
    (declared,) = parse(f'calendar c = {" ".join(texts)}, zone "{zone}".').statements
    assert isinstance(declared, CalendarDeclaration)
    covered = set()
    day = shown(zone, near).date() - timedelta(days=2)
    for _ in range(4):
        for begin, end in quarters:
            midnight = datetime.combine(day, datetime.min.time())
            low = passed(zone, midnight + timedelta(minutes=15 * begin), min)
            high = passed(zone, midnight + timedelta(minutes=15 * end + (1440 if end <= begin else 0)), max)
            covered.update(range(low, high, MINUTE))
        day += timedelta(days=1)
    calendar = Calendar(declared.daily, zone=zone)
    spells = calendar.spells(near - 3 * DAY, near + DAY)
    assert all(one.end <= other.begin for one, other in pairwise(spells))
    held = {minute for spell in spells for minute in range(spell.begin, spell.end, MINUTE)}
    for minute in range(near - DAY // 2, near + DAY // 2, MINUTE):
        assert (minute in held) == (minute in covered), (zone, texts, minute, shown(zone, minute))
        found = calendar.around(minute)
        assert (found is not None and found.begin <= minute < found.end) == (minute in covered)


@drawn(60)
@given(places(), st.sampled_from(PERIODS))
def test_periods_are_what_a_clock_shows(place: tuple[str, int], period: PeriodName) -> None:
    """Periods leave no gap, and each is called by what a clock shows in it; a day that never comes is none."""
    zone, near = place
    calendar = every(period, zone, is_named=True)
    spells = calendar.spells(near - 2 * calendar.longest, near + 2 * DAY)
    assert all(one.end == other.begin for one, other in pairwise(spells))
    assert len({spell.name for spell in spells}) == len(spells)
    for minute in range(near - DAY, near + DAY, 7 * MINUTE):
        found = calendar.around(minute)
        assert found is not None and found.name == called(zone, minute, period)


def called(zone: str, second: int, period: PeriodName) -> str:
    """The name of the period that a clock shows."""
    clock = datetime.fromtimestamp(second, ZoneInfo(zone))
    if period == "week":
        year, week, _ = clock.isocalendar()
        return f"{year}-W{week:02}"
    if period == "hour":
        offset = clock.isoformat()[19:]
        return f"{clock:%Y-%m-%dT%H}{offset}"
    return clock.date().isoformat()[: {"day": 10, "month": 7, "year": 4}[period]]


DECLARED = """\
calendar office = mon-fri 08:00-12:00 13:00-17:00, sat 09:00-12:00, zone "{zone}", except holiday, except closed.
calendar holiday = jan 1, dec 24-26, 2026-03-29 to 2026-03-30, zone "{zone}".
calendar closed = sun-mon 22:00-06:00, feb 29, zone "{zone}".
calendar shift = 06:00-14:00 14:00-22:00 22:00-06:00, zone "{zone}".
calendar hour(H) = each hour, zone "{zone}", except closed.
"""


@drawn(15)
@given(places())
def test_two_ways_to_compute_calendars_agree(place: tuple[str, int]) -> None:
    """Whole calendars, with what they leave out, and all periods, are those of the verifier."""
    zone, near = place
    program = parse("timeline integer, unit 1 min." + DECLARED.format(zone=zone))
    declarations = statements_of(program, CalendarDeclaration)
    timeline = Timeline("integer", unit=Fraction(60))
    low, high = (near - 4 * DAY) // MINUTE, (near + 4 * DAY) // MINUTE
    almanac = Almanac(declarations, {}, Line(program), low - 10_000, high + 10_000)
    told: dict[tuple[str, tuple[str, ...]], set[int]] = {}
    for name, row, times in almanac.facts():
        for (begin, _), (end, _) in times:
            told.setdefault((name, row), set()).update(range(max(low, int(begin)), min(high, int(end))))
    held: dict[tuple[str, tuple[str, ...]], set[int]] = {}
    for name, calendar in calendars_of(declarations).items():
        for row, begin, end in on_timeline(calendar, timeline).ranges(low - 10_000, high):
            held.setdefault((name, row), set()).update(range(max(low, begin), min(high, end + 1)))
    assert {key: times for key, times in held.items() if times} == {key: times for key, times in told.items() if times}
    for period in PERIODS:
        mine = {times[0][0][0] for times in almanac.periods(Period(period, zone))}
        theirs = {begin for _, begin, _ in on_timeline(every(period, zone), timeline).ranges(low, high)}
        assert theirs == {begin for begin in mine if low <= begin <= high}


@pytest.mark.parametrize(
    ("text", "near", "expected"),
    [
        ('mon-fri 22:00-06:00, zone "Europe/Berlin"', "2026-03-27", "2026-03-27T21:00/2026-03-28T05:00"),
        ('sat 22:00-06:00, zone "Europe/Berlin"', "2026-03-28", "2026-03-28T21:00/2026-03-29T04:00"),
        ('sun 02:30-04:00, zone "Europe/Berlin"', "2026-03-29", "2026-03-29T01:00/2026-03-29T02:00"),
        ('sun 02:30-03:30, zone "Europe/Berlin"', "2026-10-25", "2026-10-25T00:30/2026-10-25T02:30"),
        ('sun 02:00-02:30, zone "Europe/Berlin"', "2026-10-25", "2026-10-25T00:00/2026-10-25T01:30"),
        ("feb 29", "2024-02-29", "2024-02-29T00:00/2024-03-01T00:00"),
    ],
)
def test_examples(text: str, near: str, expected: str) -> None:
    """What people would look up: a night, one that lasts an hour less, times that never come or come twice, a leap day."""
    (declared,) = parse(f"calendar c = {text}.").statements
    assert isinstance(declared, CalendarDeclaration)
    calendar = Calendar(declared.daily, zone=declared.zone)
    (spell,) = calendar.spells(second_of(near) - HOUR, second_of(near) + DAY - 2 * HOUR)
    ends = (datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M") for end in spell[:2])
    assert "/".join(ends) == expected


def test_a_day_that_never_comes_has_no_hours() -> None:
    """Samoa went from 29 to 31 December 2011: no hour comes twice, and none lasts no time."""
    spells = every("hour", "Pacific/Apia", is_named=True).spells(second_of("2011-12-29"), second_of("2012-01-01"))
    assert len({spell.name for spell in spells}) == len(spells)
    assert all(spell.begin < spell.end for spell in spells)


def test_what_lies_years_ahead_is_found() -> None:
    """A date of one year is found from long before, and behind it nothing is."""
    (declared,) = parse("calendar c = 2033-05-01.").statements
    assert isinstance(declared, CalendarDeclaration)
    calendar = Calendar(declared.daily)
    begin = second_of("2033-05-01")
    assert calendar.following(second_of("2026-01-01")) == Spell(begin, begin + DAY)
    assert calendar.following(begin + 1) is None
    ticks = on_timeline(calendar, Timeline("integer", unit=Fraction(1)))
    assert ticks.following(begin + 1) > second_of("2041-01-01")
    assert date.fromisoformat("2033-05-01").isoweekday() == 7
