"""Bind: times become values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from operators.driving import Driver, History, histories, points_of
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.windows.bind import Bind
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS

A, B = ("a",), (1,)


def test_each_time_becomes_a_row() -> None:
    """A range of times is as many rows, each at its own time, known at once."""
    driver = Driver(Bind)
    assert driver.feed(0, [(A, 4, 6)], 0) == [(("a", 4), 4, 4), (("a", 5), 5, 5), (("a", 6), 6, 6)]
    assert driver.operator.entries() == 0


def test_what_has_no_end_waits_for_the_clock() -> None:
    """A fact without an end is followed as the clock moves, and no further than its last time when the stream ends."""
    driver = Driver(Bind)
    assert driver.feed(0, [(A, 4, POS)], POS) == []
    assert driver.feed(1, [], 5) == [(("a", 4), 4, 4), (("a", 5), 5, 5)]
    assert driver.operator.frontier == 5
    assert driver.feed(1, [], 6) == [(("a", 6), 6, 6)]
    assert driver.feed(1, [], POS) == []
    assert driver.operator.frontier == POS


def test_a_long_fact_waits_for_the_clock_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long finite fact what lies behind the clock goes out, and at the stream's end all of it."""
    monkeypatch.setattr(LIMITS, "at_once", 2)
    driver = Driver(Bind)
    driver.feed(1, [], 2)
    assert driver.feed(0, [(A, 1, 4)]) == [(("a", 1), 1, 1), (("a", 2), 2, 2)]
    assert driver.feed(1, [], POS) == [(("a", 3), 3, 3), (("a", 4), 4, 4)]


def test_what_extends_an_endless_fact_to_the_left_is_endless_too() -> None:
    """It makes no difference whether an endless fact came whole or from its end to its begin."""
    driver = Driver(Bind)
    driver.feed(0, [(A, 8, POS), (A, 7, 7), (A, 5, 6)])
    assert driver.feed(1, [], 5) == [(("a", 5), 5, 5)]
    assert driver.feed(1, [], POS) == []


def test_what_has_no_begin_is_refused() -> None:
    """There is no first row of what holds since ever."""
    with pytest.raises(OverflowError, match="without a begin"):
        Bind().receive(0, [(A, NEG, 3)], 3)


def test_too_many_rows_are_refused_before_they_are_made() -> None:
    """One message makes at most a million rows, from a fact or from a leap of the clock."""
    operator = Bind()
    operator.receive(0, [(A, 0, POS)], 0)
    with pytest.raises(OverflowError, match="1,000,000"):
        operator.receive(1, [], 1 << 40)
    short = Bind()
    short.receive(1, [], POS)
    with pytest.raises(OverflowError, match="1,000,000"):
        short.receive(0, [(A, 0, 600_000), (B, 0, 600_000)], 0)


@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order and batching, and through snapshots: a row for each time of a run, of an endless one up to the clock."""
    with limits(at_once=data.draw(st.sampled_from([1, 3, 1000]))):
        history = _with_begins(data.draw(histories([[A, B], []])))
        driver = Driver(Bind, data.draw(st.booleans()))
        driver.feed_all(history.messages)
    latest = max((frontier for port, _, frontier in history.messages if port == 1 and frontier < POS), default=NEG)
    for row in (A, B):
        assert all(lo == hi == sent[-1] for sent, lo, hi in driver.sent)
        found = {lo for sent, lo, _ in driver.sent if sent[:-1] == row}
        times, endless = _runs(history, row)
        assert {time for time in found if time < endless or time <= latest} == {
            time for time in times if time < endless or time <= latest
        }
        assert found <= times
    assert driver.operator.frontier == POS


def _with_begins(history: History) -> History:
    def begun(fact: Fact) -> Fact:
        return (fact[0], max(fact[1], -30), fact[2])

    return History([(port, [begun(fact) for fact in facts], frontier) for port, facts, frontier in history.messages])


def _runs(history: History, row: tuple[object, ...]) -> tuple[set[int], int]:
    """The times at which a row holds, and where its run without an end begins."""
    facts = [fact for port, facts, _ in history.messages if port == 0 for fact in facts if fact[0] == row]
    times = points_of(facts, -100, 200).get(row, set())
    endless = max((lo for _, lo, hi in facts if hi == POS), default=POS)
    while endless - 1 in times:
        endless -= 1
    return times, endless
