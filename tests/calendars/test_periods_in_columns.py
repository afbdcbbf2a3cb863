"""Aggregates per period over columns: what they say is counted tick by tick, with the clock of a place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from columns.stretches import answers_over_columns
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog import OperatorError, Session, compile
from tidelog.operators.columns.grouped.periods import ColumnPeriods
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Record, Row
from tidelog.runtime.columns.history import ColumnCourse

ZONE = ZoneInfo("Europe/Berlin")
BEGINS = [int(datetime(2026, month, day, tzinfo=ZONE).timestamp()) for month, day in ((3, 28), (10, 24), (12, 30))]
"""Shortly before the clock is set forward, before it is set back, and before a year ends."""
PERIODS: dict[str, Callable[[datetime], Hashable | None]] = {
    'hour zone "Europe/Berlin"': lambda local: (local.date(), local.hour, local.utcoffset()),
    'day zone "Europe/Berlin"': lambda local: local.date(),
    'week zone "Europe/Berlin"': lambda local: local.isocalendar()[:2],
    "office": lambda local: local.date() if local.weekday() < 5 and 8 <= local.hour < 17 else None,
    "shift": lambda local: (local.date(), local.hour < 14) if 6 <= local.hour < 20 else None,
}
"""What is after `per`, and what tells the period of a time point apart from others; None where there is none."""
CALENDARS = (
    'calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin".\n',
    'calendar shift = 06:00-14:00, 12:00-20:00, zone "Europe/Berlin".\n',  # the later one begins where the earlier ends
)
Pairs = list[tuple[int, int | Fraction]]
FUNCTIONS: dict[str, Callable[[Pairs], int | float | None]] = {
    "count()": len,
    "sum(V)": lambda pairs: sum(value for _, value in pairs),
    "avg(V)": lambda pairs: float(Fraction(sum(value for _, value in pairs)) / len(pairs)),
    "min(V)": lambda pairs: min(value for _, value in pairs),
    "max(V)": lambda pairs: max(value for _, value in pairs),
    "distinct(V)": lambda pairs: len({value for _, value in pairs}),
    "first(V)": lambda pairs: min(pairs)[1],
    "last(V)": lambda pairs: max(pairs)[1],
}
"""Each function of the time points and values of all pairs (row, time point) of a period."""


def program(period: str, function: str, unit: int) -> str:
    """One aggregate of two arguments: what it is of, and its value."""
    declared = "".join(line for line in CALENDARS if line.startswith(f"calendar {period} "))
    return f"""timeline integer, unit {unit} s.
