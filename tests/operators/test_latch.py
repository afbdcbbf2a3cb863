"""Latch."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.definitions import CLOCKS, Clock, paired, times_where
from operators.driving import History, histories, points_of
from operators.telling import hear, move, said
from tidelog.operators.metric.latch import NEGATIVE, RIGHT, Latch
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.plan.plan import Announced, Feed, LatchShape, Step
from tidelog.plans.tree.syntax import Term, Variable, Wildcard
from tidelog.runtime.network.deploy import build_operator

X = Variable("X")
A, B = ("a",), ("b",)


def latch(clock: Clock, columns: tuple[str, ...] = ("X",), negated: tuple[Term, ...] = (X,)) -> Latch:
    step = Step("s", "s", LatchShape(columns, negated), (Feed("step", "n"), Feed("step", "m")))
    timeline = Timeline("integer" if clock.is_integer else "rational")
    operator = build_operator(step, timeline, announced=Announced(is_fed=True))
    assert isinstance(operator, Latch)
    return operator


def test_one_message_an_event() -> None:
    """What is switched on is told as far as it is certain, then announced; what switches it off takes that back."""
    operator = latch(CLOCKS["integer"])
    assert hear(operator, RIGHT, [(A, 5, 5)], 3) == said([(A, 5, 6)])
    assert operator.deadline() == (NEGATIVE, 4)
    assert move(operator, [4, 4]) == said(begun={A: 7})
    assert operator.deadline() is None
    assert move(operator, [7, 7]) == said()
    assert hear(operator, NEGATIVE, [(A, 9, 12)], 7) == said()
    assert operator.deadline() == (NEGATIVE, 8)
    assert move(operator, [8, 8]) == said(ended=[(A, 7, 9)])
    assert operator.entries() == 1


def test_what_is_switched_on_at_the_time_at_which_it_is_switched_off_stays_on() -> None:
    """Nothing lies between the two, whichever comes first."""
    for first, second in ((NEGATIVE, RIGHT), (RIGHT, NEGATIVE)):
        operator = latch(CLOCKS["integer"])
        hear(operator, RIGHT, [(A, 2, 2)], NEG)
        assert move(operator, [4, 4]) == said(begun={A: 4})
        told = [hear(operator, port, [(A, 5, 5)], NEG) for port in (first, second)]
        told += [move(operator, [4, 5]), move(operator, [6, 6]), hear(operator, NEGATIVE, [(A, 8, 8)], NEG)]
        told.append(move(operator, [8, 8]))
        assert points_of([fact for message in told for fact in (*message.facts, *message.ended)])[A] == {4, 5, 6, 7, 8}


def test_what_is_switched_on_and_off_leaves_nothing() -> None:
    """State follows the rows that are on, not those that were."""
    operator = latch(CLOCKS["integer"])
    for time in range(0, 6_000, 2):
        row = (f"s{time}",)
        operator.receive(RIGHT, [(row, time, time)], NEG)
        operator.advance([time + 1, time + 1])
        operator.receive(NEGATIVE, [(row, time + 2, time + 2)], NEG)
        operator.advance([time + 2, time + 2])
        operator.tidy()
    assert operator.held == {}
    assert operator.entries() < 1_000


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_equals_the_definition(kind: str, data: st.DataObject) -> None:
    """In any order and batching: `not N since[0,inf) M`, told as soon as N is known, and taken back as the rules say."""
    clock = CLOCKS[kind]
    history = data.draw(histories([[A, B], [A, B]]))
    negative, right = (history.coverage(port) for port in (NEGATIVE, RIGHT))

    def times_of(row: Row) -> set[int]:
        sides = (lambda t: t not in negative.get(row, ()), lambda t: t in right.get(row, ()))
        return times_where(lambda at: paired(clock, Metric(0, POS), sides, at, -1))

    expected = {row: times_of(row) for row in (A, B)}
    _assert_told(clock, history, {row: times for row, times in expected.items() if times}, data.draw(st.booleans()))


def _assert_told(clock: Clock, history: History, expected: dict[Row, set[int]], through_json: bool) -> None:
    operator = latch(clock)
    told: list[Fact] = []
    opened: dict[Row, int] = {}
    for port, facts, frontier in history.messages:
        message = hear(operator, port, list(facts), frontier)
        for row, lo, hi in message.ended:
            assert opened.pop(row) == lo
            told += [(row, lo, hi)] if lo <= hi else []
        assert not opened.keys() & message.begun.keys()
        opened |= message.begun
        assert all(lo <= hi for _, lo, hi in message.facts)
        told += message.facts
        assert dict(operator.standing_rows()) == opened
        known = operator.known()
        now = points_of([*told, *((row, lo, known) for row, lo in opened.items() if lo <= known)])
        assert all(times <= expected.get(row, set()) for row, times in now.items())
        for row, times in expected.items():
            assert {time for time in times if time <= operator.frontier} <= now.get(row, set())
        if through_json:
            state = json.loads(json.dumps(operator.snapshot()))
            operator = latch(clock)
            operator.restore(state)
            assert json.loads(json.dumps(operator.snapshot())) == state
    assert not opened
    assert points_of(told) == expected


def test_many_rows_hang_on_one_key() -> None:
    """The negated atom may mention a part of a row, and nothing at all."""
    operator = latch(CLOCKS["rational"], ("X", "Y"), (X, Wildcard()))
    hear(operator, RIGHT, [(("a", 1), 2, 2), (("a", 2), 4, 4), (("b", 1), 4, 4)], 4)
    assert move(operator, [5, 5]) == said(begun={("a", 1): 3, ("a", 2): 5, ("b", 1): 5})
    told = hear(operator, NEGATIVE, [(("a", "off"), 8, 8)], 7)
    assert told == said(ended=[(("a", 1), 3, 8), (("a", 2), 5, 8)])
    assert operator.standing_rows() == [(("b", 1), 5)]
