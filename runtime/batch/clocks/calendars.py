"""Calendars in batch reasoning: as facts, as far as the given facts reach, and as rules look from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelog.plans.analysis.horizons.calendar_reach import day_of
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.plan.plan import PeriodShape


def calendar_end(plan: BatchPlan, mentioned: Sequence[Record]) -> int:
    """Up to when a program with calendars is materialised, if nobody says so.

    That is a day behind the last time that the facts mention, or those that are asked for; or the end of the periods that
    have begun then. Without such a bound a rule that negates a calendar would derive something for all the years of which
    the calendar has not been told.
    DataError where no fact mentions a time.
    """
    _, last = edges_of(mentioned)
    if last <= NEG:
        if mentioned:
            raise DataError("no fact says a time, so nothing tells for which days the calendars are meant; give `until`")
        return NEG
    periods = [step.shape.calendar.around(last) for step in plan.steps if isinstance(step.shape, PeriodShape)]
    return max([last + day_of(plan.timeline), *(period[1] for period in periods if period is not None)])


def edges_of(mentioned: Iterable[Record]) -> tuple[int, int]:
    """The first and the last time that facts mention; with none the first lies behind all times, and the last before."""
    times = [time for _, _, lo, hi in mentioned for time in (lo, hi) if NEG < time < POS]
    return min(times, default=POS), max(times, default=NEG)


def calendar_records(plan: BatchPlan, first: int, until: int) -> Iterator[Record]:
    """The calendars' facts from the first time that facts mention up to a time, and as far as rules look from there."""
    for name, shape in plan.calendars.items():
        ahead = shape.ahead - day_of(plan.timeline)  # what a stream is told beside it is for facts that are early
        for row, lo, hi in shape.calendar.ranges(shape.calendar.begin_at(first - shape.behind), until + ahead):
            yield name, row, lo, hi