input v(x: text, kind: text, value: integer).
{declared}m(X, A) :- A = {function} over v(X, K, V) per {period} by X.
output m.
"""


@st.composite
def histories(draw: st.DrawFn, first: int) -> list[Record]:
    """Readings of three devices, some of which last, in order of their begin; few or hundreds."""
    found = []
    time = first
    for _ in range(draw(st.sampled_from([1, 3, 20, 200]))):
        time += draw(st.sampled_from([0, 0, 1, 2, 9, 60]))
        length = draw(st.sampled_from([0, 0, 0, 0, 1, 7, 80]))
        row = (draw(st.sampled_from("abc")), draw(st.sampled_from("kl")), draw(st.integers(-3, 3)))
        found.append(("v", row, time, time + length))
    return found


def by_definition(
    records: list[Record], key: Callable[[datetime], Hashable | None], function: str, unit: int
) -> dict[Row, set[int]]:
    """At which ticks each row holds."""
    held: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for _, row, lo, hi in records:
        held[row].update(range(lo, hi + 1))
    pairs: dict[tuple[Hashable, str], Pairs] = defaultdict(list)
    for (name, _, value), ticks in held.items():
        for tick in ticks:
            period = key(datetime.fromtimestamp(tick * unit, ZONE))
            if period is not None:
                pairs[period, name].append((tick, value))
    every = [tick for ticks in held.values() for tick in ticks]
    week = 8 * 86400 // unit
    periods: dict[Hashable, list[int]] = defaultdict(list)
    for tick in range(min(every, default=0) - week, max(every, default=-1) + week) if every else ():
        periods[key(datetime.fromtimestamp(tick * unit, ZONE))].append(tick)
    found: dict[Row, set[int]] = defaultdict(set)
    for (period, name), counted in pairs.items():
        value = FUNCTIONS[function](counted)
        assert value is not None
        found[name, value].update(periods[period])
    return dict(found)


def ticks_of(answers: list[Record]) -> dict[Row, set[int]]:
    """At which ticks each row is told to hold."""
    found: dict[Row, set[int]] = defaultdict(set)
    for _, row, lo, hi in answers:
        found[row].update(range(lo, hi + 1))
    return dict(found)


@pytest.mark.parametrize("period", PERIODS)
@drawn(40)
@given(data=st.data())
def test_columns_count_what_lies_in_each_period(period: str, data: st.DataObject) -> None:
    """In one stretch and in many; in one reading and in hundreds; over both changes of the clock."""
    unit = data.draw(st.sampled_from([600, 1200, 3600]))
    function = data.draw(st.sampled_from([*FUNCTIONS]))
    plan = compile(program(period, function, unit))
    records = data.draw(histories(data.draw(st.sampled_from(BEGINS)) // unit))
    times = [time for _, _, lo, hi in records for time in (lo, hi)]
    cuts = data.draw(st.lists(st.sampled_from(times), max_size=5))
    expected = by_definition(records, PERIODS[period], function, unit)
    assert ticks_of(answers_over_columns(plan, records, cuts)) == expected
    session = Session(plan, emit="final")
    session.push_records(records)
    session.finish()
    assert ticks_of(session.pull_records()) == expected


def kernels(period: str, timeline: str = "integer") -> Iterator[type]:
    """What computes the aggregate over columns."""
    text = program(period, "count()", 600).replace("timeline integer", f"timeline {timeline}")
    return (type(kernel) for kernel in ColumnCourse(compile(text), Pool()).kernels.values())


@pytest.mark.parametrize("period", ["day", "month"])
def test_answers_are_as_wide_as_their_group(period: str) -> None:
    """Rows of three arguments are counted, and answers have two."""
    run = ColumnCourse(compile(program(period, "count()", 600)), Pool())
    assert run.widths == {"m": 2}
    assert all(kernel.width == 2 for name, kernel in run.kernels.items() if name.startswith("m"))


def test_long_periods_keep_accounts_and_no_rows() -> None:
    """The rows of a year would be kept until it is over."""
    assert ColumnPeriods in kernels("day") and ColumnPeriods in kernels("week") and ColumnPeriods in kernels("office")
    assert ColumnPeriods not in kernels("month") and ColumnPeriods not in kernels("year")


def test_what_falls_into_too_many_periods_is_told() -> None:
    """A fact of ten thousand years is refused, as row by row."""
    plan = compile(program("hour", "count()", 600))
    with pytest.raises(OperatorError, match="more than 1,000,000 periods"):
        answers_over_columns(plan, [("v", ("a", "k", 1), 0, 10_000 * 366 * 24 * 6)])


def test_rows_without_an_end_count_in_the_periods_that_have_begun() -> None:
    """Columns and rows say the same where a stream ends with a period, and where it ends within one."""
    plan = compile("timeline integer, unit 6 h. c(N) :- N = count() over (diamondminus a) per day. output c.")
    for last in range(2, 9):
        session = Session(plan)
        records = [("a", (), 2, 2), ("a", (), last, last)]
        session.push_records(records)
        session.finish()
        told = session.pull_records()
        assert max(hi for _, _, _, hi in told) == last // 4 * 4 + 3
        assert ticks_of(told) == ticks_of(answers_over_columns(plan, records))
