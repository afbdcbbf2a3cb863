"""Move: rows go to the time in their last column."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories
from tidelog.operators.windows.move import Move
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS

BACK = 4


def test_a_row_holds_at_its_own_time_alone() -> None:
    """However long the body holds, the head holds at T+k, and is told once."""
    driver = Driver(lambda: Move(-1, BACK))
    assert driver.feed(0, [(("a", 7), 7, 9)], 6) == [(("a",), 6, 6)]
    assert driver.feed(0, [(("a", 7), 10, POS), (("a", 9), 10, 10)], 9) == [(("a",), 8, 8)]


def test_the_frontier_stays_behind_by_how_far_rows_go_back() -> None:
    """What the input has promised holds `back` earlier; without a bound, never before the end."""
    bounded, unbounded = Driver(lambda: Move(0, BACK)), Driver(lambda: Move(0, POS))
    for driver in (bounded, unbounded):
        driver.feed(0, [], 10)
    assert (bounded.operator.frontier, unbounded.operator.frontier) == (6, NEG)
    unbounded.feed(0, [], POS)
    assert unbounded.operator.frontier == POS


def test_what_is_no_time_is_counted() -> None:
    """A text, a fraction and a number beyond the timeline name no time: nothing is derived, and each is counted."""
    driver = Driver(lambda: Move(0, BACK))
    assert driver.feed(0, [(("a", "7"), 7, 9), (("a", 7.5), 7, 9), (("a", 1 << 61), 7, 9)], 6) == []
    assert driver.operator.failed_evaluations() == 3


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    return sorted(draw(st.sets(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 12)), max_size=5)))


@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order and batching, and through snapshots: at T+k wherever the row with T holds at some time."""
    shift = data.draw(st.integers(-2, 2))
    history = data.draw(histories([data.draw(rows())], infinite=False))
    back = max((hi - row[-1] - shift for _, facts, _ in history.messages for row, _, hi in facts), default=0)
    driver = Driver(lambda: Move(shift, max(back, 0)), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    expected: dict[Row, set[int]] = {}
    for row in history.coverage(0):
        expected.setdefault(row[:-1], set()).add(row[-1] + shift)
    assert sent == expected
    assert driver.operator.frontier == POS
