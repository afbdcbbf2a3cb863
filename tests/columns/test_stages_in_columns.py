"""A stage over history tells in columns what it tells row by row, and all stages what one session tells."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from analysis.histories import over_history
from analysis.test_stages import FRAGMENTS, arrivals, compiled, given_programs, keyed_programs
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.agreement import records_of, runs_of
from oracle.lars_programs import EVERY_FORM, lars_programs, lars_streams
from oracle.programs import Kind, programs
from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.columns.stages.staged import StageCourse, open_history
from tidelog.runtime.frames.columns import batch_of
from tidelog.runtime.frames.stages import ColumnHistory
from tidelog.runtime.ports.interfaces import StageHistory, StageMode
from tidelog.runtime.sessions.staged import open_stage

MODES = st.sampled_from(["intervals", "final", "changes"])


def agree(plan: Plan, records: list[Record], emit: StageMode, piece: int, stretch: int) -> None:
    """Compare what stages tell in columns and by rows; and, where all of it has an end, with one session."""
    stretched = partial(open_history, stretch=stretch)
    in_columns = over_history(plan, records, stretched, emit, piece)
    by_rows = over_history(plan, records, open_stage, emit, piece)
    batches = over_history(plan, records, stretched, emit, piece, hand_columns)
    assert _told(batches.told, emit) == _told(in_columns.told, emit)
    stages = stages_of(plan).stages
    shown = format_program(plan.program) + "".join(f"\n{record}" for record in records)
    shown += "".join(f"\n% {stage.number}: {stage.key}\n{format_program(stage.program)}" for stage in stages)
    assert _told(in_columns.told, emit) == _told(by_rows.told, emit), shown
    violated = {found[:2] for found in in_columns.violations}
    assert violated == {found[:2] for found in by_rows.violations}, shown
    assert in_columns.unfinished == by_rows.unfinished, shown
    if any(loop.holds for stage in stages for loop in stage.plan.loops):
        return
    session = Session(plan, emit=emit, lateness=math.inf)
    session.push_records(records)
    session.finish()
    assert _told(in_columns.told, emit) == _told(session.pull_records(), emit), shown
    assert violated == {(found.rule, found.facts) for found in session.pull_violations()}, shown


def hand_columns(session: StageHistory, records: list[Record]) -> object:
    """Facts as a batch a predicate, those that begin last first; a session that has no columns takes rows."""
    if not isinstance(session, ColumnHistory):
        return session.take(records)
    for name in {record[0] for record in records}:
        facts = [record[1:] for record in reversed(records) if record[0] == name]
        session.take_columns(name, batch_of(facts, len(facts[0][0]), session.pool))
    return None


def _told(records: list[Record], emit: StageMode) -> object:
    """Answers in the form in which two runs are alike: intervals may be cut anywhere, but hold nothing twice."""
    return runs_of(records) if emit == "intervals" else Counter(map(tuple, records))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
@drawn(20, suppress_health_check=list(HealthCheck))
def test_stages_tell_in_columns_what_they_tell_by_rows(kind: Kind, fragment: str, data: st.DataObject) -> None:
    """Whatever the program, however its facts are cut: answers, violations, and what is left unfinished."""
    drawn = programs(kind, FRAGMENTS[fragment])
    program = data.draw((drawn.flatmap(keyed_programs) | drawn).flatmap(given_programs))
    plan = compiled(program)
    assume(not stages_of(plan).problems)
    records = records_of(plan, data.draw(arrivals(plan, program, kind)))
    agree(plan, records, data.draw(MODES), data.draw(st.integers(1, 6)), data.draw(st.integers(1, 9)))


@pytest.mark.slow
@given(program=lars_programs(replace(EVERY_FORM, recursion=True)), data=st.data())
@drawn(20, suppress_health_check=list(HealthCheck))
def test_windows_and_values_in_stages_over_columns(program: Program, data: st.DataObject) -> None:
    """Clipped and stepped windows, held values, aggregates, times as values; what counts facts runs by rows."""
    plan = compiled(program)
    assume(not stages_of(plan).problems)
    records = records_of(plan, data.draw(lars_streams()))
    agree(plan, records, data.draw(MODES), data.draw(st.integers(1, 6)), data.draw(st.integers(1, 9)))


@pytest.mark.parametrize(
    ("text", "is_in_columns"),
    [
        ("input p(x). a(X) :- diamondminus[0,3] p(X).", True),
        ("input p(x). a(X) :- p(X) in [#2 of p].", False),
        ("input p(x). a(X) :- p(X). a(X)@T+2 :- a(X)@T.", False),
        ("input p(x). a(X)@T+1 :- p(X)@T, p(X)@T+1. ask a(X)@T.", False),
    ],
    ids=["windows", "the last facts", "recursion without an end", "a question"],
)
def test_what_columns_do_not_carry_runs_by_rows(text: str, is_in_columns: bool) -> None:
    """The last of the stages is the one that matters."""
    stage = stages_of(tidelog.compile("timeline integer. " + text)).stages[-1]
    session = open_history(stage, lambda _: True)
    assert isinstance(session, StageCourse) == is_in_columns
    session.finish(3)
    assert session.pull().told == []
