"""Enough pairs in a window: told at once, whatever the order, and rightly."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import LEAST, limits

from drawing import drawn
from operators.driving import FIRST, LAST, Driver, Points, histories, points_of
from operators.lasting import lasting_rows
from operators.telling import Message, hear, play, said
from tidelog.operators.grouped.levels import Levels
from tidelog.operators.grouped.threshold import Threshold
from tidelog.operators.grouped.weighing import ranges_over
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ThresholdShape

ROWS: list[Row] = [("a", 1, 0), ("a", 2, 0), ("a", 0.5, 1), ("b", 3, 0), ("b", 0, 0), ("a", "x", 0)]


def threshold(size: int, least: Fraction | int, *, of_sum: bool = False, strict: bool = False) -> Threshold:
    return Threshold(ThresholdShape(size, (0,), 1 if of_sum else None, Fraction(least), strict), lambda row: row[:1])


def standing(size: int, least: Fraction | int, *, of_sum: bool = False, strict: bool = False) -> Threshold:
    """One whose port takes notices."""
    shape = ThresholdShape(size, (0,), 1 if of_sum else None, Fraction(least), strict)
    return Threshold(shape, lambda row: row[:1], Levels(shape, lambda row: row[:1]))


def test_it_is_told_before_any_frontier() -> None:
    """The last of k neighbours brings the answer with it, as far as the first of them stays in the window."""
    operator = threshold(10, 3)
    assert operator.receive(0, [(("a", 1, 0), 1, 1), (("a", 1, 0), 9, 9)], NEG) == []
    assert operator.receive(0, [(("a", 2, 0), 4, 4)], NEG) == [(("a",), 9, 11)]


def test_a_long_fact_is_as_many_pairs_as_it_has_time_points() -> None:
    """Three of its ticks are in each window of length 2 that it fills."""
    operator = threshold(2, 3)
    assert operator.receive(0, [(("a", 1, 0), 5, 10**12)], NEG) == [(("a",), 7, 10**12)]


def test_what_is_too_old_is_forgotten() -> None:
    """What no later window can have goes, and its group with the last of it."""
    operator = threshold(10, 3)
    for time in range(0, 50_000, 5):
        operator.receive(0, [((f"s{time // 5000}", 1, 0), time, time)], time)
    assert operator.entries() < 2_000


@pytest.mark.slow
@drawn(150)
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, through snapshots: the weight of all pairs in the window, compared."""
    size, of_sum, strict = data.draw(st.integers(0, 12)), data.draw(st.booleans()), data.draw(st.booleans())
    least = Fraction(data.draw(st.integers(1, 12)), data.draw(st.sampled_from([1, 1, 2])) if of_sum else 1)
    history = data.draw(histories([ROWS]))
    driver = Driver(lambda: threshold(size, least, of_sum=of_sum, strict=strict), data.draw(st.booleans()))
    driver.feed_all(history.messages)
    assert points_of(driver.sent) == _reached(history.coverage(0), size, least, of_sum, strict)
    assert driver.operator.frontier == POS


def _reached(coverage: Points, size: int, least: Fraction, of_sum: bool, strict: bool) -> Points:
    found: Points = {}
    for time in range(FIRST, LAST + 1):
        for group in ("a", "b"):
            weight = Fraction(0)
            for row, times in coverage.items():
                each = 1 if not of_sum else 0 if isinstance(row[1], str) else row[1]
                if row[0] == group:
                    weight += Fraction(each) * sum(at in times for at in range(time - size, time + 1))
            if weight > least if strict else weight >= least:
                found.setdefault((group,), set()).add(time)
    return found


@drawn(100)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 3)), max_size=6), st.integers(0, 6), st.data()
)
def test_ranges_over(facts: list[tuple[int, int, int]], size: int, data: st.DataObject) -> None:
    """The ranges are maximal, in order, and hold just the windows that weigh enough."""
    facts = [(min(lo, hi), max(lo, hi), weight) for lo, hi, weight in facts]
    least = data.draw(st.integers(1, 20))
    ranges = list(ranges_over(facts, size, least))
    told = {time for lo, hi in ranges for time in range(lo, hi + 1)}
    weights = {
        e: sum(w * sum(lo <= at <= hi for at in range(e - size, e + 1)) for lo, hi, w in facts) for e in range(-5, 30)
    }
    assert told == {e for e, weight in weights.items() if weight >= least}
    assert all(hi + 1 < lo for (_, hi), (lo, _) in pairwise(ranges))


# --- rows that stand ------------------------------------------------------------------------------------------------------

