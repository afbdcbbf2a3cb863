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


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.sampled_from([0, 0, 0, 2])), max_size=12), st.booleans()
)
def test_each_point_has_what_holds_at_it(drawn: list[tuple[str, int, int]], is_restarted: bool) -> None:
    """Facts that hold at one time point alone, or on, are told in the order of their text; also after a restart between."""
    holds: dict[str, set[int]] = {name: set() for name in "abc"}
    told, points = [], Points(["on"])
    for name, lo, length in sorted(drawn, key=lambda fact: fact[1]):
        times = range(lo, lo + length + 1)
        if holds[name].isdisjoint(times):
            holds[name].update(times)
            points.receive("on", [((name,), lo, lo + length)], lo - 1)
    for time in range(10):
        told += points.arrive([time], time)
        told += points.receive("on", [], time)
        least = sum(max(times, default=-1) >= time for times in holds.values())
        assert points.entries().get("on", 0) >= least  # what held at the point that was told last is kept up to the next
        if is_restarted:
            before, points = points, Points(["on"])
            points.restore(json.loads(json.dumps(before.snapshot())))
    assert told == [("on", (name,), time, time) for time in range(10) for name in "abc" if time in holds[name]]
