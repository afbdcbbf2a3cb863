"""Anti-join."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories, points_of
from operators.telling import hear, said
from tidelog.operators.joins.antijoin import NEGATIVE, POSITIVE, AntiJoin
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import Announced, AntiJoinShape, Feed, Step
from tidelog.plans.tree.syntax import Constant, Term, Variable, Wildcard
from tidelog.runtime.network.deploy import build_operator

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


def antijoin(negated: tuple[Term, ...] = (X, Y), *, announces: bool = False) -> AntiJoin:
    step = Step("s", "s", AntiJoinShape(("X", "Y"), negated), (Feed("step", "m"), Feed("step", "n")))
    operator = build_operator(step, Timeline(), announced=Announced() if announces else None)
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
    assert operator.receive(POSITIVE, [], 12) == []
    assert operator.receive(NEGATIVE, [(row, NEG, 4)], 5) == [(row, 5, 5)]


def test_what_has_kept_a_row_from_holding_is_not_forgotten_too_early() -> None:
    """N holds until 3, and is forgotten there; M goes on until 4, and holds at 4 alone."""
    operator = antijoin()
    row = ("a", 1)
    operator.receive(POSITIVE, [(row, 0, 4)], NEG)
    operator.receive(NEGATIVE, [(row, 0, 3)], 0)
    operator.receive(POSITIVE, [], 3)
    operator.receive(NEGATIVE, [], 3)
    operator.receive(POSITIVE, [], POS)
    assert operator.receive(NEGATIVE, [], POS) == [(row, 4, 4)]


@pytest.mark.slow
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots: M, where no row that the negated atom stands for holds."""
    negated, agrees = data.draw(st.sampled_from(MENTIONED))
    history = data.draw(histories([POSITIVES, NEGATIVES]))
    driver = Driver(lambda: antijoin(negated), data.draw(st.booleans()))
    driver.feed_all(history.messages)
    sent = points_of(driver.sent)
    excluded = history.coverage(NEGATIVE)
    for row in POSITIVES:
        times = history.coverage(POSITIVE, -40, 60).get(row, set())
        gone = set().union(*(span for other, span in excluded.items() if agrees(row, other)))
        assert sent.get(row, set()) == times - gone
    assert driver.operator.frontier == POS


def test_what_nothing_happens_to_is_announced_once() -> None:
    """Of 1,000 open rows each is told when it begins, and when it ends; in between nothing is due."""
    operator = antijoin(announces=True)
    hear(operator, POSITIVE, [((i, 0), 0, 500) for i in range(1000)], 0)
    assert hear(operator, NEGATIVE, [], 0) == said(begun={(i, 0): 0 for i in range(1000)})
    assert operator.deadline() == (NEGATIVE, 500)
    told = [hear(operator, NEGATIVE, [((time, 0), time, POS)], time) for time in range(1, 500)]
    assert told == [said(ended=[((time, 0), 0, time - 1)]) for time in range(1, 500)]
    assert {hi for _, _, hi in hear(operator, NEGATIVE, [], 500).ended} == {500}


def test_what_is_due_does_not_pile_up() -> None:
    """A row that holds for long is shut and opened a thousand times: what is noted of it stays as it was."""
    operator = antijoin(announces=True)
    operator.receive(0, [(("a", "b"), 0, 1_000_000)], POS)
    told = []
    for time in range(2, 2_002, 2):
        operator.receive(1, [(("a", "b"), time, time)], time - 1)
        told += operator.receive(1, [], time + 1)
    assert [fact for fact in told if fact[2] <= POS] == [(("a", "b"), lo, lo + (lo == 0)) for lo in [0, *range(3, 2_001, 2)]]
    assert len(operator._ends) < 200


def test_what_cannot_hold_is_let_go_before_it_begins() -> None:
    """Facts that begin together are looked at as others come; those left are told in the order in which they came."""
    operator = antijoin()
    rows = [(f"s{i}", i) for i in range(100)]
    operator.receive(POSITIVE, [(("first", 0), 9, 9)], NEG)
    operator.receive(POSITIVE, [(row, 10, 10) for row in rows], NEG)
    operator.receive(NEGATIVE, [(row, 5, 12) for row in rows if row[1] % 4], 9)
    assert len(operator.waiting) == 100
    for i in range(60):
        operator.receive(POSITIVE, [((f"t{i}", i), 20, 20)], NEG)
    assert len(operator.waiting) == 25 + 60
    operator.receive(POSITIVE, [(("last", 1), 10, 10)], NEG)
    assert operator.receive(NEGATIVE, [], 10) == [(row, 10, 10) for row in [*rows[::4], ("last", 1)]]


def test_what_was_kept_from_holding_begins_after_a_restart() -> None:
    """A fact waits for the end of what negates it; a snapshot in which that has been forgotten makes it no later."""
    operator = antijoin()
    row = ("a", 1)
    operator.receive(POSITIVE, [(row, 0, 99)], 0)
    operator.receive(NEGATIVE, [(row, 0, 0)], 0)
    restored = antijoin()
    restored.restore(json.loads(json.dumps(operator.snapshot())))
    assert operator.negative.rows == restored.negative.rows == {}
    assert restored.deadline() == operator.deadline() == (NEGATIVE, 1)
    assert restored.receive(NEGATIVE, [], 5) == [(row, 1, 5)]
