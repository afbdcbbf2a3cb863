"""Hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories, points_of
from tidelog.operators.loops.hold import Hold

A, B = ("a",), (1,)


def test_the_future_waits_for_its_release() -> None:
    """What begins behind the bound waits, and leaves in order of begin, then of arrival."""
    hold = Hold()
    hold.release(3)
    assert hold.receive(0, [(A, 9, 9), (A, 3, 5), (B, 4, 4), (A, 4, 8)], 0) == [(A, 3, 5)]
    assert hold.next_begin() == 4
    assert hold.release(8) == [(B, 4, 4), (A, 4, 8)]
    assert hold.release(2) == []
    assert hold.receive(0, [(B, 8, 8)], 0) == [(B, 8, 8)]
    assert (hold.entries(), hold.next_begin()) == (1, 9)


@given(data=st.data())
def test_nothing_is_lost_or_repeated(data: st.DataObject) -> None:
    """All that comes in goes out once, not before it is due, also through snapshots."""
    history = data.draw(histories([[A, B]]))
    driver = Driver(Hold, data.draw(st.booleans()))
    bound = -1
    for _, facts, _ in history.messages:
        driver.feed(0, facts)
        bound += data.draw(st.integers(0, 5))
        released = driver.operator.release(bound)  # type: ignore[attr-defined]
        driver.sent += released
        assert all(lo <= bound for _, lo, _ in driver.sent)
    driver.sent += driver.operator.release(50)  # type: ignore[attr-defined]
    assert points_of(driver.sent) == points_of([fact for _, facts, _ in history.messages for fact in facts])
    assert len(driver.sent) == sum(len(facts) for _, facts, _ in history.messages)


def test_a_clock_holds_back_the_frontier() -> None:
    """With a clock port, the frontier is that of the clock, where that is behind."""
    hold = Hold(2)
    hold.receive(0, [], 9)
    hold.receive(1, [], 4)
    assert hold.frontier == 4
