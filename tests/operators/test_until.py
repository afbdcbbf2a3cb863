"""Until."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.definitions import CLOCKS, Clock, metrics, paired, times_where
from operators.driving import Driver, histories
from tidelog.operators.metric.pairing import LEFT, RIGHT, without_left
from tidelog.operators.metric.until import Until
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.plan.plan import Feed, PairShape, Step
from tidelog.runtime.network.deploy import build_operator

A = ("a",)


def until(clock: Clock, metric: Metric, left: tuple[str, ...] = ("X",), right: tuple[str, ...] = ("X",)) -> Until:
    step = Step("s", "s", PairShape("until", metric, left, right), (Feed("step", "m"), Feed("step", "n")))
    operator = build_operator(step, Timeline("integer" if clock.is_integer else "rational"))
    assert isinstance(operator, Until)
    return operator


# On rationals 6 is the time 3 and 7 the gap behind it.
CASES = [
    ("integer: from the time before on", "integer", Metric(0, 4), (3, 9), (10, 10), (6, 10)),
    ("integer: before the run's begin", "integer", Metric(1, 4), (8, 9), (10, 10), (7, 9)),
    ("the run may end before", "rational", Metric(0, 8), (-10, 5), (6, 6), (-2, 6)),
    ("but not earlier", "rational", Metric(2, 8), (-10, 4), (6, 6), None),
    ("from the begin of an open run", "rational", Metric(0, 8), (1, 5), (6, 6), (0, 6)),
    ("from the begin of a closed run", "rational", Metric(0, 8), (2, 5), (6, 6), (2, 6)),
    ("[1,2)", "rational", Metric(2, 4, 0, 1), (-10, 20), (6, 6), (3, 4)),
    ("(1,2]", "rational", Metric(2, 4, 1, 0), (-10, 20), (6, 6), (2, 3)),
    ("of a gap", "rational", Metric(2, 4), (-10, 20), (7, 7), (3, 5)),
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
    driver = Driver(lambda: until(CLOCKS[timeline], metric))
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
    metric = data.draw(metrics(clock, unbounded=False))
    history = data.draw(histories([[A], [A]]))
    driver = Driver(lambda: until(clock, metric), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    left, right = (history.coverage(port).get(A, set()).__contains__ for port in (LEFT, RIGHT))
    assert sent.get(A, set()) == times_where(lambda t: paired(clock, metric, (left, right), t, 1))
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
    metric = data.draw(metrics(clock, unbounded=False))
    if set(left) - set(right) and without_left(metric, clock.touch) is not None:
        metric = Metric(2, metric.b if metric.b > 2 else 4, 1 - clock.touch)
    rows = [VALUES[len(left)], VALUES[len(right)]]
    history = data.draw(histories(rows))
    driver = Driver(lambda: until(clock, metric, left, right), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    lefts, rights = history.coverage(LEFT), history.coverage(RIGHT)
    expected: dict[tuple[object, ...], set[int]] = {}
    for other in rows[RIGHT]:
        for row in [row for row in rows[LEFT] if agree(row, other)] or [None]:
            sides = lefts.get(row, set()).__contains__, rights.get(other, set()).__contains__
            if row is None and set(left) - set(right):
                continue
            key = other if row is None else combine(row, other)
            expected.setdefault(key, set()).update(times_where(lambda t, s=sides: paired(clock, metric, s, t, 1)))
    assert sent == {row: times for row, times in expected.items() if times}


def test_what_is_sent_is_not_sent_again_when_the_run_goes_on() -> None:
    """What is answered and forgotten behind the frontier is not answered again as the run grows past it."""
    driver = Driver(lambda: until(CLOCKS["integer"], Metric(3, 3)))
    driver.feed(LEFT, [(A, 0, 6)], 6)
    driver.feed(RIGHT, [(A, 6, 6)], 6)
    driver.feed(LEFT, [(A, 7, 7)], 7)
    assert driver.sent == [(A, 3, 3)]


def test_ticks_of_a_long_run_keep_a_bounded_state() -> None:
    """However long the run is, the state is a few ranges."""
    operator = until(CLOCKS["integer"], Metric(0, 1000))
    most = 0
    for time in range(5_000):
        operator.receive(LEFT, [(A, time, time)], time)
        operator.receive(RIGHT, [(A, time, time)] if time % 7 == 0 else [], time)
        most = max(most, operator.entries())
    assert most <= 6
