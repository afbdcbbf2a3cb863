"""Aggregates and thresholds over rows that go on holding, call by call."""

from __future__ import annotations

from fractions import Fraction

from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.open_threshold import OpenThreshold
from tidelog.operators.standing.spells import Spells
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.plan.plan import AggregateShape, ThresholdShape

A, B = ("a", 3), ("b", 5)


def test_the_last_value_is_that_of_the_row_that_ended_last() -> None:
    """Once all that went on has ended, the value of what did so last stays as long as the window has it."""
    op = Aggregate(AggregateShape("last", 4, 1, (), 1), lambda row: (), Spells())
    assert op.receive(0, [(A, 1, OPEN), (B, 2, OPEN)], 5) == [((3,), 1, 1), ((5,), 2, OPEN)]
    assert op.receive(0, [(B, 2, SHUT), (B, 2, 6)], 7) == [((5,), 2, SHUT), ((5,), 2, 6), ((3,), 7, OPEN)]
    assert op.receive(0, [(A, 1, SHUT), (A, 1, 8)], 30) == [((3,), 7, SHUT), ((3,), 7, 12)]


def test_what_ends_before_the_first_window_that_has_it_is_counted_as_far_as_it_held() -> None:
    """A window with a step is looked at where it ends: what began and ended since the one before is in it with its times."""
    op = Aggregate(AggregateShape("count", 9, 10, (), None), lambda row: (), Spells())
    assert op.receive(0, [(A, 2, OPEN), (B, 3, OPEN)], 4) == []
    assert op.receive(0, [(A, 2, SHUT), (A, 2, 5), (B, 3, SHUT), (B, 3, 4), (B, 8, 8)], 6) == []
    assert op.receive(0, [], 25) == [((7,), 10, 19)]


def test_a_fact_weighs_that_begins_with_the_first_open_row() -> None:
    """What begins together with the first row that goes on counts beside it, and so does what began before."""
    op = OpenThreshold(ThresholdShape(0, (), None, Fraction(3)), lambda row: ())
    op.receive(0, [(("c",), 1, 9)], 1)
    assert op.receive(0, [(B, 3, 6), (A, 3, OPEN)], 4) == [((), 3, OPEN)]
    assert op.receive(0, [], 7) == [((), 3, SHUT), ((), 3, 6)]
