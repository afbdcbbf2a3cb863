"""What held at the last multiple of a step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.driving import Driver, histories
from tidelog.operators.windows.stepped import Stepped
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS

A, B = ("a",), (1,)

CASES = [
    ("holds two multiples", (18, 31), [(20, 39)]),
    ("holds none", (21, 29), []),
    ("is a multiple", (20, 20), [(20, 29)]),
    ("ends at a multiple", (11, 20), [(20, 29)]),
    ("begins behind a multiple", (21, 30), [(30, 39)]),
    ("lies below 0", (-25, -11), [(-20, -11)]),
    ("holds 0", (-1, 1), [(0, 9)]),
    ("has no end", (1, POS), [(10, POS)]),
    ("has no begin", (NEG, 20), [(NEG, 29)]),
]


@pytest.mark.parametrize(("given", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_ranges(given: tuple[int, int], expected: list[tuple[int, int]]) -> None:
    """A range is told from the first multiple in it until before the next one behind it."""
    assert Stepped(10).receive(0, [(A, *given)], NEG) == [(A, *found) for found in expected]


@pytest.mark.slow
@given(data=st.data())
def test_definition(data: st.DataObject) -> None:
    """In any order, and through snapshots: at t, what holds at the step times the whole part of t over the step."""
    step = data.draw(st.integers(1, 7))
    history = data.draw(histories([[A, B]]))
    driver = Driver(lambda: Stepped(step), data.draw(st.booleans()))
    sent = driver.feed_all(history.messages)
    for row in (A, B):
        times = history.coverage(0).get(row, set())
        assert sent.get(row, set()) == {time for time in range(-40, 61) if step * (time // step) in times}
    assert driver.operator.frontier == POS


@given(st.integers(-50, 50), st.integers(1, 9))
def test_what_is_known_lasts_until_the_next_multiple(known: int, step: int) -> None:
    """The frontier lies before the next multiple: up to there all times look at one that is known."""
    stepped = Stepped(step)
    stepped.receive(0, [], known)
    assert stepped.frontier + 1 == next(time for time in range(known + 1, known + step + 1) if time % step == 0)


def test_the_cost_is_neither_the_step_nor_the_length() -> None:
    """A range gives one range, and nothing is stored."""
    stepped = Stepped(1_000_000_000)
    facts: list[Fact] = [(A, 0, 10**15)]
    assert len(stepped.receive(0, facts, 10**15)) == 1
    assert stepped.entries() == 0
