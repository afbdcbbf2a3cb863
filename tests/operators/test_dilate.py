"""◇ and ◇⁺."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.definitions import CLOCKS, metrics, sometime, times_where
from operators.driving import FIRST, LAST, Driver, histories
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.union import Union
from tidelog.plans.data.timeline import NEG, POS, Metric

A, B = ("a",), (1,)

# On rationals 2 is the time 1 and 3 the gap behind it: a metric 4 … 8 is [2,4].
BRACKETS = [
    ("integer closed", Metric(2, 4), (3, 3), (5, 7), (-1, 1)),
    ("[2,4] of a point", Metric(4, 8), (2, 2), (6, 10), (-6, -2)),
    ("(2,4] of a point", Metric(4, 8, 1, 0), (2, 2), (7, 10), (-6, -3)),
    ("[2,4) of a point", Metric(4, 8, 0, 1), (2, 2), (6, 9), (-5, -2)),
    ("(2,4) of a point", Metric(4, 8, 1, 1), (2, 2), (7, 9), (-5, -3)),
    ("(2,4) of a gap", Metric(4, 8, 1, 1), (3, 3), (7, 11), (-5, -1)),
    ("[2,4] of a gap", Metric(4, 8), (3, 3), (7, 11), (-5, -1)),
    ("[2,2] of a gap", Metric(4, 4), (3, 3), (7, 7), (-1, -1)),
    ("[2,inf) of a point", Metric(4, POS), (2, 2), (6, POS), (NEG, -2)),
    ("(2,inf) of a point", Metric(4, POS, 1), (2, 2), (7, POS), (NEG, -3)),
    ("[2,4] of all time", Metric(4, 8), (NEG, POS), (NEG, POS), (NEG, POS)),
]


@pytest.mark.parametrize(("metric", "fact", "past", "future"), [case[1:] for case in BRACKETS], ids=[c[0] for c in BRACKETS])
def test_brackets(metric: Metric, fact: tuple[int, int], past: tuple[int, int], future: tuple[int, int]) -> None:
    """A fact is stretched by the interval, with the right ends, into the future (◇) or the past (◇⁺)."""
    assert Dilate(metric, future=False).receive(0, [(A, *fact)], NEG) == [(A, *past)]
    assert Dilate(metric, future=True).receive(0, [(A, *fact)], NEG) == [(A, *future)]


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_definition(timeline: str, future: bool, data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots, it holds where the operand holds at some distance in ϱ."""
    clock = CLOCKS[timeline]
    metric = data.draw(metrics(clock))
    history = data.draw(histories([[A, B]]))
    driver = Driver(lambda: Dilate(metric, future), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    operand = history.coverage(0)
    for row in (A, B):
        times = operand.get(row, set())
        assert sent.get(row, set()) == times_where(
            lambda t, times=times: sometime(clock, metric, _in(times), t, 1 if future else -1)
        )
    assert driver.operator.frontier == POS


def _in(times: set[int]):  # type: ignore[no-untyped-def]
    return times.__contains__


@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_sharp_facts_give_the_same(timeline: str, data: st.DataObject) -> None:
    """Behind a union whose reach is the longest gap that ◇ϱ bridges, ◇ϱ gives the same, each time once."""
    clock = CLOCKS[timeline]
    metric = data.draw(metrics(clock))
    reach = max(1, min(POS, metric.length + 1 - metric.left_open - metric.right_open))
    history = data.draw(histories([[A]]))
    union, dilate = Driver(lambda: Union(1, reach)), Driver(lambda: Dilate(metric, future=False))
    for port, facts, frontier in history.messages:
        dilate.feed(0, union.feed(port, facts, frontier), union.operator.frontier)
    times = history.coverage(0).get(A, set())
    expected = times_where(lambda t: sometime(clock, metric, _in(times), t, -1))
    assert {t for _, lo, hi in dilate.sent for t in range(max(lo, FIRST), min(hi, LAST) + 1)} == expected


def test_dense_facts_keep_one_range() -> None:
    """However dense the facts, the state is one range a row for each stretch of time."""
    dilate = Dilate(Metric(0, 20), future=False)
    for time in range(0, 1000, 2):
        dilate.receive(0, [(A, time, time)], time)
    assert dilate.entries() == 1


def test_a_shift_keeps_nothing() -> None:
    """A punctual interval only moves facts."""
    dilate = Dilate(Metric(6, 6), future=False)
    assert dilate.receive(0, [(A, 1, 3), (B, 4, POS)], 4) == [(A, 7, 9), (B, 10, POS)]
    assert (dilate.frontier, dilate.entries()) == (10, 0)
