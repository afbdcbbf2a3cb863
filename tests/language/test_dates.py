"""Dates and units in a program's facts: the same times as in data."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeReader, read_iso
from tidelog.plans.diagnostics.errors import DataError


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


TIMELINES = [
    *[
        Timeline("integer", Fraction(1), Fraction(unit), way)
        for unit in ("1", "60", "1/1000")
        for way in (None, "down", "up", "nearest")
    ],
    Timeline("rational", Fraction(1, 1000), Fraction(1)),
    Timeline("rational", Fraction(2, 3), Fraction(1, 7)),
    Timeline("rational", Fraction(1), Fraction(1, 10**7), "nearest"),
    Timeline("rational", Fraction(1, 4)),
]
DATES = st.builds(
    "{}{}{}{}".format,
    st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%S}".rjust(19, "0")),
    st.sampled_from(["", ".5", ".250", ".000", ".000250", ".0002500", ",250", ".25\u0663"]),
    st.sampled_from(["", "Z", "z", "+01:00", "+0100", "-01", " Z"]),
    st.sampled_from(["", "", " "]),
)
BROKEN = [
    (0, "x"),
    (4, "."),
    (5, "W"),
    (7, "1"),
    (8, "9"),
    (10, "t"),
    (10, " "),
    (10, "_"),
    (11, "24"),
    (13, "."),
    (17, "60"),
]


def exact_time(text: str, timeline: Timeline) -> Fraction:
    """The time that a text stands for, in units."""
    if text[4:5] != "-":
        return Fraction(text)
    if timeline.unit is None:
        raise DataError("no unit")
    return read_iso(text.strip()) / timeline.unit


@given(
    DATES | st.decimals(0, 10**9, places=3).map(str),
    st.lists(st.sampled_from(BROKEN), max_size=1),
    st.sampled_from(TIMELINES),
)
def test_a_time_is_what_it_stands_for(text: str, broken: list[tuple[int, str]], timeline: Timeline) -> None:
    """However it is written, a date or a decimal becomes the point of its exact time, or is refused where that has none."""
    if text[4:5] == "-":
        for place, character in broken:
            text = text[:place] + character + text[place + len(character) :]
    try:
        exact = exact_time(text, timeline)
        if timeline.is_integer and timeline.rounding is None and exact.denominator != 1:
            raise DataError("too fine")
        expected = timeline.encode_point(timeline.rounded(exact))
    except (DataError, ValueError):
        with pytest.raises(DataError):
            TimeReader(timeline).read_point(text)
    else:
        assert TimeReader(timeline).read_point(text) == expected
