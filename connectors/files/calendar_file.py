"""The events of a calendar, from a file in the format iCalendar (RFC 5545): `calendar holiday from "holidays.ics"`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

from tidelog.plans.calendars.zones import instant_of, zone_named
from tidelog.plans.diagnostics.errors import ConnectorError, DataError

Event = tuple[int, int, str]
"""When it begins and when it is over, in seconds since 1970-01-01T00:00:00Z, and what it is called."""

FIRST, LAST = date(1970, 1, 1), date(2101, 1, 1)
"""Events that recur are laid out between these days."""
MOST_EVENTS = 100_000
"""More events than this in one file are refused."""


def load_events(path: str, zone: str) -> list[Event]:
    """The events of a file from 1970 to 2100, those that recur each time; cancelled ones are left out.

    Whole days, and times without a zone of their own, are those of a clock in `zone`. Raises DataError for a file that
    cannot be read, that is no calendar, or that has more than `MOST_EVENTS` events; ConnectorError without the extra
    `calendar`.
    """
    library, recurring = _library("icalendar"), _library("recurring_ical_events")
    try:
        with open(path, "rb") as file:
            calendar = library.Calendar.from_ical(file.read())
    except OSError as error:
        raise DataError(f"cannot be read: {os.strerror(error.errno or 0)}", path) from error
    except (ValueError, IndexError) as error:
        raise DataError(f"is no calendar in the format iCalendar: {error}", path) from None
    found: list[Event] = []
    try:
        for event in _between(recurring.of(calendar)):
            begin, end = _second(event["DTSTART"].dt, zone), _end_of(event, zone)
            if begin < end and str(event.get("STATUS", "")).upper() != "CANCELLED":
                found.append((begin, end, str(event.get("SUMMARY", ""))))
            if len(found) > MOST_EVENTS:
                raise DataError(f"has more than {MOST_EVENTS:,} events from 1970 to 2100", path)
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise DataError(f"has an event that cannot be understood: {type(error).__name__}: {error}", path) from None
    return found


def _between(query: Any) -> Iterator[Any]:
    """The events in order of their begin, as far as they are looked at."""
    for event in query.after(FIRST):
        begin = event["DTSTART"].dt
        if (begin.date() if isinstance(begin, datetime) else begin) >= LAST:
            return
        yield event


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        help = "pip install 'tidelog[calendar]'"
        raise ConnectorError(f"a calendar from a file needs the extra `calendar`: {help}") from None


def _end_of(event: Any, zone: str) -> int:
    """When an event is over: at its end, behind its duration; one without either lasts a day, or is over at once."""
    begin = event["DTSTART"].dt
    if "DTEND" in event:
        return _second(event["DTEND"].dt, zone)
    if "DURATION" in event:
        return _second(begin + event["DURATION"].dt, zone)
    return _second(begin + timedelta(days=0 if isinstance(begin, datetime) else 1), zone)


def _second(time: date | datetime, zone: str) -> int:
    if isinstance(time, datetime) and time.tzinfo is not None:
        return int((time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    if not isinstance(time, datetime):
        return instant_of(zone_named(zone), time.toordinal(), 0)
    second = (time.hour * 60 + time.minute) * 60 + time.second
    return instant_of(zone_named(zone), time.toordinal(), second)
