"""Since."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import LEAST, limits

from drawing import drawn
from operators.definitions import CLOCKS, Clock, metrics, paired, times_where
from operators.driving import FIRST, LAST, Driver, histories, points_of
from operators.lasting import lasting_rows
from operators.telling import Message, hear, move, play, said
from tidelog.operators.metric.pairing import LEFT, RIGHT, RowPairing, without_left
from tidelog.operators.metric.since import Since
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.plan.plan import Feed, PairShape, Step
from tidelog.runtime.network.deploy import build_operator

A = ("a",)


def since(clock: Clock, metric: Metric, left: tuple[str, ...] = ("X",), right: tuple[str, ...] = ("X",)) -> Since:
    step = Step("s", "s", PairShape("since", metric, left, right), (Feed("step", "m"), Feed("step", "n")))
    operator = build_operator(step, Timeline("integer" if clock.is_integer else "rational"))
    assert isinstance(operator, Since)
    return operator


# On rationals 2 is the time 1 and 3 the gap behind it.
CASES = [
    ("integer: from the next time on", "integer", Metric(0, 4), (3, 9), (2, 2), (2, 6)),
    ("integer: beyond the run's end", "integer", Metric(1, 4), (3, 4), (2, 2), (3, 5)),
    ("the run may begin behind", "rational", Metric(0, 8), (3, 20), (2, 2), (2, 10)),
    ("but not later", "rational", Metric(2, 8), (4, 20), (2, 2), None),
    ("up to the end of an open run", "rational", Metric(0, 8), (1, 5), (2, 2), (2, 6)),
    ("up to the end of a closed run", "rational", Metric(0, 8), (1, 6), (2, 2), (2, 6)),
    ("[1,2)", "rational", Metric(2, 4, 0, 1), (0, 20), (2, 2), (4, 5)),
    ("(1,2]", "rational", Metric(2, 4, 1, 0), (0, 20), (2, 2), (5, 6)),
    ("[1,inf)", "rational", Metric(2, POS), (0, POS), (2, 2), (4, POS)),
    ("of a gap", "rational", Metric(2, 4), (0, 20), (3, 3), (5, 7)),
    ("of all time", "rational", Metric(2, 4), (NEG, POS), (NEG, POS), (NEG, POS)),
]


@pytest.mark.parametrize("order", [(LEFT, RIGHT), (RIGHT, LEFT)])
@pytest.mark.parametrize(
    ("timeline", "metric", "left", "right", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_brackets(  # type: ignore[no-untyped-def]
    timeline: str, metric: Metric, left: tuple[int, int], right: tuple[int, int], expected, order: tuple[int, int]
) -> None:
    """One run and one fact of the right side, in either order, give the range with the right ends."""
    driver = Driver(lambda: since(CLOCKS[timeline], metric))
    for port in order:
        driver.feed(port, [(A, *(left if port == LEFT else right))])
    found = sorted((lo, hi) for _, lo, hi in driver.sent)
    joined = (found[0][0], found[-1][1]) if found else None
    assert joined == expected
    assert all(a[1] + 1 == b[0] for a, b in pairwise(found))


@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_definition(timeline: str, data: st.DataObject) -> None:
    """In any order, with forgetting and through snapshots, over one row."""
    clock = CLOCKS[timeline]
    metric = data.draw(metrics(clock))
    history = data.draw(histories([[A], [A]]))
    driver = Driver(lambda: since(clock, metric), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    left, right = (history.coverage(port).get(A, set()).__contains__ for port in (LEFT, RIGHT))
    assert sent.get(A, set()) == times_where(lambda t: paired(clock, metric, (left, right), t, -1))
    assert driver.operator.frontier == POS


SHAPES = [
    (("X",), ("X", "Y"), lambda left, right: left[0] == right[0], lambda left, right: right),
    (("Y", "X"), ("X", "Y"), lambda left, right: left == right[::-1], lambda left, right: right),
    ((), ("X",), lambda left, right: True, lambda left, right: right),
    (("X", "Z"), ("X",), lambda left, right: left[0] == right[0], lambda left, right: (*right, left[1])),
    (("Z",), (), lambda left, right: True, lambda left, right: left),
]
VALUES = {0: [()], 1: [("a",), (1,)], 2: [("a", 1), ("a", 2), (1, "a")]}


@pytest.mark.parametrize("timeline", list(CLOCKS))
@given(data=st.data())
def test_rows_are_paired_by_common_variables(timeline: str, data: st.DataObject) -> None:
    """Each pair of rows that agree gives its own row; with columns of the left alone, only at distances that need it."""
    clock = CLOCKS[timeline]
    left, right, agree, combine = data.draw(st.sampled_from(SHAPES))
    metric = data.draw(metrics(clock))
    if set(left) - set(right) and without_left(metric, clock.touch) is not None:
        metric = Metric(2, metric.b if metric.b > 2 else 4, 1 - clock.touch)
    rows = [VALUES[len(left)], VALUES[len(right)]]
    history = data.draw(histories(rows))
    driver = Driver(lambda: since(clock, metric, left, right), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    lefts, rights = history.coverage(LEFT), history.coverage(RIGHT)
    expected: dict[tuple[object, ...], set[int]] = {}
    for other in rows[RIGHT]:
        for row in [row for row in rows[LEFT] if agree(row, other)] or [None]:
            sides = lefts.get(row, set()).__contains__, rights.get(other, set()).__contains__
            if row is None and set(left) - set(right):
                continue
            key = other if row is None else combine(row, other)
            expected.setdefault(key, set()).update(times_where(lambda t, s=sides: paired(clock, metric, s, t, -1)))
    assert sent == {row: times for row, times in expected.items() if times}


def test_what_is_sent_is_not_sent_again_when_the_run_begins_behind_it() -> None:
    """M2 at the frontier was answered alone, and forgotten; a run that begins right behind it must not answer it again."""
    driver = Driver(lambda: since(CLOCKS["integer"], Metric(0, 0)))
    driver.feed(LEFT, [], 4)
    driver.feed(RIGHT, [(A, 4, 4)], 4)
    driver.feed(LEFT, [(A, 5, 6)], 4)
    assert driver.sent == [(A, 4, 4)]


def test_ticks_of_a_long_run_cost_one_range_each() -> None:
    """However long ϱ is, the state does not grow with the run."""
    operator = since(CLOCKS["integer"], Metric(0, 1000))
    most = 0
    for time in range(5_000):
        operator.receive(LEFT, [(A, time, time)], time)
        operator.receive(RIGHT, [(A, time, time)] if time % 7 == 0 else [], time)
        most = max(most, operator.entries())
    assert most <= 6


def test_runs_that_have_ended_are_disarmed() -> None:
    """What was armed for a run that has ended for good is let go."""
    operator = since(CLOCKS["integer"], Metric(0, POS))
    most = 0
    for time in range(0, 5_000, 5):
        operator.receive(LEFT, [(A, time, time + 2)], time)
        operator.receive(RIGHT, [(A, time, time)], time)
        most = max(most, operator.entries())
    assert most <= 10


@pytest.mark.parametrize("count", [1, 8, 9, 40])
def test_rows_under_one_key_are_paired_and_forgotten(count: int) -> None:
    """However many rows share a key, each is met once, and what is forgotten is met no more."""
    pairing = RowPairing(key_of_left=tuple, key_of_right=lambda row: row[:1], combine=lambda left, right: right)
    rights = [("a", i) for i in range(count)]
    for right in rights + rights:
        assert pairing.lefts_of(right) == ()
    assert list(pairing.rights_of(("a",))) == rights
    assert pairing.lefts_of(("a", 0)) == (("a",),)
    pairing.forget_right(rights[1::2])
    assert list(pairing.rights_of(("a",))) == rights[::2]
    pairing.forget_right(rights[::2])
    assert pairing.right == {}


# --- rows that stand ------------------------------------------------------------------------------------------------------

A1, A2 = ("a", 1), ("a", 2)
Table = list[tuple[int, Message, int, Message]]
"""What comes at a port, how far this is known then, and what is told."""


def standing(clock: str, metric: Metric, extra: bool = False) -> Since:
    """One whose ports take notices; with a column of the left side alone, or without."""
    pairing = RowPairing(
        key_of_left=(lambda row: row[:1]) if extra else tuple,
        key_of_right=tuple,
        combine=(lambda left, right: right + left[1:]) if extra else (lambda left, right: right),
        left_adds_columns=extra,
    )
    return Since(metric, CLOCKS[clock].touch, pairing, slowest=LEFT)


STANDING: dict[str, tuple[Callable[[], Since], Table]] = {
    "what a fact starts goes on as the left side does, and ends with ϱ": (
        partial(standing, "integer", Metric(2, 6)),
        [
            (LEFT, said(begun={A: 2}), 5, said()),
            (RIGHT, said([(A, 4, 4)]), 5, said([(A, 6, 6)])),  # the left side holds until 5, which reaches 6
            (LEFT, said(), 7, said(begun={A: 6})),
            (RIGHT, said(), 20, said()),
            (LEFT, said(), 12, said(ended=[(A, 6, 10)])),
        ],
    ),
    "it ends with the left side before that; if this goes on after all, so does the result": (
        partial(standing, "integer", Metric(2, 20)),
        [
            (RIGHT, said([(A, 4, 4)]), 40, said()),
            (LEFT, said(begun={A: 2}), 7, said([(A, 6, 8)], begun={A: 6})),  # the left side reaches one time further
            (LEFT, said(ended=[(A, 2, 9)]), 9, said()),
            (LEFT, said([(A, 10, 11)]), 11, said([(A, 11, 12)], ended=[(A, 6, 10)])),
            (LEFT, said(begun={A: 12}), 13, said([(A, 13, 14)], begun={A: 13})),
            (LEFT, said(), 30, said(ended=[(A, 13, 24)])),
        ],
    ),
    "what the right side brings goes on as it stands, where the left side holds": (
        partial(standing, "integer", Metric(2, 4)),
        [
            (LEFT, said([(A, 3, 30)]), 30, said()),
            (RIGHT, said(begun={A: 5}), 8, said([(A, 7, 12)], begun={A: 7})),
            (RIGHT, said(ended=[(A, 5, 9)]), 10, said()),
            (RIGHT, said(), 14, said(ended=[(A, 7, 13)])),
        ],
    ),
    "the right side alone is enough where nothing lies between": (
        partial(standing, "integer", Metric(0, 9)),
        [
            (LEFT, said(), 6, said()),
            (RIGHT, said(begun={A: 3}), 6, said([(A, 3, 7)], begun={A: 3})),
            (LEFT, said(begun={A: 8}), 9, said()),
            (RIGHT, said(ended=[(A, 3, 10)]), 14, said([(A, 8, 11)])),
            (LEFT, said(ended=[(A, 8, 11)]), 15, said(ended=[(A, 3, 12)])),
        ],
    ),
    "what is over when it is known is a fact": (
        partial(standing, "rational", Metric(0, 4)),
        [
            (LEFT, said(begun={A: 1}), 20, said()),
            (RIGHT, said([(A, 4, 4), (A, 10, 10)]), 30, said([(A, 4, 4), (A, 5, 8), (A, 10, 10), (A, 11, 14)])),
            (LEFT, said(), 21, said()),
        ],
    ),
    "a row that is taken back before it has come was never there, but for what facts tell": (
        partial(standing, "integer", Metric(1, 8)),
        [
            (RIGHT, said([(A, 2, 2)]), 20, said([(A, 3, 3)])),
            (LEFT, said(begun={A: 5}), 2, said()),
            (LEFT, said(ended=[(A, 5, 4)]), 2, said()),
            (LEFT, said(begun={A: 6}), 2, said()),
            (LEFT, said([(A, 3, 4)], ended=[(A, 6, 7)]), 30, said([(A, 4, 5)])),
        ],
    ),
    "a fact beside what stands holds where that has ended": (
        partial(standing, "integer", Metric(1, 8)),
        [
            (LEFT, said(begun={A: 1}), 3, said()),
            (LEFT, said([(A, 2, 7)]), 3, said()),
            (RIGHT, said([(A, 2, 2)]), 9, said([(A, 3, 3), (A, 4, 4)], begun={A: 3})),
            (LEFT, said(ended=[(A, 1, 4)]), 5, said()),
            (LEFT, said(), 12, said(ended=[(A, 3, 8)])),
        ],
    ),
    "each pair has rows of its own, where the left side adds columns": (
        partial(standing, "integer", Metric(2, 20), extra=True),
        [
            (RIGHT, said([(A, 3, 3)]), 30, said()),
            (LEFT, said(begun={A1: 2, A2: 4}), 8, said([(A1, 5, 9), (A2, 5, 9)], begun={A1: 5, A2: 5})),
            (LEFT, said(ended=[(A1, 2, 8)]), 12, said(ended=[(A1, 5, 9)])),
            (LEFT, said(), 30, said(ended=[(A2, 5, 23)])),
        ],
    ),
    "both stand until the end of the stream": (
        partial(standing, "integer", Metric(1, POS)),
        [
            (RIGHT, said(begun={A: 3}), 6, said([(A, 4, 7)])),
            (LEFT, said(begun={A: 2}), 5, said(begun={A: 4})),
            (RIGHT, said(), POS, said()),
            (LEFT, said(), POS, said(ended=[(A, 4, POS)])),
        ],
    ),
}


@pytest.mark.parametrize("name", STANDING)
@pytest.mark.parametrize("again", [False, True], ids=["in one go", "through snapshots"])
def test_rows_that_stand(name: str, again: bool) -> None:
    """Also with the least limits, and where it goes on from a snapshot behind each message."""
    make, table = STANDING[name]
    play(make, table, again=again)


@pytest.mark.parametrize("timeline", list(CLOCKS))
@drawn(400)
@given(data=st.data())
def test_definition_where_rows_stand(timeline: str, data: st.DataObject) -> None:
    """Ports that are known differently far: no more is told than holds, and all of it as far as the frontier."""
    clock = CLOCKS[timeline]
    metric = data.draw(metrics(clock))
    left, right = both = data.draw(lasting_rows(A)), data.draw(lasting_rows(A))
    truth = times_where(lambda t: paired(clock, metric, (left.holds, right.holds), t, -1))
    again, least = data.draw(st.booleans()), data.draw(st.booleans())
    told: set[int] = set()
    stands: int | None = None
    with limits(**(LEAST if least else {})):
        operator = standing(timeline, metric)
        steps = data.draw(
            st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.sampled_from([0, 0, 1, 4])), max_size=20)
        )
        for port, step, ahead in (*steps, (LEFT, POS, 0), (RIGHT, POS, 0)):
            known = min(max(operator.frontiers[port], -1) + step, POS)
            answer = hear(operator, port, both[port].tell(known, ahead), known)
            assert set(answer.begun) <= {A}
            for row, lo, hi in answer.ended:
                assert (row, lo) == (A, stands)
                stands = None
                told |= {time for time in range(FIRST, LAST + 1) if lo <= time <= hi}
            for row, lo in answer.begun.items():
                assert (row, stands) == (A, None)
                stands = lo
            told |= points_of(answer.facts).get(A, set())
            held = set() if stands is None else set(range(stands, min(operator.frontier, LAST) + 1))
            assert told | held <= truth
            assert {time for time in truth if time <= operator.frontier} <= told | held
            if again:
                state = json.dumps(operator.snapshot())
                operator = standing(timeline, metric)
                operator.restore(json.loads(state))
    assert stands is None


def test_a_right_row_ends_once_the_left_side_is_complete() -> None:
    """What stands at the right is kept until it ends, though nothing more can come that it meets."""
    operator = standing("integer", Metric(0, 3))
    told = [
        hear(operator, RIGHT, said(begun={A: 2}), 4),
        hear(operator, LEFT, said([(A, 1, 9)]), POS),
        hear(operator, RIGHT, said(ended=[(A, 2, 6)]), 12),
        hear(operator, RIGHT, said(), POS),
    ]
    assert points_of([fact for message in told for fact in (*message.facts, *message.ended)]) == {A: {*range(2, 10)}}


def test_what_is_to_be_looked_at_does_not_pile_up_beside_rows_that_come_and_go() -> None:
    """A row that stands again and again, each time for a window that would be long: what it would have been is let go."""
    operator = standing("integer", Metric(0, 1_000_000))
    for time in range(0, 4_000, 4):
        hear(operator, LEFT, said(begun={A: time}), time)
        hear(operator, RIGHT, said([(A, time + 1, time + 1)]), time + 1)
        move(operator, [time + 2, time + 2])
        hear(operator, LEFT, said(ended=[(A, time, time + 2)]), time + 2)
        move(operator, [time + 3, time + 3])
    assert operator.entries() < 1_500  # by turns as much is let go as came


def test_rows_that_stood_are_forgotten() -> None:
    """What is stored as without an end while it stands is let go once it has ended: many rows, each once, and one again."""
    operator = standing("integer", Metric(0, 5))
    for time in range(4_000):
        begun = {(f"k{time}",): 3 * time} | ({A: 3 * time} if time % 2 == 0 else {})
        ended = [((f"k{time - 300}",), 3 * (time - 300), 3 * time)] if time >= 300 else []
        ended += [(A, 3 * (time - 1), 3 * time - 2)] if time % 2 else []
        hear(operator, LEFT, said(begun=begun, ended=ended), 3 * time)
        hear(operator, RIGHT, said(), 3 * time)
    assert operator.left.entries() < 1_500
    assert len(operator.pairing.left) < 1_500
