"""Anti-join."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories
from tidelog.operators.antijoin import NEGATIVE, POSITIVE, AntiJoin
from tidelog.plans.facts import Row
from tidelog.plans.plan import AntiJoinShape, Feed, Step
from tidelog.plans.syntax import Constant, Term, Variable, Wildcard
from tidelog.plans.timeline import NEG, POS, Timeline
from tidelog.runtime.deploy import build_operator

X, Y = Variable("X"), Variable("Y")
POSITIVES = [("a", 1), ("a", 2), ("b", 1)]
NEGATIVES = [("a", 1), ("a", "a"), ("b", 2), ("c", 1)]

MENTIONED: list[tuple[tuple[Term, ...], Callable[[Row, Row], bool]]] = [
    ((X, Y), lambda row, other: row == other),
    ((X, Wildcard()), lambda row, other: row[0] == other[0]),
    ((X, X), lambda row, other: row[0] == other[0] == other[1]),
    ((Constant("b"), Wildcard()), lambda row, other: other[0] == "b"),
    ((X, Constant(2)), lambda row, other: row[0] == other[0] and other[1] == 2),
    ((Wildcard(), Wildcard()), lambda row, other: True),
]


def antijoin(negated: tuple[Term, ...] = (X, Y)) -> AntiJoin:
    step = Step("s", "s", AntiJoinShape(("X", "Y"), negated), (Feed("step", "m"), Feed("step", "n")))
    operator = build_operator(step, Timeline())
    assert isinstance(operator, AntiJoin)
    return operator


def test_the_undecided_waits() -> None:
    """What N's frontier has not passed waits; then it is sent less N's coverage."""
    operator = antijoin()
    row = ("a", 1)
    assert operator.receive(POSITIVE, [(row, 1, 9)], 9) == []
    assert operator.receive(NEGATIVE, [(row, 3, 4)], 5) == [(row, 1, 2), (row, 5, 5)]
    assert operator.receive(NEGATIVE, [(row, 7, POS)], 6) == [(row, 6, 6)]
    assert operator.receive(NEGATIVE, [], POS) == []
    assert operator.frontier == 9


def test_frontiers_on_either_side_first() -> None:
    """Where N is known already, M is decided as it comes."""
    operator = antijoin()
    row = ("a", 1)
    operator.receive(NEGATIVE, [(row, 3, 4)], 8)
    assert operator.receive(POSITIVE, [(row, 2, 10)], 2) == [(row, 2, 2), (row, 5, 8)]
    assert operator.receive(NEGATIVE, [], POS) == [(row, 9, 10)]


def test_without_a_promise_nothing_is_decided() -> None:
    """A fact without begin waits whole while N has promised nothing: N may hold at all times that have no begin, too."""
    operator = antijoin()
    row = ("a", 1)
    assert operator.receive(POSITIVE, [(row, NEG, 9)], NEG) == []
    assert operator.receive(NEGATIVE, [(row, NEG, 4)], 5) == [(row, 5, 5)]


@pytest.mark.slow
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots: M, where no row that the negated atom stands for holds."""
    negated, agrees = data.draw(st.sampled_from(MENTIONED))
    history = data.draw(histories([POSITIVES, NEGATIVES]))
    driver = Driver(lambda: antijoin(negated), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    excluded = history.coverage(NEGATIVE)
    for row in POSITIVES:
        times = history.coverage(POSITIVE, -40, 60).get(row, set())
        gone = set().union(*(span for other, span in excluded.items() if agrees(row, other)))
        assert sent.get(row, set()) == times - gone
    assert driver.operator.frontier == POS
