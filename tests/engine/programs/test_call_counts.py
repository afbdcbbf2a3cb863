"""What an event costs in common programs, counted in calls of tidelog's functions, the same in each run and on each machine.

Who adds a call for each event finds it here, and writes the new ceiling down, with the reason in the commit.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Iterable
from types import FrameType

import pytest

from benchmarks.hand.suite import Case, cases
from tidelog import Session, compile
from tidelog.plans.data.facts import Record

pytestmark = pytest.mark.pure

FIRST, COUNTED, BATCH = 1_000, 1_000, 100
"""So many events fill the windows before others are counted, each alone, or in batches."""
CEILINGS = {
    "duration": (1_339, 88),
    "disorder": (1_754, 642),
    "absence": (3_904, 172),
    "join": (2_230, 431),
    "hysteresis": (5_050, 451),
    "reachability": (8_992, 2_353),
}
"""The most calls for a hundred events: each alone, and in a batch. CPython 3.11 to 3.13 make 5 % fewer, or 90
fewer where that is less: so a call more for each event is too much."""
HAND = {case.name: case for case in cases(FIRST + COUNTED + BATCH)}
REACHABILITY = """timeline integer. input link(x, y). output reach.
up(X, Y) :- diamondminus[0,30] link(X, Y).
reach(X, Y) :- up(X, Y).
reach(X, Z) :- reach(X, Y), up(Y, Z)."""
_INLINED = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
"""Calls on CPython 3.11, and none from 3.12 on."""


class Calls:
    """Counts calls of tidelog's functions in Python, while a `with` block runs; also of those that it writes itself."""

    def __init__(self) -> None:
        self.count = 0

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name not in _INLINED:
            module = frame.f_globals.get("__name__", "tidelog.written")
            self.count += module.startswith(("tidelog.", "namedtuple_"))

    def __enter__(self) -> Calls:
        gc.disable()  # a collection may call what a weak reference has to call, at any moment
        sys.setprofile(self._note)
        return self

    def __exit__(self, *failure: object) -> None:
        sys.setprofile(None)
        gc.enable()


def links() -> list[Record]:
    """Links between sixty nodes, of which thirty hold at a time."""
    chance = random.Random(1)
    pairs = [(f"n{chance.randrange(60)}", f"n{chance.randrange(60)}") for _ in range(FIRST + COUNTED)]
    return [("link", pair, time, time) for time, pair in enumerate(pairs)]


def session_and_facts(name: str) -> tuple[Session, list[Record]]:
    if name == "reachability":
        return Session(compile(REACHABILITY)), links()
    case: Case = HAND[name]
    return case.session(case.plan), case.facts


def push(session: Session, batches: Iterable[list[Record]]) -> None:
    for batch in batches:
        if len(batch) == 1:
            ((predicate, row, time, _),) = batch
            session.push(predicate, row, time)
        else:
            session.push_records(batch)
        session.pull_records()


@pytest.mark.parametrize("size", [1, BATCH], ids=["alone", "in batches"])
@pytest.mark.parametrize("name", CEILINGS)
def test_an_event_costs_no_more_calls_than_the_table_says(name: str, size: int) -> None:
    """Windows are full, so that what is forgotten is counted with what is taken."""
    session, facts = session_and_facts(name)
    batches = [facts[i : i + size] for i in range(0, FIRST + COUNTED, size)]
    push(session, batches[: FIRST // size])
    with Calls() as calls:
        push(session, batches[FIRST // size :])
    assert calls.count * 100 // COUNTED <= CEILINGS[name][size > 1]
