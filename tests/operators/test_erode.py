"""□, □⁺, and □ clipped where the stream starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.definitions import CLOCKS, always, always_since_start, metrics, times_where
from operators.driving import Driver, Message, histories
from operators.telling import hear, said
from tidelog.operators.metric.erode import Erode
from tidelog.plans.data.timeline import NEG, POS, Metric

A, B = ("a",), (1,)

# On rationals 2 is the time 1 and 3 the gap behind it: a metric 2 … 4 is [1,2].
BRACKETS = [
    ("integer closed", Metric(1, 3), (0, 9), (3, 10), (-1, 6)),
    ("[1,2] of [0,5]", Metric(2, 4), (0, 10), (4, 12), (-2, 6)),
    ("(1,2] of [0,5]", Metric(2, 4, 1, 0), (0, 10), (4, 12), (-2, 6)),
    ("(1,2) of [0,5]", Metric(2, 4, 1, 1), (0, 10), (4, 12), (-2, 6)),
    ("[1,2] of (0,5)", Metric(2, 4), (1, 9), (5, 11), (-1, 5)),
    ("[1,2) of (0,5)", Metric(2, 4, 0, 1), (1, 9), (4, 11), (-1, 6)),
    ("(1,2] of (0,5)", Metric(2, 4, 1, 0), (1, 9), (5, 12), (-2, 5)),
    ("(1,2) of (0,5)", Metric(2, 4, 1, 1), (1, 9), (4, 12), (-2, 6)),
    ("[1,2] without begin", Metric(2, 4), (NEG, 10), (NEG, 12), (NEG, 6)),
    ("[1,2] without end", Metric(2, 4), (0, POS), (4, POS), (-2, POS)),
]


@pytest.mark.parametrize(("metric", "fact", "past", "future"), [case[1:] for case in BRACKETS], ids=[c[0] for c in BRACKETS])
def test_brackets(metric: Metric, fact: tuple[int, int], past: tuple[int, int], future: tuple[int, int]) -> None:
    """A run is shortened by the interval, with the right ends, on its left (□) or on its right (□⁺)."""
    assert Erode(metric, future=False).receive(0, [(A, *fact)], NEG) == [(A, *past)]
    assert Erode(metric, future=True).receive(0, [(A, *fact)], NEG) == [(A, *future)]


def test_unbounded_needs_all_the_past() -> None:
    """□[0,inf) holds as long as nothing ever failed to hold."""
    assert Erode(Metric(0, POS), future=False).receive(0, [(A, NEG, 7), (B, 0, 7)], NEG) == [(A, NEG, 7)]


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_definition(timeline: str, future: bool, data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots, it holds where the operand holds at all distances in ϱ."""
    clock = CLOCKS[timeline]
    metric = data.draw(metrics(clock, unbounded=not future))
    history = data.draw(histories([[A, B]]))
    driver = Driver(lambda: Erode(metric, future), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    for row in (A, B):
        holds = history.coverage(0).get(row, set()).__contains__
        expected = times_where(lambda t, holds=holds: always(clock, metric, holds, t, 1 if future else -1))
        assert sent.get(row, set()) == expected
    assert driver.operator.frontier == POS


@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_clipped_definition(timeline: str, data: st.DataObject) -> None:
    """Clipped, only the times from the start on count; nothing is sent before the start is known, nor at times before it."""
    clock = CLOCKS[timeline]
    size = data.draw(st.integers(0, 4)) * (1 if clock.is_integer else 2)
    metric = Metric(0, size)
    history = data.draw(histories([[A, B]]))
    start = data.draw(st.integers(0, 20))
    position = data.draw(st.integers(0, len(history.messages)))
    told: Message = (1, [((), start, start)], POS)
    driver = Driver(lambda: Erode(metric, future=False, clipped=True), data.draw(st.booleans()))
    driver.feed_all(history.messages[:position])
    assert not driver.sent
    sent = driver.feed_all([told, *history.messages[position:]])
    for row in (A, B):
        holds = history.coverage(0).get(row, set()).__contains__
        expected = times_where(lambda t, holds=holds: always_since_start(clock, metric, holds, t, start))
        assert sent.get(row, set()) == expected


def test_the_cost_is_not_the_windows_length() -> None:
    """A run that grows for long is one range, and each tick sends one range."""
    erode = Erode(Metric(0, 10_000), future=False)
    sent = [fact for time in range(20_000) for fact in erode.receive(0, [(A, time, time)], time)]
    assert len(sent) == 10_000
    assert erode.entries() == 1


def test_a_blinking_fact_keeps_a_bounded_state() -> None:
    """A fact that holds at every other time leaves no more than its last runs."""
    erode = Erode(Metric(0, 100), future=False)
    most = 0
    for time in range(0, 4_000, 2):
        erode.receive(0, [(A, time, time)], time)
        most = max(most, erode.entries())
    assert most <= 2


def test_what_facts_have_told_beside_a_row_that_stands_is_not_told_again() -> None:
    """Facts told before a row is to stand, and beside it, lead up to a run that goes beyond them: this tells what is new."""
    operator = Erode(Metric(0, 4), future=False)
    table = [
        (said([(A, 4, 13)], begun={A: 19}), 3, said([(A, 8, 13)])),
        (said(), 6, said()),
        (said([(A, 14, 23)]), 11, said([(A, 14, 18), (A, 19, 23)])),
        (said(ended=[(A, 19, 18)]), 38, said()),
    ]
    for message, known, told in table:
        assert hear(operator, 0, message, known) == told


def test_what_was_told_before_a_row_began_to_stand_is_not_told_again() -> None:
    """A fact that lies ahead when its row begins to stand before it, and is lengthened meanwhile."""
    operator = Erode(Metric(0, 0), future=False)
    assert hear(operator, 0, said([(A, 14, 18)], begun={A: 7}), 11) == said([(A, 14, 18)], begun={A: 7})
    assert hear(operator, 0, [(A, 19, 21)], 11) == said([(A, 19, 21)])
    assert hear(operator, 0, said(ended=[(A, 7, 11)]), 26) == said(ended=[(A, 7, 11)])
