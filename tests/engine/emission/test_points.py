"""What is told at each time point is kept in order, and only what comes or goes is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from engine.running import plan_of
from tidelog import Session
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.points import Points, Showing, Shown


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.integers(0, 50)), max_size=60))
def test_facts_stand_in_the_order_of_their_text(steps: list[tuple[str, int]]) -> None:
    """Whatever comes and goes, facts are sorted by text, and those of one text as they came."""
    with limits(block=3):
        held, order = Showing(), list[Shown]()
        for number, (text, pick) in enumerate(steps):
            if pick < len(order):
                held.remove(order.pop(pick))
            fact = (text, 0, "p", (number,), 0)
            held.add(fact)
            order.append(fact)
            order.sort(key=lambda fact: (fact[0], fact[3]))
            assert list(held) == order
            assert held.at(7) == [("p", row, 7, 7) for _, _, _, row, _ in order]
            assert all(block.facts for block in held.blocks)
        for fact in order:
            held.remove(fact)
        assert not held.blocks


@pytest.mark.pure
def test_points_touch_what_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1,000 facts that hold on, a time point touches the one that begins and the one that has ended alone."""
    session = Session(
        plan_of("timeline integer. input p(x). input q(x). h(X) :- diamondminus[0,3] p(X). h(X) :- q(X)."), emit="points"
    )
    session.push_records([("q", (row,), 0, 1_000_000) for row in range(1_000)])
    touched: list[str] = []
    for name in ("add", "remove"):
        method = getattr(Showing, name)
        monkeypatch.setattr(Showing, name, lambda self, fact, method=method: touched.append(fact[0]) or method(self, fact))
    for time in range(1, 11):
        session.push_records([("p", (f"new{time}",), time, time)])
        told = session.pull_records()
        if time > 5:
            assert len(told) == 1_004
    assert len(touched) <= 1_000 + 2 * 10


def test_what_stands_and_a_fact_without_an_end_are_told_apart_after_a_restart() -> None:
    """A row may stand, and hold for ever by a fact with the same begin: where it ends to stand, the fact goes on."""
    row = ("a",)
    first = Points(["on"], {"on": Announced()})
    first.receive("on", [(row, 3, POS)], 2, Notices([(row, 3)]))
    second = Points(["on"], {"on": Announced()})
    second.restore(json.loads(json.dumps(first.snapshot())))
    for points in (first, second):
        points.arrive([4, 9], 9)
        assert points.receive("on", [], 5) == [("on", row, 4, 4)]
        assert points.receive("on", [], 9, Notices([], [(row, 3, 6)])) == [("on", row, 9, 9)]
