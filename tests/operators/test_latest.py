"""The last value of a group, held until the next, for a time at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from operators.deadlines import check_deadline
from operators.driving import FIRST, LAST, Driver, Points, histories, points_of
from operators.telling import hear, said
from tidelog.operators.grouped.latest import Latest
from tidelog.operators.stores.pieces import Pieces
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

ROWS: list[Row] = [("a", 1), ("a", 2), ("b", 1)]


def latest(size: int = 10, *, announces: bool = False) -> Latest:
    operator = Latest(lambda row: row[:1], size)
    operator.pieces = None if announces else Pieces()
    return operator


def test_a_value_is_held_until_the_next() -> None:
    """What holds is told at once; that it is held, as far as nothing can come in between."""
    operator = latest()
    assert operator.receive(0, [(ROWS[0], 2, 2)], 2) == [(ROWS[0], 2, 2)]
    assert operator.receive(0, [], 5) == [(ROWS[0], 3, 5)]
    assert operator.receive(0, [(ROWS[1], 7, 7)], 7) == [(ROWS[0], 6, 6), (ROWS[1], 7, 7)]


def test_a_value_is_too_old_at_last() -> None:
    """It is held for the window's length, and then forgotten with its group."""
    operator = latest(3)
    operator.receive(0, [(ROWS[0], 2, 2)], 2)
    assert operator.receive(0, [], 100) == [(ROWS[0], 3, 5)]
    assert operator.entries() == 0
    assert operator.frontier == 100


def test_a_late_value_takes_over_where_it_comes() -> None:
    """A fact within the lateness comes before what was held is told beyond it."""
    operator = latest()
    operator.receive(0, [(ROWS[0], 2, 2), (ROWS[1], 9, 9)], 4)
    assert operator.receive(0, [(ROWS[1], 6, 6)], 9) == [(ROWS[0], 5, 5), (ROWS[1], 6, 6), (ROWS[1], 7, 8)]


def test_values_of_one_time_are_held_together() -> None:
    """Of several rows that ended last, all are held; one that ended before is not."""
    operator = latest()
    operator.receive(0, [(ROWS[0], 1, 4), (ROWS[1], 2, 4)], 4)
    assert operator.receive(0, [], 6) == [(ROWS[0], 5, 6), (ROWS[1], 5, 6)]


def test_for_ever() -> None:
    """Without a limit of age a value is held for ever; a fact without an end needs no holding."""
    operator = latest(POS)
    operator.receive(0, [(ROWS[0], -5, -5), (ROWS[2], 1, POS)], 1)
    assert operator.receive(0, [], POS) == [(ROWS[0], 2, POS)]


def test_what_is_held_is_announced() -> None:
    """That a value goes on being held is told once, and once that it is held no more."""
    operator = latest(100, announces=True)
    told = hear(operator, 0, [((str(i), 1), 0, 0) for i in range(1000)], 2)
    assert told.begun == {(str(i), 1): 1 for i in range(1000)}
    told = hear(operator, 0, [(("7", 2), 5, 5)], 5)
    assert told == said([(("7", 2), 5, 5)], ended=[(("7", 1), 1, 4)])
    assert hear(operator, 0, [], 8) == said(begun={("7", 2): 6})
    assert hear(operator, 0, [], 9) == said()


def test_what_is_planned_does_not_pile_up() -> None:
    """Where facts come before their time, a group is planned anew for each; what it had planned is forgotten."""
    operator = latest(10**9, announces=True)
    for time in range(0, 10_000, 10):
        operator.receive(0, [(("a", time % 7), time + 3, time + 3)], time)
        operator.receive(0, [], time + 5)
    assert len(operator._agenda) < 100


@pytest.mark.slow
@drawn(50)
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, through snapshots: what held at the group's last time in the window."""
    size = data.draw(st.one_of(st.integers(0, 12), st.just(POS)))
    history = data.draw(histories([ROWS]))
    driver = Driver(lambda: latest(size), data.draw(st.booleans()))
    for port, facts, frontier in history.messages:
        driver.feed(port, facts, frontier)
        assert isinstance(driver.operator, Latest)
        check_deadline(driver.operator, lambda: latest(size))
    assert points_of(driver.sent) == _held(history.coverage(0, FIRST - 1000, LAST), size)
    assert driver.operator.frontier == POS


def _held(coverage: Points, size: int) -> Points:
    held: Points = {}
    for time in range(FIRST, LAST + 1):
        for row, times in coverage.items():
            group = {at for other, own in coverage.items() if other[0] == row[0] for at in own}
            seen = [at for at in group if time - size <= at <= time]
            if seen and max(seen) in times:
                held.setdefault(row, set()).add(time)
    return held


def test_what_changes_nothing_costs_nothing() -> None:
    """However many groups hold a value, a fact of one looks at that one alone."""
    operator = latest(10**9, announces=True)
    facts: list[Fact] = [((str(i), 1), 0, 0) for i in range(10_000)]
    operator.receive(0, facts, 0)
    told = [len(operator.receive(0, [(("5", i % 3), i, i)], i)) for i in range(1, 500)]
    assert sum(told[1:]) <= 5 * 500
