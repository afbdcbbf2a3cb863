"""Joins and negations that go through time, and boxes, over what stands."""

from __future__ import annotations

import json
from typing import TypeVar

from operators.telling import hear, said
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.metric.erode import Erode
from tidelog.plans.data.timeline import NEG, POS, Metric
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Comparison, Variable

T = TypeVar("T", StandingJoin, StandingAntiJoin, Erode)
X, Y = Variable("X"), Variable("Y")
A, B = ("a",), ("b",)


def test_an_open_row_and_one_with_an_end() -> None:
    """What they give is announced when both have begun, and taken back when the first of them has ended."""
    join = StandingJoin(JoinShape((X, Y), ((X,), (X, Y))), slowest=0)
    assert hear(join, 0, said(begun={A: 3}), 2) == hear(join, 1, [(("a", 7), 1, 9), (("a", 8), 20, 30)], 2) == said()
    hear(join, 0, [], 4)
    assert hear(join, 1, [], 4) == said(begun={("a", 7): 3})
    assert join.deadline() == (0, 10)
    hear(join, 0, [], 25)
    assert hear(join, 1, [], 25) == said(begun={("a", 8): 20}, ended=[(("a", 7), 3, 9)])
    hear(join, 0, said(ended=[(A, 3, 26)]), 27)
    assert hear(join, 1, [], 27) == said(ended=[(("a", 8), 20, 26)])
    assert join.entries() == 3  # a row of the second atom until 30, and its facts, for facts of the first that may come


def test_a_row_of_the_head_in_several_ways() -> None:
    """It stands as long as one choice of rows that span the frontier gives it; others take its place."""
    join = StandingJoin(JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),)), slowest=1)
    hear(join, 0, said(begun={A: NEG}), 50)
    told = hear(join, 1, [(("a", 7), 3, 9), (("a", 8), 10, 12), (("a", 9), 11, 20), (("a", "a"), 21, 40)], 8)
    assert told == said(begun={A: 3})
    join = _again(join, StandingJoin(JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),)), slowest=1))
    assert hear(join, 1, [], 11) == said()
    assert hear(join, 1, [], 20) == said()
    assert hear(join, 1, [], 50) == said(ended=[(A, 3, 20)])


def test_what_is_past_when_it_is_known_is_told_as_a_fact() -> None:
    """Nothing is announced that has ended by then; what never ends is told at the end."""
    join = StandingJoin(JoinShape((X,), ((X,), (X,))), slowest=0)
    hear(join, 1, [(A, NEG, POS), (B, NEG, POS)], POS)
    assert hear(join, 0, said([(A, 1, 2), (A, 5, 6)], begun={B: 4}), 9) == said([(A, 1, 2), (A, 5, 6)], begun={B: 4})
    assert hear(join, 0, [], POS) == said(ended=[(B, 4, POS)])


def test_a_row_that_ends_before_it_begins_again() -> None:
    """A row that was to begin again, and did not, holds no longer than it did, though its ports are out of step."""
    operator = StandingAntiJoin(lambda row: row, lambda row: row, slowest=1)
    hear(operator, 1, [], 5)
    assert hear(operator, 0, said(begun={A: 3}), 5) == said(begun={A: 3})
    hear(operator, 0, said(ended=[(A, 3, 5)], begun={A: 10}), 6)
    hear(operator, 0, said(ended=[(A, 10, 9)]), 9)
    assert hear(operator, 1, [], 30) == said(ended=[(A, 3, 5)])
    assert hear(operator, 0, [], 30) == said()


def test_a_negation_of_open_rows() -> None:
    """A row of M is announced where what is negated is taken back, and taken back where that is announced."""
    operator = StandingAntiJoin(lambda row: row[:1], lambda row: row, slowest=0)
    hear(operator, 0, said([(("a", 1), 0, 99)], begun={("a", 2): 4}), 5)
    assert hear(operator, 1, [], 5) == said(begun={("a", 1): 0, ("a", 2): 4})
    hear(operator, 0, [], 9)
    assert hear(operator, 1, said(begun={A: 8}), 9) == said(ended=[(("a", 1), 0, 7), (("a", 2), 4, 7)])
    operator = _again(operator, StandingAntiJoin(lambda row: row[:1], lambda row: row, slowest=0))
    hear(operator, 0, [], 20)
    assert hear(operator, 1, said(ended=[(A, 8, 12)]), 20) == said(begun={("a", 1): 13, ("a", 2): 13})


def test_a_box_over_an_open_row() -> None:
    """It is announced once its run has lasted long enough; a run that ends too early gives nothing."""
    operator = Erode(Metric(0, 5), future=False)
    assert hear(operator, 0, said(begun={A: 2, B: 2}), 3) == said()
    operator = _again(operator, Erode(Metric(0, 5), future=False))
    assert operator.standing_rows() == []
    assert hear(operator, 0, said(ended=[(A, 2, 4)]), 5) == said()
    assert operator.deadline() == (0, 7)
    assert hear(operator, 0, [], 7) == said(begun={B: 7})
    operator = _again(operator, Erode(Metric(0, 5), future=False))
    assert operator.standing_rows() == [(B, 7)]
    assert hear(operator, 0, said(ended=[(B, 2, 9)]), 10) == said(ended=[(B, 7, 9)])
    assert operator.entries() == 0


def test_what_is_to_be_looked_at_does_not_pile_up() -> None:
    """A row that is lengthened at each time, for long: it is noted once when it is to end."""
    join = StandingJoin(JoinShape((X,), ((X,), (X,))), slowest=0)
    hear(join, 0, said(begun={A: 0}), 0)
    hear(join, 1, [(A, 0, 1000)], 0)
    for time in range(1, 2_000):
        hear(join, 0, [], time)
        hear(join, 1, [(A, time + 1000, time + 1000)], time)
        assert len(join._turns) < 4
    hear(join, 0, [], 3_500)
    assert hear(join, 1, [], 3_500) == said(ended=[(A, 0, 2_999)])


def _again(operator: T, fresh: T) -> T:
    """The operator after a restart."""
    fresh.restore(json.loads(json.dumps(operator.snapshot())))
    return fresh


def test_boxes_that_are_never_full_do_not_pile_up() -> None:
    """A row that stands again and again, each time too short for a long box, is looked at once."""
    operator = Erode(Metric(0, 1_000_000), future=False)
    for time in range(0, 4_000, 4):
        hear(operator, 0, said(begun={A: time}), time + 1)
        hear(operator, 0, said(ended=[(A, time, time + 1)]), time + 2)
    assert operator.entries() < 300
