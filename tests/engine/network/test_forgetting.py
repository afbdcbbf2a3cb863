"""Forgetting never changes an answer, whether steps forget at once or by turns: random programs, in any order of arrival."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from engine.test_session_equals_oracle import compiled, show, until
from oracle.agreement import differences, records_of
from oracle.programs import EVERYTHING, NON_RECURSIVE, programs, shuffled_within, streams
from tidelog import Session, compile
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.metric.latch import Latch
from tidelog.operators.operator import Operator
from tidelog.runtime.ports.interfaces import EmitMode

SPREAD = 32
AT_ONCE = {"round": 0, "effort": 1, "often": 0, "bucket": 1, "spread": 1, "ahead": 1}
BY_TURNS = {"round": 2, "effort": 4, "often": 2, "bucket": 4, "spread": SPREAD, "ahead": 3}
MANY = "timeline integer. input on(x). input off(x).\n" + "".join(
    f"lately{i}(X) :- diamondminus[0,{3 + i}] on(X). "
    f"silent{i}(X) :- diamondminus[{5 + i},{5 + i}] on(X), not diamondminus[0,{4 + i}] on(X). "
    f"open{i}(X) :- not off(X) since lately{i}(X). "
    for i in range(20)
)


@pytest.fixture(autouse=True, scope="module")
def forgetful() -> Iterator[None]:
    """What may go, goes as soon as anything has come in."""
    with limits(round=0, often=0):
        yield


FRAGMENTS = {
    "non-recursive": replace(NON_RECURSIVE, constraints=False),
    "everything": replace(EVERYTHING, nested_negation=True, constraints=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
def test_forgetting_at_once_changes_no_answer(timeline: str, fragment: str, data: st.DataObject) -> None:
    """Late facts, a snapshot in between, and stores that keep nothing longer than they must: the oracle's answers."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    facts = data.draw(streams(program, size=20))
    lateness = data.draw(st.integers(0, 4))
    shuffled = data.draw(shuffled_within(facts, lateness))
    plan = compiled(program)
    records = records_of(plan, shuffled)
    cut = data.draw(st.integers(0, len(records)))
    first, second = Session(plan, lateness=lateness), Session(plan, lateness=lateness)
    for record in records[:cut]:
        first.push_records([record])
    answers = first.pull_records()
    second.restore(json.loads(json.dumps(first.snapshot())))
    for record in records[cut:]:
        second.push_records([record])
    second.finish()
    assert not differences(program, facts, answers + second.pull_records(), until(program, facts)), show(program, shuffled)


@pytest.mark.slow
@pytest.mark.parametrize("emit", get_args(EmitMode))
@given(data=st.data())
def test_steps_that_forget_by_turns_tell_the_same_in_the_same_order(emit: EmitMode, data: st.DataObject) -> None:
    """One by one and in batches, with a snapshot in between: each push tells what it tells where all forget at once."""
    program = data.draw(programs("integer", EVERYTHING))
    plan = compiled(program)
    records = records_of(plan, data.draw(streams(program, size=20)))
    size, cut = data.draw(st.integers(1, 3)), data.draw(st.integers(0, len(records)))
    told = []
    for chosen in (AT_ONCE, BY_TURNS):
        with limits(**chosen):
            session = Session(plan, emit=emit)
            answers = []
            for i in range(0, len(records), size):
                session.push_records(records[i : i + size])
                answers.append(session.pull_records())
                if i <= cut < i + size:
                    state = json.loads(json.dumps(session.snapshot()))
                    session = Session(plan, emit=emit)
                    session.restore(state)
            session.finish()
            told.append([*answers, session.pull_records()])
    assert told[0] == told[1]


def test_what_is_forgotten_by_turns_does_not_pile_up() -> None:
    """Sixty rules over rows that come once: with an event at a time they hold little more than where all forget at once."""
    plan = compile(MANY)
    held = []
    for spread in (1, SPREAD):
        with limits(spread=spread):
            session = Session(plan)
            for number in range(400):
                session.push("on", [f"s{number}"], number // 10)
                session.push("off", [f"s{number - 20}"], number // 10)
            held.append(session.statistics().entries)
    assert held[1] < 1.5 * held[0]


@pytest.mark.pure
def test_a_new_moment_does_not_wait_until_all_have_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first event of a moment all steps come further, and a few forget; those behind it see to the rest."""
    session = Session(compile(MANY))
    for number in range(300):
        session.push("on", [f"s{number}"], number // 50)
    tidied: list[Operator] = []

    def tidy(operator: Operator) -> None:
        tidied.append(operator)

    for kind in (AntiJoin, Latch):
        monkeypatch.setattr(kind, "tidy", tidy)
    session.push("on", ["t"], 6)
    assert len(tidied) <= 3
    for number in range(100):
        session.push("on", [f"u{number}"], 6)
    assert len(set(map(id, tidied))) == 40
