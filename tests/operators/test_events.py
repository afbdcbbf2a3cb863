"""Facts of a single time point beside what goes on holding: one look at their time, whichever port they come at.

Each case is a table of what comes (port, facts), how far both ports are known behind it, and what is told then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from limits import limits

from tidelog.operators.joins.open_antijoin import OpenAntiJoin
from tidelog.operators.joins.open_join import OpenJoin
from tidelog.operators.standing.sweeping import Sweeping
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.data.facts import Fact
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Comparison, Variable

X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")
A, B = ("a",), ("b",)
Step = tuple[int, list[Fact], int, list[Fact]]

PAIR = JoinShape((X, Y), ((X,), (X, Y)))
PROJECTED = JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),))  # rows that differ in Y are different ways
THREE = JoinShape((X, Y, Z), ((X,), (X, Y), (X, Z)))


def join(shape: JoinShape) -> OpenJoin:
    return OpenJoin(shape, slowest=0)


def negation() -> OpenAntiJoin:
    return OpenAntiJoin(lambda row: row[:1], lambda row: row, slowest=1)


CASES: dict[str, tuple[Callable[[], Sweeping], list[Step]]] = {
    "events behind the frontier pass as facts, and those to come wait": (
        partial(join, PAIR),
        [(0, [(A, 2, OPEN)], 2, []), (1, [(("a", 7), 1, 1), (("a", 7), 4, 4), (("a", 8), 9, 9)], 5, [(("a", 7), 4, 4)])],
    ),
    "an event at the time of a change meets what holds behind it": (
        partial(join, PAIR),
        [
            (0, [(A, 4, OPEN)], 3, []),
            (1, [(("a", 7), 3, 3), (("a", 7), 4, 4), (("a", 7), 8, 8), (("a", 7), 9, 9)], 7, [(("a", 7), 4, 4)]),
            (0, [(A, 4, SHUT), (A, 4, 8)], 12, [(("a", 7), 8, 8)]),
        ],
    ),
    "an event is not told of a row of the head that holds anyway": (
        partial(join, PROJECTED),
        [
            (0, [(A, 0, OPEN), (B, 0, OPEN)], 1, []),
            (1, [(("a", 7), 2, OPEN)], 2, [(A, 2, OPEN)]),
            (1, [(("a", 8), 5, 5), (("b", 8), 5, 5), (("b", 9), 5, 5)], 6, [(B, 5, 5)]),
        ],
    ),
    "events of one time at several ports meet each other": (
        partial(join, THREE),
        [
            (0, [(A, 0, OPEN)], 1, []),
            (1, [(("a", 1), 3, 3), (("a", 2), 4, 4)], 1, []),
            (2, [(("a", 5), 3, 3), (("a", 6), 5, 5)], 6, [(("a", 1, 5), 3, 3)]),
            (2, [(("a", 9), 8, 8)], 9, []),  # what was met at 3 holds no longer
        ],
    ),
    "an event of a row that goes on lengthens it": (
        partial(join, PAIR),
        [
            (0, [(A, 0, OPEN)], 1, []),
            (1, [(("a", 7), 3, 6), (("a", 7), 7, 7)], 5, [(("a", 7), 3, OPEN)]),
            (1, [], 9, [(("a", 7), 3, SHUT), (("a", 7), 3, 7)]),
        ],
    ),
    "what follows from events and facts alone is told ahead, once every port has some": (
        partial(join, PAIR),
        [
            (1, [(("a", 7), 5, 5), (("a", 8), 9, 9)], 2, []),
            (0, [(A, 4, 6)], 2, [(("a", 7), 5, 5)]),
            (0, [], 12, []),
        ],
    ),
    "a negation lets events through where nothing speaks against them": (
        negation,
        [
            (1, [(A, 3, OPEN)], 1, []),
            (0, [(("a", 1), 2, 2), (("a", 1), 3, 3), (("b", 1), 3, 3)], 4, [(("a", 1), 2, 2), (("b", 1), 3, 3)]),
            (1, [(A, 3, SHUT), (A, 3, 6)], 5, []),
            (0, [(("a", 1), 6, 6), (("a", 1), 7, 7)], 8, [(("a", 1), 7, 7)]),
        ],
    ),
}


def run(operator: Sweeping, steps: Sequence[Step]) -> None:
    for port, facts, known, expected in steps:
        told = operator.receive(port, facts, operator.frontiers[port])
        told += operator.advance([known] * len(operator.frontiers))
        assert told == expected


@pytest.mark.parametrize("name", CASES)
def test_events_beside_what_goes_on(name: str) -> None:
    """What is told of events, also where every limit on what may pile up is at its least."""
    make, steps = CASES[name]
    run(make(), steps)
    with limits(spare=0):
        run(make(), steps)


def test_events_wait_in_a_snapshot() -> None:
    """What waits for its time does so in an operator that goes on from the snapshot, and is due then."""
    first, second = join(PAIR), join(PAIR)
    first.receive(0, [(A, 2, OPEN)], 3)
    first.receive(1, [(("a", 7), 6, 6), (("a", 8), 5, 9)], 3)
    assert first.deadline() == (0, 5)
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert second.deadline() == (0, 5)
    assert second.advance([7, 7]) == [(("a", 7), 6, 6), (("a", 8), 5, OPEN)] == first.advance([7, 7])
