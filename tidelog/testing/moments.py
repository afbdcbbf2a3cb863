"""At which times guessed facts are tried where a program has calendars: on some days, and where its calendars change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from tidelog.plans.calendars.calendar import Calendar, Spell
from tidelog.plans.calendars.declared import calendars_of
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.proving.series import parts_behind
from tidelog.plans.tree.syntax import Aggregate, Atom, CalendarDeclaration, Period
from tidelog.plans.tree.walk import statements_of

_DAYS = (
    datetime(2026, 11, 23, 10, tzinfo=UTC),  # a Monday, by day
    datetime(2026, 11, 23, 23, tzinfo=UTC),  # at night
    datetime(2026, 11, 28, 10, tzinfo=UTC),  # a Saturday
    datetime(2026, 12, 25, 10, tzinfo=UTC),  # a day off for many
    datetime(2026, 11, 23, 17, tzinfo=UTC),  # in the evening
    datetime(2026, 11, 27, 12, 55, tzinfo=UTC),  # before the end of a shift
    datetime(2026, 11, 24, 6, 30, tzinfo=UTC),
)
_MOST = 12
"""So many times are tried at which calendars change."""


class Moments:
    """The times at which facts for a predicate are tried, by the calendars on which it rests in any of some programs."""

    def __init__(self, programs: Sequence[tuple[Plan, Rulebook]], predicate: str) -> None:
        plan = programs[0][0]
        unit = plan.timeline.unit
        has_dates = any(statements_of(each.program, CalendarDeclaration) for each, _ in programs)
        self._days, self._changes = [Fraction(0)], list[Fraction]()
        if not has_dates or unit is None:
            return
        days = [Fraction(int(day.timestamp()) // unit) for day in _DAYS]
        calendars = [each for program in programs for each in _behind(*program, predicate)]
        self._days = days if calendars else days[:1]
        changes = (time for calendar in calendars for time in _ends(calendar, plan.timeline, unit))
        self._changes = [time for time in dict.fromkeys(changes) if time not in self._days][:_MOST]

    def of(self, facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
        """Facts that begin at time 0, moved: so that they begin at such a time, or that the last of them ends there."""
        last = max((Fraction(fact.high) for fact in facts if fact.high < math.inf), default=Fraction(0))
        bases = [*self._days, *self._changes, *(time - last for time in self._changes if last)]
        return (tuple(fact.moved(base) for fact in facts) for base in dict.fromkeys(bases))


def _behind(plan: Plan, book: Rulebook, predicate: str) -> list[Calendar]:
    """The calendars on which a predicate rests."""
    parts = parts_behind(book, predicate)
    names = {predicate, *(part.predicate for part in parts if isinstance(part, Atom))}
    names |= {part.window.name for part in parts if isinstance(part, Aggregate) and isinstance(part.window, Period)}
    return [calendar for name, calendar in calendars_of(plan.normal.calendars).items() if name in names]


def _ends(calendar: Calendar, timeline: Timeline, unit: Fraction) -> Iterator[Fraction]:
    """The first and the last tick of a spell, and those beside it, in units."""
    spell = _near(calendar, int(_DAYS[0].timestamp()))
    if spell is not None:
        tick = timeline.resolution
        begin, end = (math.ceil(second / unit / tick) * tick for second in (spell.begin, spell.end))
        yield from (begin, end - tick, end, begin - tick)


def _near(calendar: Calendar, time: int) -> Spell | None:
    """The next spell, or, where there is none any more, the last one."""
    return calendar.following(time) or next(reversed(calendar.spells(0, time)), None)
