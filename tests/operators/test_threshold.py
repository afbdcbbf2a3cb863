"""Enough pairs in a window: told at once, whatever the order, and rightly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from operators.driving import FIRST, LAST, Driver, Points, histories, points_of
from tidelog.operators.grouped.threshold import Threshold
from tidelog.operators.grouped.weighing import ranges_over
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ThresholdShape

ROWS: list[Row] = [("a", 1, 0), ("a", 2, 0), ("a", 0.5, 1), ("b", 3, 0), ("b", 0, 0), ("a", "x", 0)]


def threshold(size: int, least: Fraction | int, *, of_sum: bool = False, strict: bool = False) -> Threshold:
    return Threshold(ThresholdShape(size, (0,), 1 if of_sum else None, Fraction(least), strict), lambda row: row[:1])


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
