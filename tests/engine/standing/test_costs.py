"""What it costs that rows go on holding, beside being told of them piece by piece; counted in calls, the same in each run.

With many open rows an event costs what it costs with one. With few it may cost more than pieces do: how much more at most is
written here for each operator, so that nobody makes it more without noticing.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType

import pytest

from engine.test_session_equals_oracle import unfused
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan

pytestmark = [pytest.mark.pure, pytest.mark.slow]

GIVEN = "timeline integer. input on(x). input off(x). input e(x). m(X) :- not off(X) since on(X). "
RULES = {
    "join": "o(X) :- m(X), e(X). output o.",
    "negation of events": "o(X) :- m(X), not e(X). output o.",
    "negation of what is open": "o(X) :- e(X), not m(X). output o.",
    "box": "o(X) :- boxminus[0,2] m(X), e(X). output o.",
    "diamond": "n(X) :- diamondminus[0,2] m(X). o(X) :- e(X), not n(X). output o.",
    "union": "n(X) :- m(X). n(X) :- e(X). o(X) :- n(X), e(X). output o.",
    "since over what is open": "o(X) :- m(X) since[0,3] e(X). output o.",
    "since from what is open": "o(X) :- e(X) since[0,3] m(X). output o.",
    "until": "o(X) :- m(X) until[0,3] e(X). output o.",
    "count": "o(N) :- N = count() over (m(X), e(X)) in [3]. output o.",
    "threshold": "o() :- count() over (m(X), e(X)) in [3] >= 2. output o.",
    "latest": "o(X) :- latest m(X) by X in [3], e(X). output o.",
    "loop": "o(X) :- m(X), e(X). o(X) :- o(X), m(X). output o.",
}
MORE_THAN_PIECES = {"loop": 2.3, "threshold": 1.7, "count": 1.2, "latest": 1.2, "union": 1.2}
"""How many times the calls that it costs to tell one row piece by piece; where nothing is written, 1.1 times."""
OPEN = (1, 20, 200, 2_000)
EVENTS = 40


def plans(rules: str) -> tuple[Plan, Plan]:
    """The plan as it is, and one in which what goes on is told piece by piece."""
    program = parse(GIVEN + rules)
    return compile_program(program), replace(unfused(program), announcing={})


def work(plan: Plan, count: int, batch: int) -> int:
    """The calls for an event beside so many open rows; one event in four ends a row, and the next one begins it again."""
    session = Session(plan, emit="changes")
    session.push_records([plan.record("on", (i,), 0) for i in range(count)])
    names = ("e", "e", "off", "on")
    events = [plan.record(names[time % 4], (time // 4 % count,), time) for time in range(10, 50 + EVENTS)]
    for event in events[:40]:  # what has come with the rows is forgotten meanwhile
        session.push_records([event])
    session.pull_records()
    del events[:40]
    calls = Calls()
    with calls:
        for i in range(0, EVENTS, batch):
            session.push_records(events[i : i + batch])
            session.pull_records()
    return calls.count // EVENTS


class Calls:
    """Counts calls, of Python's functions and of built-in ones."""

    def __init__(self) -> None:
        self.count = 0

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    def __enter__(self) -> None:
        sys.setprofile(self._note)

    def __exit__(self, *failure: object) -> None:
        sys.setprofile(None)


@pytest.mark.parametrize("batch", [1, EVENTS], ids=["alone", "in batches"])
@pytest.mark.parametrize("name", RULES)
def test_open_rows_cost_no_more_than_pieces(name: str, batch: int) -> None:
    """With one open row about what pieces cost, with 20 less when alone; with 2,000 as much as with 20."""
    plan, pieces = plans(RULES[name])
    one, some, *many = (work(plan, count, batch) for count in OPEN)
    assert one <= MORE_THAN_PIECES.get(name, 1.1) * work(pieces, 1, batch) + 5
    assert some <= MORE_THAN_PIECES.get(name, 1.1) * work(pieces, 20, batch)
    assert max(many) <= some + 80
