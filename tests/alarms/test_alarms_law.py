"""Alarms have the states that the standard's table says, however they are told of, and what people did is known of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from engine.standing.test_programs import BATCHES, MODES, told
from hypothesis import given, note
from hypothesis import strategies as st
from limits import limits, some_limits

import tidelog
from alarms.comparing import wrong_desk, wrong_states
from drawing import drawn
from oracle.agreement import runs_of
from oracle.alarm_programs import Alarming, alarm_programs
from oracle.programs import Kind
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan

KINDS = pytest.mark.parametrize("kind", ["integer", "rational"])


def delayed(data: st.DataObject, plan: Plan, given: Sequence[Record], lateness: int) -> list[Record]:
    """All that comes in an order in which nothing is later than the lateness allows."""
    by = plan.timeline.encode_point(Fraction(lateness))
    delays = [data.draw(st.sampled_from([0, by // 2, by])) if lateness else 0 for _ in given]
    order = sorted(range(len(given)), key=lambda i: given[i][2] + delays[i])
    return [given[i] for i in order]


def points_of(plan: Plan, records: Sequence[Record]) -> set[Fraction]:
    """The time points at which facts arrive that the program reads."""
    begins = [lo for name, _, lo, _ in records if name in plan.schema.predicates]
    return {plan.timeline.decode_point(lo) for lo in begins if plan.timeline.is_integer or lo % 2 == 0}


@KINDS
@drawn(60)
@given(data=st.data())
def test_states_are_those_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """In all emit modes, in time and late, singly and in batches, each amortised limit at its least and as usual."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=data.draw(st.booleans()))
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    arriving = delayed(data, plan, case.records(plan), lateness)
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}\n{case}\n{arriving}")
            runs = told(plan, arriving, batch, emit, lateness=lateness)
            points = points_of(plan, arriving) if emit == "points" else None
            assert not wrong_states(case, plan, runs, points)
            assert {name for name, _ in runs} <= {"hot", "hot_state"}


@KINDS
@drawn(60)
@given(data=st.data())
def test_a_desk_has_the_open_alarms_of_the_table(kind: Kind, data: st.DataObject) -> None:
    """After each batch, also behind a snapshot: states, when they began and ended, and who has done what."""
    case: Alarming = data.draw(alarm_programs(kind))
    plan = tidelog.compile(case.text, desk=True)
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    arriving = delayed(data, plan, case.records(plan), lateness)
    emit = data.draw(st.sampled_from(MODES))
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        session = Session(plan, emit=emit, lateness=lateness, held=True)
        answers: list[Record] = []
        for i in range(0, len(arriving), batch):
            if data.draw(st.integers(0, 3)) == 0:
                answers += session.pull_records()
                stored = json.loads(json.dumps(session.snapshot()))
                session = Session(plan, emit=emit, lateness=lateness, held=True)
                session.restore(stored)
            session.push_records(arriving[i : i + batch])
            note(f"{emit}, {set_limits}, up to {i + batch} of\n{case}\n{arriving}")
            assert not wrong_desk(case, plan, session.open_alarms(), session.frontier)
        session.finish()
        assert case.follows_calendar or not wrong_desk(case, plan, session.open_alarms(), session.frontier)
    if emit in ("intervals", "final"):
        assert not wrong_states(case, plan, runs_of([*answers, *session.pull_records()]))
