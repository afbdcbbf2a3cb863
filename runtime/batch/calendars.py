"""Calendars in batch reasoning: as facts, as far as the given facts reach, and as rules look from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.plans.analysis.horizons.calendar_reach import day_of
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.plan.plan import PeriodShape


def rests_on_calendars(plan: BatchPlan) -> bool:
    """Whether some rule reads a calendar, or counts per period."""
    return bool(plan.calendars) or any(isinstance(step.shape, PeriodShape) for step in plan.steps)


def calendar_end(plan: BatchPlan, given: Iterable[Record], asked: Iterable[Record]) -> int:
    """Up to when a program with calendars is materialised, if nobody says so.

    That is a day behind the last time that the facts mention, or those that are asked for; or the end of the periods that
    have begun then. Without such a bound a rule that negates a calendar would derive something for all the years of which
    the calendar has not been told.
    DataError where no fact mentions a time.
    """
    known = [*given]
    last = max((time for _, _, lo, hi in (*known, *asked) for time in (lo, hi) if NEG < time < POS), default=NEG)
    if last <= NEG:
        if known:
            raise DataError("no fact says a time, so nothing tells for which days the calendars are meant; give `until`")
        return NEG
    periods = [step.shape.calendar.around(last) for step in plan.steps if isinstance(step.shape, PeriodShape)]
    return max([last + day_of(plan.timeline), *(period[1] for period in periods if period is not None)])


def calendar_records(plan: BatchPlan, mentioned: Iterable[Record], until: int) -> Iterator[Record]:
    """The calendars' facts from the first time that some facts mention up to a time, and as far as rules look from there."""
    first = min((time for _, _, lo, hi in mentioned for time in (lo, hi) if NEG < time < POS), default=until)
    for name, shape in plan.calendars.items():
        ahead = shape.ahead - day_of(plan.timeline)  # what a stream is told beside it is for facts that are early
        for row, lo, hi in shape.calendar.ranges(min(first, until) - shape.behind, until + ahead):
            yield name, row, lo, hi
