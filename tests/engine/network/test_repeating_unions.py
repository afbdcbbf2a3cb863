"""Unions that pass on what comes again, since their only reader keeps the same: nobody can tell the difference."""

from __future__ import annotations

import json
from collections import Counter
from typing import get_args
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from engine.test_session_equals_oracle import compiled
from oracle.agreement import records_of
from oracle.programs import EVERYTHING, programs, shuffled_within, streams
from tidelog import Session
from tidelog.plans.analysis.physical.identity import bridges_less
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan, UnionShape
from tidelog.runtime.ports.interfaces import EmitMode


def passing(text: str) -> set[str]:
    """The unions that keep nothing."""
    steps = tidelog.compile(text).steps
    return {step.id for step in steps if isinstance(step.shape, UnionShape) and step.shape.passes}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("p(X) :- boxminus[0,9] a(X).", {"a"}),
        ("p(X) :- diamondminus[0,9] a(X).", {"a"}),
        ("p(X) :- not a(X) since b(X).", {"a", "b"}),
        ("p(X) :- b(X), not a(X).", {"a"}),
        ("p(X) :- diamondminus[2,2] a(X).", set()),
        ("p(X) :- a(X), b(X).", set()),
        ("p(X) :- boxminus[0,9] a(X). q(X) :- a(X).", set()),
        ("p(X) :- boxminus[0,9] a(X). output a.", set()),
    ],
)
def test_unions_pass_on_where_their_only_reader_keeps_the_same(rules: str, expected: set[str]) -> None:
    """A box, a diamond, a latch and what is negated take what comes again; shifts, joins and outputs do not."""
    assert passing(f"timeline integer. input a(x). input b(x). {rules}") == expected


def answers(plan: Plan, records: list[Record], cut: int, batch: int, lateness: int, emit: EmitMode) -> list[Record]:
    """What is told of records, with a snapshot in between; intervals as single times."""
    first, second = (Session(plan, lateness=lateness, emit=emit) for _ in range(2))
    for session, some in ((first, records[:cut]), (second, records[cut:])):
        if session is second:
            told = first.pull_records()
            second.restore(json.loads(json.dumps(first.snapshot())))
        for i in range(0, len(some), batch):
            session.push_records(some[i : i + batch])
    second.finish()
    return told + second.pull_records()


@given(data=st.data())
@drawn(40)
def test_passing_on_changes_no_answer(data: st.DataObject) -> None:
    """Facts that come again and out of order, in any batches, in each mode: as with unions that send each time once."""
    program = data.draw(programs(data.draw(st.sampled_from(["integer", "rational"])), EVERYTHING))
    lateness = data.draw(st.integers(0, 4))
    facts = data.draw(streams(program, size=12))
    facts += data.draw(st.lists(st.sampled_from(facts), max_size=6)) if facts else []
    shuffled = data.draw(shuffled_within(facts, lateness))
    plan = compiled(program)
    with patch("tidelog.plans.compiling.compile.pass_on", lambda steps, *_: steps):
        keeping = compiled(program)
    records = records_of(plan, shuffled)
    cut, batch = data.draw(st.integers(0, len(records))), data.draw(st.integers(1, 5))
    emit = data.draw(st.sampled_from(get_args(EmitMode)))
    told, wanted = (answers(each, records, cut, batch, lateness, emit) for each in (plan, keeping))
    if emit == "intervals":
        assert times(told) == times(wanted)
    else:
        assert told == wanted


def times(told: list[Record]) -> Counter[object]:
    """How often the begin and the end behind each stretch are told, less where one goes on with another."""
    ends: Counter[object] = Counter()
    for predicate, row, lo, hi in told:
        ends[predicate, row, lo] += 1
        ends[predicate, row, hi + 1] -= 1
    return Counter({key: count for key, count in ends.items() if count})


def test_a_union_that_passes_no_more_is_filled_anew() -> None:
    """What comes again is news for a rule that has just begun to read it, so the union's state is not kept."""
    head = "timeline integer. input a(x). input b(x). p(X) :- boxminus[0,9] a(X). "
    before, now = tidelog.compile(head), tidelog.compile(head + "q(X) :- a(X), b(X).")
    assert bridges_less(now.step("a"), before.step("a"))
    assert not bridges_less(before.step("a"), now.step("a"))
