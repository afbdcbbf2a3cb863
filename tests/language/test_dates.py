"""Dates and units in a program's facts: the same times as in data."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.data.times import TimeReader


@pytest.mark.parametrize("timeline", ["timeline integer, unit 1 min.", "timeline rational, unit 1 h."])
@pytest.mark.parametrize("time", ["2024-07-01T10:00Z", "[2024-07-01,2024-07-02T01:00:00+02:00)", "1970-01-01", "7200s"])
def test_a_fact_holds_when_data_of_that_time_would(timeline: str, time: str) -> None:
    """A fact's ISO-8601 time becomes the ticks that the same text becomes in data."""
    plan = tidelog.compile(f"{timeline} p(a)@{time}. q(X) :- p(X).")
    assert [record[2:] for record in plan.facts] == [TimeReader(plan.timeline).read(time)]


def test_data_know_the_units_of_programs() -> None:
    """Every unit of a program is one in data."""
    plan = tidelog.compile("timeline integer, unit 1 us. p :- q.")
    times = ["1us", "1ms", "1s", "1min", "1h", "1d"]
    assert [TimeReader(plan.timeline).read_point(time) for time in times] == [
        1,
        10**3,
        10**6,
        60 * 10**6,
        3600 * 10**6,
        86400 * 10**6,
    ]