A = ("a",)
A1, A2, A3, B1, TEXT = ("a", 1, 0), ("a", 2, 0), ("a", 3, 0), ("b", 1, 0), ("a", "x", 0)
Table = list[tuple[Message, int, Message]]
"""What comes, how far it is known then, and what is told."""
STANDING: dict[str, tuple[Callable[[], Threshold], Table]] = {
    "rows that stand are enough as soon as they have filled the window": (
        partial(standing, 2, 4),
        [
            (said(begun={A1: 3, A2: 4}), 9, said(begun={A: 5})),
            (said(ended=[(A2, 4, 11)]), 11, said()),
            (said(), 14, said(ended=[(A, 5, 13)])),
        ],
    ),
    "a fact beside what stands tells ahead what it adds to that": (
        partial(standing, 2, 4),
        [
            (said(begun={A1: 1}), 5, said()),
            (said([(A2, 8, 8)]), 8, said(begun={A: 8})),  # as far as 10
            (said([(A3, 10, 10), (A3, 11, 11)]), 9, said([(A, 10, 10)])),  # with 8 and 9 of what stands
            (said(), 10, said()),
            (said(ended=[(A1, 1, 10)]), 12, said([(A, 11, 11)], ended=[(A, 8, 11)])),  # known of 10, and then of 11
        ],
    ),
    "facts alone are told at once beside other groups that stand": (
        partial(standing, 2, 2),
        [
            (said(begun={B1: 1}), 1, said()),
            (said([(A1, 7, 7), (A2, 9, 9)]), 2, said([(A, 9, 9)], begun={("b",): 2})),
            (said(), 9, said()),
        ],
    ),
    "what comes twice counts once: as a fact, and as part of what stands": (
        partial(standing, 0, 2),
        [
            (said([(A1, 2, 9), (A2, 6, 6)]), 3, said([(A, 6, 6)])),
            (said(begun={A1: 4}), 6, said()),
            (said([(A2, 8, 12)], ended=[(A1, 4, 10)]), 12, said([(A, 8, 10)])),
        ],
    ),
    "a fact weighs that begins with the first row that stands": (
        partial(standing, 0, 3),
        [
            (said([(A3, 1, 9)]), 1, said()),
            (said([(A2, 3, 6)], begun={A1: 3}), 4, said(begun={A: 3})),
            (said(), 7, said(ended=[(A, 3, 6)])),
        ],
    ),
    "rows weigh what they have; a text nothing, which is counted": (
        partial(standing, 1, 8, of_sum=True),
        [
            (said(begun={A3: 1, TEXT: 1}), 4, said()),
            (said([(A2, 5, 5)]), 5, said(begun={A: 5})),
            (said(begun={A1: 7}), 9, said(begun={A: 8}, ended=[(A, 5, 6)])),
            (said(ended=[(TEXT, 1, 9), (A1, 7, 9)]), 12, said(ended=[(A, 8, 9)])),
        ],
    ),
    "what stands at the end of the stream has held to the end": (
        partial(standing, 1, 2),
        [(said(begun={A1: 1}), 3, said(begun={A: 2})), (said(), POS, said(ended=[(A, 2, POS)]))],
    ),
}


@pytest.mark.parametrize("name", STANDING)
@pytest.mark.parametrize("again", [False, True], ids=["in one go", "through snapshots"])
def test_rows_that_stand(name: str, again: bool) -> None:
    """Also with the least limits, and where it goes on from a snapshot behind each message."""
    make, table = STANDING[name]
    play(make, [(0, *line) for line in table], again=again)


@drawn(300)
@given(data=st.data())
def test_definition_where_rows_stand(data: st.DataObject) -> None:
    """No more is told than holds, and all of it as far as the frontier."""
    size, of_sum, strict = data.draw(st.integers(0, 12)), data.draw(st.booleans()), data.draw(st.booleans())
    least = Fraction(data.draw(st.integers(1, 12)), data.draw(st.sampled_from([1, 1, 2])) if of_sum else 1)
    rows = [data.draw(lasting_rows(row)) for row in data.draw(st.sampled_from([ROWS, ROWS[:1], ROWS[1:4], ROWS[:2]]))]
    coverage = {each.row: set(filter(each.holds, range(FIRST, LAST + 1))) for each in rows}
    truth = _reached(coverage, size, least, of_sum, strict)
    again, tidiest = data.draw(st.booleans()), data.draw(st.booleans())
    told: Points = {}
    stands: dict[Row, int] = {}
    with limits(**(LEAST if tidiest else {})):
        operator = standing(size, least, of_sum=of_sum, strict=strict)
        steps = data.draw(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0, 0, 1, 4])), max_size=12))
        for step, ahead in (*steps, (POS, 0)):
            known = min(max(operator.frontier, -1) + step, POS)
            parts = [each.tell(known, ahead) for each in rows]
            message = said(
                [fact for part in parts for fact in part.facts],
                {row: lo for part in parts for row, lo in part.begun.items()},
                [fact for part in parts for fact in part.ended],
            )
            answer = hear(operator, 0, message, known)
            for row, lo, _ in answer.ended:
                assert stands.pop(row) == lo
            assert not stands.keys() & answer.begun.keys()
            stands |= answer.begun
            for row, times in points_of([*answer.facts, *answer.ended]).items():
                told.setdefault(row, set()).update(times)
            held = points_of([(row, lo, known) for row, lo in stands.items() if lo <= known])
            for row in (("a",), ("b",)):
                holds, found = truth.get(row, set()), told.get(row, set()) | held.get(row, set())
                assert found <= holds
                assert {time for time in holds if time <= known} <= found
            if again:
                state = json.dumps(operator.snapshot())
                operator = standing(size, least, of_sum=of_sum, strict=strict)
                operator.restore(json.loads(state))
    assert not stands
