"""Operators over what stands, beside their definitions, evaluated time by time: whatever comes when, as one channel may."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import LEAST, limits

from drawing import drawn
from operators.definitions import CLOCKS, always, times_where
from operators.driving import Points, points_of
from operators.joining import joined
from operators.standing_messages import Told, told_at
from operators.telling import Message, hear, move
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.metric.erode import Erode
from tidelog.operators.operator import Operator
from tidelog.operators.stores.amortised import Limits
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Comparison, Constant, Variable, Wildcard

X, Y, Z = map(Variable, "XYZ")
ANY, ONE = Wildcard(), Constant(1)
INTEGER = CLOCKS["integer"]
USUAL = {name: getattr(Limits(), name) for name in LEAST}

PAIRS = [
    JoinShape((X,), ((X,), (X,))),
    JoinShape((X, Y), ((X,), (X, Y))),
    JoinShape((X,), ((X,), (X, Y))),  # what Y is does not matter: rows that differ in it are different ways
    JoinShape((X,), ((X, ANY), (X,))),
    JoinShape((X,), ((X, ANY), (X, ANY))),
    JoinShape((), ((X, ANY), (X,))),
    JoinShape((X,), ((X,), (ANY, ANY))),
    JoinShape((X, Y), ((X, Y), (Y, X))),
    JoinShape((X, Y), ((X,), (Y,))),
    JoinShape((X, Y), ((X,), (Y,)), (Comparison("<", X, Y),)),
    JoinShape((X,), ((X,), (X, ONE))),
    JoinShape((X,), ((X, X), (X,))),
    JoinShape((X, Z), ((X, Y), (Y, Z))),
]
LONGER = [
    JoinShape((X,), ((X,), (X,), (X,))),
    JoinShape((X,), ((X,), (X, Y), (Y,))),
    JoinShape((X, Z), ((X, Y), (Y, Z), (Z,)), (Comparison("!=", X, Z),)),
    JoinShape((X,), ((X,), (X, Y), (Y, Z), (Z,))),
    JoinShape((X,), ((X,), (X, ANY), (Y,), (X, Y))),
]

SHAPES = {"two atoms": PAIRS, "more atoms": LONGER}

Key = Callable[[Row], Row]
NEGATIONS: dict[str, tuple[Key, Key, list[int]]] = {  # by what rows of either side agree, and how many columns these have
    "of whole rows": (tuple, tuple, [1, 1]),
    "of a part of the row": (lambda row: row[:1], tuple, [2, 1]),
    "of what has more columns": (tuple, lambda row: row[:1], [1, 2]),
}


@dataclass
class Listener:
    """Hears what an operator tells, and fails as soon as that is not what a channel may say."""

    once: bool  # whether no time is told twice as a fact
    facts: list[Fact] = field(default_factory=list)
    ended: list[Fact] = field(default_factory=list)
    stands: dict[Row, int] = field(default_factory=dict)

    def hear(self, told: Message, promised: int) -> None:
        """What is told while all up to `promised` has been told."""
        for row, lo, hi in told.facts:
            assert promised < lo <= hi or NEG == promised < POS
            if self.once:
                assert not [fact for fact in self.facts if fact[0] == row and fact[1] <= hi and lo <= fact[2]]
            self.facts.append((row, lo, hi))
        for row, lo, hi in told.ended:
            assert self.stands.pop(row, None) == lo
            assert hi >= promised
            self.ended.append((row, lo, hi))
        for row, lo in told.begun.items():
            assert row not in self.stands
            assert lo > promised
            self.stands[row] = lo

    def points(self) -> Points:
        """All that it has heard of, once nothing stands any more."""
        assert not self.stands
        return points_of([*self.facts, *(fact for fact in self.ended if fact[1] <= fact[2])])


def tell(make: Callable[[], Operator], told: Sequence[Told], *, again: int, followed: bool, once: bool) -> Points:
    """What follows from some messages. From a snapshot it goes on behind each that has a number which `again` divides; it is
    `followed` where the frontiers are told to it behind each message."""
    operator, listener = make(), Listener(once)
    known = list(operator.frontiers)
    for number, (port, message, frontier) in enumerate(told, 1):
        operator.takes_notices, operator.is_followed = True, followed
        promised = operator.frontier
        listener.hear(hear(operator, port, message, known[port] if followed else frontier), promised)
        known[port] = frontier
        if followed:
            listener.hear(move(operator, known), promised)
        assert operator.frontier >= promised
        if again and number % again == 0:
            state = json.dumps(operator.snapshot())
            operator = make()
            operator.restore(json.loads(state))
    assert operator.frontier == POS
    return listener.points()


def answers(data: st.DataObject, make: Callable[[], Operator], columns: Sequence[int]) -> tuple[list[Points], Points]:
    """What holds at the ports of an operator, and what it tells."""
    channels, told = data.draw(told_at(columns), "told")
    again = data.draw(st.sampled_from([0, 0, 1, 3]), "a snapshot behind each")
    followed = data.draw(st.booleans(), "followed")
    least = data.draw(st.booleans(), "least limits")
    once = not any(channel.repeats() for channel in channels)
    with limits(**(LEAST if least else USUAL)):
        return [channel.times for channel in channels], tell(make, told, again=again, followed=followed, once=once)


@pytest.mark.slow
@pytest.mark.parametrize("atoms", SHAPES)
@drawn(1_600)
@given(data=st.data())
def test_join(atoms: str, data: st.DataObject) -> None:
    """All combinations of rows, at the times at which all of them hold."""
    shape = data.draw(st.sampled_from(SHAPES[atoms]), "shape")
    columns = [len(atom) for atom in shape.atoms]
    slowest = data.draw(st.integers(0, len(columns) - 1), "slowest")
    times, told = answers(data, lambda: StandingJoin(shape, slowest), columns)
    assert told == joined(shape, times)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEGATIONS)
@drawn(1_000)
@given(data=st.data())
def test_negation(name: str, data: st.DataObject) -> None:
    """A row of M, but for the times at which a row of N that agrees with it holds."""
    key, match, columns = NEGATIONS[name]
    slowest = data.draw(st.integers(0, 1), "slowest")
    (positive, negative), told = answers(data, lambda: StandingAntiJoin(key, match, slowest), columns)
    left = {
        row: times - set().union(*(against for other, against in negative.items() if match(other) == key(row)))
        for row, times in positive.items()
    }
    assert told == {row: times for row, times in left.items() if times}


@pytest.mark.slow
@drawn(1_600)
@given(data=st.data())
def test_box(data: st.DataObject) -> None:
    """The times at which a row has held, or will hold, for the whole of a stretch."""
    nearest, more = data.draw(st.sampled_from([0, 0, 1, 2])), data.draw(st.sampled_from([0, 1, 2, 4, 7]))
    metric, future = Metric(nearest, nearest + more), data.draw(st.booleans(), "future")
    (held,), told = answers(data, partial(Erode, metric, future), [1])
    full = {
        row: times_where(lambda t, times=times: always(INTEGER, metric, times.__contains__, t, 1 if future else -1))
        for row, times in held.items()
    }
    assert told == {row: times for row, times in full.items() if times}
