"""Calendars from files in the format iCalendar: what they hold, what is wrong with them, and who else needs to know."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import pytest

import tidelog
from tidelog.connectors.spark.running.job import job_of
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, ProgramError

EVENTS = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//plant//calendar//EN
BEGIN:VEVENT
UID:1
SUMMARY:Christmas
DTSTART;VALUE=DATE:20201225
DTEND;VALUE=DATE:20201227
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VEVENT
UID:2
SUMMARY:Inspection
DTSTART:20261126T140000
DURATION:PT4H
END:VEVENT
BEGIN:VEVENT
UID:3
SUMMARY:Cancelled
STATUS:CANCELLED
DTSTART:20261127T080000Z
DTEND:20261127T090000Z
END:VEVENT
BEGIN:VEVENT
UID:4
SUMMARY:In New York
DTSTART;TZID=America/New_York:20261201T090000
DTEND;TZID=America/New_York:20261201T100000
END:VEVENT
END:VCALENDAR
"""
PROGRAM = """\
timeline integer, unit 1 s.
input temp(s, v: number).
calendar feast(What) from "feasts.ics", zone "Europe/Berlin".
calendar office = mon-fri 08:00-20:00, zone "Europe/Berlin", except feast.
output hot, during, n.
hot(S) :- temp(S, _), office.
during(S, What) :- temp(S, _), feast(What).
n(S, N) :- N = count() over temp(S, _) per feast by S.
"""
READINGS = (
    "2026-11-26T10:00:00Z",
    "2026-11-26T14:00:00Z",
    "2026-11-27T08:30:00Z",
    "2026-12-01T14:30:00Z",
    "2026-12-26T12:00:00Z",
)
EXPECTED = {
    "hot(a)@2026-11-26T10:00:00+00:00",
    "hot(a)@2026-11-27T08:30:00+00:00",
    "during(a,Inspection)@2026-11-26T14:00:00+00:00",
    'during(a,"In New York")@2026-12-01T14:30:00+00:00',
    "during(a,Christmas)@2026-12-26T12:00:00+00:00",
    "n(a,1)@2026-11-26T13:00:00+00:00",
    "n(a,1)@2026-12-01T14:00:00+00:00",
    "n(a,1)@2026-12-24T23:00:00+00:00",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "feasts.ics").write_text(EVENTS.replace("\n", "\r\n"))
    return tmp_path


def told(plan: tidelog.Plan) -> set[str]:
    session = tidelog.Session(plan)
    for time in READINGS:
        session.push("temp", ["a", 1], time)
    session.finish()
    found = set()
    for answer in session.pull():
        begins = answer.begins_at
        assert isinstance(begins, datetime)
        found.add(f"{answer.text.partition('@')[0]}@{begins.isoformat()}")
    return found


def test_events_are_what_the_file_says(folder: Path) -> None:
    """Whole days of a zone, times without and with one, durations, each year; what is cancelled is not."""
    plan = tidelog.compile(PROGRAM, folder=folder)
    assert told(plan) == EXPECTED
    assert len([record for record in plan.facts if record[0] == "feast"]) == 81 + 2


def test_workers_of_spark_know_the_events(folder: Path) -> None:
    """They compile the program from its text, without its folder."""
    job = job_of(tidelog.compile(PROGRAM, folder=folder), 4)
    assert told(job.plan) == EXPECTED
    assert all(stage.plan.facts for stage in job.stages)


def test_a_question_may_rest_on_a_file(folder: Path) -> None:
    """Its events are facts, which are known before the stream begins."""
    text = PROGRAM.replace("output hot, during, n.", "ask during(S, What)@T.").partition("n(S, N)")[0]
    session = tidelog.Session(tidelog.compile(text, folder=folder))
    session.push("temp", ["a", 1], READINGS[1])
    assert [(answer.status, answer.answer["What"]) for answer in session.pull_hypothetical()] == [("certain", "Inspection")]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (None, ProgramError, "calendar file `feasts.ics` cannot be read: No such file"),
        ("a,b\n1,2\n", DataError, "is no calendar in the format iCalendar"),
        (EVENTS, DataError, "has more than 50 events"),
        (
            EVENTS.replace("20261127T080000Z", "soon"),
            DataError,
            "is no calendar in the format iCalendar|cannot be understood",
        ),
    ],
)
def test_what_is_wrong_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, error: type[Exception], message: str
) -> None:
    """It is said, with the file; more events than are allowed are refused."""
    monkeypatch.setattr("tidelog.connectors.files.calendar_file.MOST_EVENTS", 50)
    if content is not None:
        (tmp_path / "feasts.ics").write_text(content)
    with pytest.raises(error, match=message):
        tidelog.compile(PROGRAM, folder=tmp_path)


def test_without_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library that reads such files is named."""
    monkeypatch.setitem(sys.modules, "icalendar", None)
    with pytest.raises(ConnectorError, match="needs the extra `calendar`"):
        tidelog.compile(PROGRAM, folder=folder)
