"""Forgetting never changes an answer: random programs whose stores forget at once, in every order of arrival."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import limits

from engine.test_session_equals_oracle import compiled, show, until
from oracle.agreement import differences, records_of
from oracle.programs import EVERYTHING, NON_RECURSIVE, programs, shuffled_within, streams
from tidelog import Session


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
