"""Aggregates over rows that go on holding, call by call."""

from __future__ import annotations

from operators.telling import hear, said
from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.standing.spells import Spells
from tidelog.plans.plan.plan import AggregateShape

A, B = ("a", 3), ("b", 5)


def test_the_last_value_is_that_of_the_row_that_ended_last() -> None:
    """Once all that went on has ended, the value of what did so last stays as long as the window has it."""
    op = Aggregate(AggregateShape("last", 4, 1, (), 1), lambda row: (), Spells())
    assert hear(op, 0, said(begun={A: 1, B: 2}), 5) == said([((3,), 1, 1)], begun={(5,): 2})
    assert hear(op, 0, said(ended=[(B, 2, 6)]), 7) == said(begun={(3,): 7}, ended=[((5,), 2, 6)])
    assert hear(op, 0, said(ended=[(A, 1, 8)]), 30) == said(ended=[((3,), 7, 12)])


def test_what_ends_before_the_first_window_that_has_it_is_counted_as_far_as_it_held() -> None:
    """A window with a step is looked at where it ends: what began and ended since the one before is in it with its times."""
    op = Aggregate(AggregateShape("count", 9, 10, (), None), lambda row: (), Spells())
    assert hear(op, 0, said(begun={A: 2, B: 3}), 4) == said()
    assert hear(op, 0, said([(B, 8, 8)], ended=[(A, 2, 5), (B, 3, 4)]), 6) == said()
    assert hear(op, 0, [], 25) == said([((7,), 10, 19)])
