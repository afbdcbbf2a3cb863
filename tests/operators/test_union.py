"""Union."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories, points_of
from tidelog.operators.metric.union import Union
from tidelog.operators.stores.amortised import LIMITS
from tidelog.plans.data.timeline import POS

A, B = ("a",), ("a", 1)


def test_each_time_is_sent_once() -> None:
    """What two ports say is sent once; the frontier is that of the slower port."""
    union = Union(2)
    assert union.receive(0, [(A, 1, 5)], 4) == [(A, 1, 5)]
    assert union.receive(1, [(A, 0, 7), (B, 3, 3)], 9) == [(A, 0, 0), (A, 6, 7), (B, 3, 3)]
    assert union.frontier == 4


@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots, it holds where one of the ports holds."""
    history = data.draw(histories([[A, B], [A], [B]]))
    driver = Driver(lambda: Union(3), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    assert sent == points_of([fact for _, facts, _ in history.messages for fact in facts])
    assert driver.operator.frontier == POS


@pytest.mark.parametrize("reach", [2, 3, 6])
@given(data=st.data())
def test_sharp_facts_cover_gaps_within_reach_only(reach: int, data: st.DataObject) -> None:
    """With a reach, all that comes in is sent, and beyond it only gaps shorter than the reach."""
    history = data.draw(histories([[A], [A]]))
    driver = Driver(lambda: Union(2, reach), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages).get(A, set())
    known = points_of([fact for _, facts, _ in history.messages for fact in facts]).get(A, set())
    assert known <= sent
    for time in sent - known:
        before, behind = max(t for t in known if t < time), min(t for t in known if t > time)
        assert behind - before <= reach


def test_a_gap_behind_the_frontier_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap that is promised already is not covered any more: only the fact is sent (its readers bridge the gap)."""
    monkeypatch.setattr(LIMITS, "round", 256)
    union = Union(1, reach=8)
    assert union.receive(0, [(A, 1, 1)], 5) == [(A, 1, 1)]
    assert union.receive(0, [(A, 9, 9)], 8) == [(A, 6, 9)]


def test_dense_facts_keep_one_range() -> None:
    """As `#`-facts, facts closer together than the reach are one range, however many."""
    union = Union(1, reach=10)
    for time in range(0, 5_000, 9):
        union.receive(0, [(A, time, time)], time - 1)
    assert union.entries() == 1
