"""Calendars in batch reasoning: as facts, as far as the given facts reach, and as rules look from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import CalendarShape


def calendar_records(calendars: Mapping[str, CalendarShape], given: Iterable[Record], until: int) -> Iterator[Record]:
    """The calendars' facts around all times that given facts mention, and up to a time, where that is finite."""
    first, last = POS, NEG
    for _, _, lo, hi in given:
        if lo > NEG:
            first, last = min(first, lo), max(last, lo)
        if hi < POS:
            first, last = min(first, hi), max(last, hi)
    if first > last:
        return
    last = until if until < POS else last
    for name, shape in calendars.items():
        for row, lo, hi in shape.calendar.ranges(first - shape.behind, last + shape.ahead):
            yield name, row, lo, hi
