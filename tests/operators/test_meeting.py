"""Facts that lie wholly behind the frontier beside what goes on holding: one look, whichever port they come at.

Each case is a table of what comes (port, facts), how far both ports are known behind it, and what is told then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from limits import limits

from operators.telling import Message, hear, move, said
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.standing.sweeping import Sweeping
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Comparison, Variable

X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")
A, B = ("a",), ("b",)
Step = tuple[int, Message, int, Message]

PAIR = JoinShape((X, Y), ((X,), (X, Y)))
PROJECTED = JoinShape((X,), ((X,), (X, Y)), (Comparison("!=", X, Y),))  # rows that differ in Y are different ways
THREE = JoinShape((X, Y, Z), ((X,), (X, Y), (X, Z)))


def join(shape: JoinShape) -> StandingJoin:
    return StandingJoin(shape, slowest=0)


def negation() -> StandingAntiJoin:
    return StandingAntiJoin(lambda row: row[:1], lambda row: row, slowest=1)


CASES: dict[str, tuple[Callable[[], Sweeping], list[Step]]] = {
    "events behind the frontier pass as facts, and those to come wait": (
        partial(join, PAIR),
        [
            (0, said(begun={A: 2}), 2, said()),
            (1, said([(("a", 7), 1, 1), (("a", 7), 4, 4), (("a", 8), 9, 9)]), 5, said([(("a", 7), 4, 4)])),
        ],
    ),
    "an event at the time of a change meets what holds behind it": (
        partial(join, PAIR),
        [
            (0, said(begun={A: 4}), 3, said()),
            (1, said([(("a", 7), 3, 3), (("a", 7), 4, 4), (("a", 7), 8, 8), (("a", 7), 9, 9)]), 7, said([(("a", 7), 4, 4)])),
            (0, said(ended=[(A, 4, 8)]), 12, said([(("a", 7), 8, 8)])),
        ],
    ),
    "an event is not told of a row of the head that holds anyway": (
        partial(join, PROJECTED),
        [
            (0, said(begun={A: 0, B: 0}), 1, said()),
            (1, said(begun={("a", 7): 2}), 2, said(begun={A: 2})),
            (1, said([(("a", 8), 5, 5), (("b", 8), 5, 5), (("b", 9), 5, 5)]), 6, said([(B, 5, 5)])),
        ],
    ),
    "events of one time at several ports meet each other": (
        partial(join, THREE),
        [
            (0, said(begun={A: 0}), 1, said()),
            (1, said([(("a", 1), 3, 3), (("a", 2), 4, 4)]), 1, said()),
            (2, said([(("a", 5), 3, 3), (("a", 6), 5, 5)]), 6, said([(("a", 1, 5), 3, 3)])),
            (2, said([(("a", 9), 8, 8)]), 9, said()),  # what was met at 3 holds no longer
        ],
    ),
    "an event of a row that goes on lengthens it": (
        partial(join, PAIR),
        [
            (0, said(begun={A: 0}), 1, said()),
            (1, said([(("a", 7), 3, 6), (("a", 7), 7, 7)]), 5, said(begun={("a", 7): 3})),
            (1, said(), 9, said(ended=[(("a", 7), 3, 7)])),
        ],
    ),
    "what follows from events and facts alone is told ahead, once every port has some": (
        partial(join, PAIR),
        [
            (1, said([(("a", 7), 5, 5), (("a", 8), 9, 9)]), 2, said()),
            (0, said([(A, 4, 6)]), 2, said([(("a", 7), 5, 5)])),
            (0, said(), 12, said()),
        ],
    ),
    "a fact that passes meets what has held meanwhile, though it has ended": (
        partial(join, PAIR),
        [
            (0, said(begun={A: 2, B: 2}), 2, said()),
            (0, said(ended=[(A, 2, 6)], begun={A: 9}), 2, said()),
            (
                1,
                said([(("a", 7), 3, 10), (("b", 7), 4, 5)]),
                12,
                said([(("a", 7), 3, 6), (("a", 7), 9, 10), (("b", 7), 4, 5)]),
            ),
            (1, said([(("a", 8), 13, 14)]), 15, said([(("a", 8), 13, 14)])),  # what has ended is not met any more
        ],
    ),
    "a fact that spans the frontier stands until its end": (
        partial(join, PAIR),
        [
            (0, said(begun={A: 2}), 2, said()),
            (1, said([(("a", 7), 4, 9)]), 5, said(begun={("a", 7): 4})),
            (1, said([(("a", 8), 7, 8)]), 12, said([(("a", 8), 7, 8)], ended=[(("a", 7), 4, 9)])),
        ],
    ),
    "facts of several ways are told once, and beside what stands not at all": (
        partial(join, PROJECTED),
        [
            (0, said(begun={A: 0, B: 0}), 1, said()),
            (1, said([(("a", 1), 2, 5), (("a", 2), 4, 8), (("a", 3), 4, 6)]), 9, said([(A, 2, 5), (A, 6, 8)])),
            (
                1,
                said([(("a", 4), 11, 12), (("b", 4), 11, 12)], begun={("a", 7): 10}),
                14,
                said([(B, 11, 12)], begun={A: 10}),
            ),
        ],
    ),
    "facts of several ports that pass meet each other and what stands": (
        partial(join, THREE),
        [
            (0, said(begun={A: 0}), 1, said()),
            (1, said([(("a", 1), 3, 6)]), 1, said()),
            (2, said([(("a", 5), 5, 8), (("a", 6), 2, 3)]), 9, said([(("a", 1, 5), 5, 6), (("a", 1, 6), 3, 3)])),
        ],
    ),
    "many facts under one key are found by their times": (
        partial(join, THREE),
        [
            (0, said(begun={A: 0}), 1, said()),
            (1, said([(("a", n), 10 * n, 10 * n + 3) for n in range(1, 40)]), 1, said()),
            (2, said([(("a", 0), 50, 51)]), 500, said([(("a", 5, 0), 50, 51)])),
        ],
    ),
    "a negation cuts a fact that passes by all that has spoken against it": (
        negation,
        [
            (1, said(begun={A: 3}), 1, said()),
            (0, said([(("a", 1), 2, 20), (("b", 1), 2, 20)]), 1, said()),
            (
                1,
                said([(A, 11, 12)], ended=[(A, 3, 6)], begun={A: 18}),
                24,
                said([(("a", 1), 2, 2), (("a", 1), 7, 10), (("a", 1), 13, 17), (("b", 1), 2, 20)]),
            ),
        ],
    ),
    "a negation lets events through where nothing speaks against them": (
        negation,
        [
            (1, said(begun={A: 3}), 1, said()),
            (0, said([(("a", 1), 2, 2), (("a", 1), 3, 3), (("b", 1), 3, 3)]), 4, said([(("a", 1), 2, 2), (("b", 1), 3, 3)])),
            (1, said(ended=[(A, 3, 6)]), 5, said()),
            (0, said([(("a", 1), 6, 6), (("a", 1), 7, 7)]), 8, said([(("a", 1), 7, 7)])),
        ],
    ),
}


def run(operator: Sweeping, steps: Sequence[Step]) -> None:
    for port, message, known, expected in steps:
        told = hear(operator, port, message, operator.frontiers[port])
        assert not told.begun
        assert not told.ended
        moved = move(operator, [known] * len(operator.frontiers))
        assert said([*told.facts, *moved.facts], moved.begun, moved.ended) == expected


@pytest.mark.parametrize("name", CASES)
def test_facts_that_pass(name: str) -> None:
    """What is told of events, also where every limit on what may pile up is at its least."""
    make, steps = CASES[name]
    run(make(), steps)
    with limits(spare=0):
        run(make(), steps)


def test_facts_wait_in_a_snapshot() -> None:
    """What waits for its time does so in an operator that goes on from the snapshot, and is due then."""
    first, second = join(PAIR), join(PAIR)
    hear(first, 0, said(begun={A: 2}), 3)
    hear(first, 1, [(("a", 7), 6, 6), (("a", 8), 5, 9)], 3)
    assert first.deadline() == (0, 5)
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert second.deadline() == (0, 5)
    assert move(second, [7, 7]) == said([(("a", 7), 6, 6)], begun={("a", 8): 5}) == move(first, [7, 7])


def test_facts_that_wait_meet_what_comes_where_less_is_known() -> None:
    """A port that is known further has nothing that the others may not meet yet: what follows ahead is told, too."""
    one = join(JoinShape((X,), ((X,), (X,))))
    hear(one, 0, [], 2)
    assert hear(one, 1, [(A, 3, 3), (B, 4, 6)], 7) == said()
    assert hear(one, 0, [(A, 3, 3), (B, 5, 7)], 2) == said([(A, 3, 3), (B, 5, 6)])
    assert hear(one, 0, [], 9) == said()


def test_temporary_entries_go_where_there_is_no_room() -> None:
    """What is entered for a look alone is gone again, whatever happens."""
    one = join(THREE)
    hear(one, 0, said(begun={A: 0}), 1)
    hear(one, 1, [(("a", n), 3, 3) for n in range(9)], 1)
    hear(one, 2, [(("a", n), 3, 3) for n in range(9)], 1)
    entries = [dict(rows) for rows in one.holding]
    one.room.rows = 5
    with pytest.raises(NoRoomError):
        move(one, [4, 4, 4])
    assert one.holding == entries


def test_a_negation_looks_at_what_has_ended_by_its_times() -> None:
    """Ten thousand facts under one key, each beside two of ten thousand ranges, are no work of a hundred million steps."""
    operator, number = negation(), 10_000
    hear(operator, 1, said(begun={A: 1}), 0)
    for n in range(number):
        hear(operator, 1, said(ended=[(A, 10 * n + 1, 10 * n + 4)], begun={A: 10 * n + 11}), 10 * n + 4)
    facts = [(("a", n), 10 * n + 3, 10 * n + 12) for n in range(number)]
    hear(operator, 1, [], 10 * number + 5)
    expected = [(("a", n), 10 * n + 5, 10 * n + 10) for n in range(number)]
    assert hear(operator, 0, facts, 10 * number + 5) == said(expected)
