"""Going through time: joins, negations and boxes over what is announced."""

from __future__ import annotations

import json
from typing import TypeVar

from tidelog.operators.joins.open_antijoin import OpenAntiJoin
from tidelog.operators.joins.open_join import OpenJoin
from tidelog.operators.metric.open_erode import OpenErode
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS, Metric
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Comparison, Variable

T = TypeVar("T", OpenJoin, OpenAntiJoin, OpenErode)
X, Y = Variable("X"), Variable("Y")
A, B = ("a",), ("b",)


def test_an_open_row_and_one_with_an_end() -> None:
    """What they give is announced when both have begun, and taken back when the first of them has ended."""
    join = OpenJoin(JoinShape((X, Y), ((X,), (X, Y))), slowest=0)
    assert join.receive(0, [(A, 3, OPEN)], 2) == join.receive(1, [(("a", 7), 1, 9), (("a", 8), 20, 30)], 2) == []
    join.receive(0, [], 4)
    assert join.receive(1, [], 4) == [(("a", 7), 3, OPEN)]
    assert join.deadline() == (0, 10)
    join.receive(0, [], 25)
    assert join.receive(1, [], 25) == [(("a", 7), 3, SHUT), (("a", 7), 3, 9), (("a", 8), 20, OPEN)]
    join.receive(0, [(A, 3, SHUT), (A, 3, 26)], 27)
    assert join.receive(1, [], 27) == [(("a", 8), 20, SHUT), (("a", 8), 20, 26)]
    assert join.entries() == 3  # a row of the second atom until 30, and its facts, for facts of the first that may come


def test_a_row_of_the_head_in_several_ways() -> None:
    """It holds as long as one choice of rows gives it; where one takes the other's place, nothing is told."""
    join = OpenJoin(JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),)), slowest=1)
    join.receive(0, [(A, NEG, OPEN)], 50)
    told = join.receive(1, [(("a", 7), 3, 9), (("a", 8), 10, 12), (("a", 9), 11, 20), (("a", "a"), 21, 40)], 8)
    assert told == [(A, 3, OPEN)]
    join = _again(join, OpenJoin(JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),)), slowest=1))
    assert join.receive(1, [], 20) == []
    assert join.receive(1, [], 50) == [(A, 3, SHUT), (A, 3, 20)]


def test_what_is_past_when_it_is_known_is_told_as_a_fact() -> None:
    """Nothing is announced that has ended by then; what never ends is told at the end."""
    join = OpenJoin(JoinShape((X,), ((X,), (X,))), slowest=0)
    join.receive(1, [(A, NEG, POS), (B, NEG, POS)], POS)
    assert join.receive(0, [(A, 1, 2), (A, 5, 6), (B, 4, OPEN)], 9) == [(A, 1, 2), (A, 5, 6), (B, 4, OPEN)]
    assert join.receive(0, [], POS) == [(B, 4, SHUT), (B, 4, POS)]


def test_a_negation_of_open_rows() -> None:
    """A row of M is announced where what is negated is taken back, and taken back where that is announced."""
    operator = OpenAntiJoin(lambda row: row[:1], lambda row: row, slowest=0)
    operator.receive(0, [(("a", 1), 0, 99), (("a", 2), 4, OPEN)], 5)
    assert operator.receive(1, [], 5) == [(("a", 1), 0, OPEN), (("a", 2), 4, OPEN)]
    operator.receive(0, [], 9)
    told: list[Fact] = [(row, lo, kind) for row, lo in ((("a", 1), 0), (("a", 2), 4)) for kind in (SHUT, 7)]
    assert operator.receive(1, [(A, 8, OPEN)], 9) == told
    operator = _again(operator, OpenAntiJoin(lambda row: row[:1], lambda row: row, slowest=0))
    operator.receive(0, [], 20)
    assert operator.receive(1, [(A, 8, SHUT), (A, 8, 12)], 20) == [(("a", 1), 13, OPEN), (("a", 2), 13, OPEN)]


def test_a_box_over_an_open_row() -> None:
    """It is announced once its run has lasted long enough; a run that ends too early gives nothing."""
    operator = OpenErode(Metric(0, 5), future=False)
    assert operator.receive(0, [(A, 2, OPEN), (B, 2, OPEN)], 3) == []
    operator = _again(operator, OpenErode(Metric(0, 5), future=False))
    assert operator.announced_rows() == []
    assert operator.receive(0, [(A, 2, SHUT), (A, 2, 4)], 5) == []
    assert operator.deadline() == (0, 7)
    assert operator.receive(0, [], 7) == [(B, 7, OPEN)]
    operator = _again(operator, OpenErode(Metric(0, 5), future=False))
    assert operator.announced_rows() == [(B, 7)]
    assert operator.receive(0, [(B, 2, SHUT), (B, 2, 9)], 10) == [(B, 7, SHUT), (B, 7, 9)]
    assert operator.entries() == 0


def test_what_is_to_be_looked_at_does_not_pile_up() -> None:
    """A row that is lengthened at each time, for long: it is noted once when it is to end."""
    join = OpenJoin(JoinShape((X,), ((X,), (X,))), slowest=0)
    join.receive(0, [(A, 0, OPEN)], 0)
    join.receive(1, [(A, 0, 1000)], 0)
    for time in range(1, 2_000):
        join.receive(0, [], time)
        join.receive(1, [(A, time + 1000, time + 1000)], time)
        assert len(join._turns) < 4
    join.receive(0, [], 3_500)
    assert join.receive(1, [], 3_500) == [(A, 0, SHUT), (A, 0, 2_999)]


def _again(operator: T, fresh: T) -> T:
    """The operator after a restart."""
    fresh.restore(json.loads(json.dumps(operator.snapshot())))
    return fresh
