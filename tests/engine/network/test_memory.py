"""Memory: what a session keeps depends on the windows, not on how long the stream has been running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from limits import limits

from engine.running import plan_of
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import EmitMode

WINDOW = 3
TICKS = 1_000 * WINDOW
"""The streams run for a thousand window lengths."""

Tick = Callable[[int], list[Record]]


@pytest.fixture(autouse=True, scope="module")
def forgetful() -> Iterator[None]:
    """Steps forget whenever they run, and stores in rounds of two rows, so that bounds are exact and not those of rounds."""
    with limits(round=2, often=0):
        yield


def new_rows(time: int) -> list[Record]:
    """Rows that were never seen before, at each tick."""
    return [("p", (time,), time, time), ("q", (time - 1,), time, time)]


def one_row(time: int) -> list[Record]:
    """The same rows again and again, with gaps."""
    return [("p", ("a",), time, time)] * (time % 7 > 0) + [("q", ("a",), time, time)] * (time % 5 == 0)


def pairs(time: int) -> list[Record]:
    """Edges from each number to the next."""
    return [("p", (time, time + 1), time, time + 2)]


CASES: list[tuple[str, str, Tick, EmitMode, int]] = [
    ("a diamond over new rows", "h(X) :- diamondminus[0,3] p(X).", new_rows, "intervals", 14),
    ("a diamond over one row", "h(X) :- diamondminus[0,3] p(X).", one_row, "intervals", 3),
    ("an unbounded diamond over one row", "h(X) :- diamondminus p(X).", one_row, "intervals", 3),
    ("a box", "h(X) :- boxminus[0,3] p(X).", one_row, "intervals", 5),
    ("a box over new rows", "h(X) :- always p(X) in [3].", new_rows, "intervals", 9),
    ("boxes and diamonds ahead", "h(X) :- boxplus[0,3] diamondplus[0,3] p(X).", one_row, "intervals", 5),
    ("since", "h(X) :- p(X) since[0,3] q(X).", one_row, "intervals", 16),
    ("since without end", "h(X) :- p(X) since q(X).", one_row, "intervals", 16),
    ("since over new rows", "h(X) :- diamondminus[0,3] p(X) since[0,3] q(X).", new_rows, "intervals", 42),
    ("until", "h(X) :- p(X) until[0,3] q(X).", one_row, "intervals", 16),
    ("a join over time", "h(X) :- diamondminus[0,3] p(X), diamondminus[0,3] q(X).", new_rows, "intervals", 48),
    ("a join by key", "h(X,Z) :- p(X,Y), p(Y,Z).", pairs, "intervals", 40),
    ("a projecting join", "h(Y) :- p(X,Y), p(Y,_).", pairs, "intervals", 26),
    ("a join with background", "h(X,N) :- p(X), k(X,N). k(a,1). k(b,2).", one_row, "intervals", 8),
    ("negation", "h(X) :- p(X), not diamondminus[1,3] q(X).", new_rows, "intervals", 26),
    ("recursion over a path", "h(X,Y) :- p(X,Y). h(X,Z) :- h(X,Y), p(Y,Z).", pairs, "intervals", 75),
    ("recursion through time", "h(X) :- q(X). h(X) :- diamondminus[1,2] h(X), p(X).", one_row, "intervals", 16),
    ("recursion without end", "h(X) :- q(X). boxplus[2,2] h(X) :- h(X), p(X).", one_row, "intervals", 16),
    ("the clock", "h@0. boxplus[2,2] h :- h. g(X) :- p(X), h.", new_rows, "intervals", 13),
    ("final", "h(X) :- diamondminus[0,3] p(X).", new_rows, "final", 14),
    ("final of one row", "h(X) :- p(X) since[0,3] q(X).", one_row, "final", 16),
    ("points", "h(X) :- diamondminus[0,3] p(X).", new_rows, "points", 14),
    ("points of a delay", "h(X) :- p(X), diamondplus[0,3] q(X).", new_rows, "points", 32),
    ("constraints", "bottom :- p(X), q(X). h(X) :- p(X).", one_row, "intervals", 12),
]


@pytest.mark.parametrize(("text", "tick", "emit", "bound"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_memory_is_bounded_by_the_window(text: str, tick: Tick, emit: EmitMode, bound: int) -> None:
    """Over a thousand windows, a batch a tick, ranges stay within the bound, and the whole state does not grow."""
    inputs = "input p(x, y)." if tick is pairs else "input p(x). input q(x)."
    session = Session(plan_of(f"timeline integer. {inputs} {text}"), emit=emit)
    entries, size = [], []
    for time in range(TICKS):
        session.push_records(tick(time))
        session.pull_records()
        session.pull_violations()
        if time % 11 == 0:
            entries.append(session.statistics().entries)
            size.append(_numbers(session.snapshot()))
    tenth = len(entries) // 10
    assert max(entries) <= bound
    assert max(size[tenth:]) <= 1.1 * max(size[:tenth])  # rounds of forgetting do not always meet the samples alike


LASTING = """
timeline integer. input on(x). input off(x). input tick(x). input link(x, y).
on_(X) :- not off(X) since on(X).
linked(X,Y) :- not off(X) since link(X,Y).
union_(X) :- on_(X). union_(X) :- tick(X).
box(X) :- boxminus[0,20] on_(X).
diamond(X) :- diamondminus[2,9] on_(X). ever(X) :- diamondminus[2,inf) on_(X).
join(X) :- on_(X), diamondminus[0,5] tick(X).
negation(X) :- on_(X), not tick(X). negated(X) :- diamondminus[0,5] tick(X), not on_(X).
since_left(X) :- on_(X) since[1,9] tick(X). since_right(X) :- tick(X) since[1,9] on_(X).
since_inf(X) :- on_(X) since tick(X). latch_right(X) :- not off(X) since on_(X). latch_left(X) :- not on_(X) since tick(X).
until_(X) :- on_(X) until[0,4] tick(X).
number(N) :- N = count() over on_(X) in [9]. enough() :- count() over on_(X) in [9] >= 1. held(X) :- latest on_(X) in [9].
reached(X) :- on_(X). reached(Y) :- reached(X), linked(X,Y).
moved(X) :- on_(X). moved(Y) :- diamondminus[0,1] moved(X), link(X,Y).
bottom :- on_(X), tick(X).
"""


@pytest.mark.long
@pytest.mark.parametrize("emit", get_args(EmitMode))
def test_what_goes_on_keeps_no_more_the_longer_it_does(emit: EmitMode) -> None:
    """A row is open all the time, under each operator; the facts that open it come again and again, and add nothing."""
    session = Session(plan_of(LASTING), emit=emit)
    size = []
    for time in range(TICKS // 2):
        name, *row = [("on", "a"), ("off", "b"), ("tick", "a"), ("link", "a", "b"), ("tick", "b")][time % 5]
        session.push_records([(name, tuple(row), time, time)])
        session.pull_records()
        session.pull_violations()
        if time % 11 == 0:
            size.append(_numbers(session.snapshot()))
    half = len(size) // 2
    assert max(size[half:]) <= 1.1 * max(size[:half])


def _numbers(data: Any) -> int:
    """How many values a snapshot holds."""
    if isinstance(data, dict):
        return sum(map(_numbers, data.values()))
    return sum(map(_numbers, data)) if isinstance(data, list | tuple) else 1


@pytest.mark.parametrize("dense", [1, 10])
def test_memory_does_not_depend_on_how_close_timestamps_lie(dense: int) -> None:
    """Rows read only by ◇ are coalesced across its gaps: ten times as many readings keep no more."""
    plan = plan_of("timeline rational, resolution 0.1. input p(x). h(X) :- boxminus[0,4] diamondminus[0,2] p(X).")
    session = Session(plan)
    most = 0
    for step in range(0, 4_000 * 2, 20 // dense):
        session.push_records([("p", ("a",), step, step)])
        most = max(most, session.statistics().entries)
    assert most <= 3
