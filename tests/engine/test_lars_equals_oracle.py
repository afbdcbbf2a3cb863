"""The session's answers to LARS programs are the oracle's: each form alone, and all together."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import differences, oracle_of, records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.lars_programs import (
    AT_IN_WINDOWS,
    EVERY_FORM,
    GROUPS,
    HEADS,
    RECURSION,
    STEPPED,
    TUPLES,
    lars_programs,
    lars_streams,
)
from oracle.programs import shuffled_within
from oracle.reach import reach
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.ports.interfaces import EmitMode

pytestmark = pytest.mark.slow

FORMS = {
    "at": AT_IN_WINDOWS,
    "groups": GROUPS,
    "heads": HEADS,
    "stepped": STEPPED,
    "tuples": TUPLES,
    "recursion": RECURSION,
    "values": replace(HEADS, values=True),
    "everything": EVERY_FORM,
}
MIXED = ("tuples", "recursion", "values", "everything")
"""The forms with which order of arrival, start, snapshots and emission are compared."""
MODES: tuple[EmitMode, ...] = ("intervals", "final", "points")
REFUSED = {"infinite-delay", "unbounded-time"}
"""What the compiler may say of a drawn program, besides that the windows of a time variable exclude each other."""


def compiled(program: Program) -> Plan:
    """The plan; programs that are refused for a documented reason are not examples."""
    try:
        return compile_program(program)
    except ProgramError as error:
        known = [item.code in REFUSED or "no time in common" in item.message for item in error.diagnostics]
        assert all(known), f"{format_program(program)}\n{error}"
        assume(False)
        raise


def show(program: Program, facts: list[GroundFact]) -> str:
    return format_program(program) + "\n" + "\n".join(map(str, facts))


def answers_of(plan: Plan, facts: list[GroundFact], batch: int, advance: bool = False, **options: Any) -> list[Record]:
    """What a session says to facts pushed in batches of a size; with `advance`, told before each how far time has come."""
    session = Session(plan, **options)
    records = records_of(plan, facts)
    for i in range(0, len(records), batch):
        if advance:
            session.advance(min(lo for _, _, lo, _ in records[i:]) - 1)
        session.push_records(records[i : i + batch])
    session.finish()
    return session.pull_records()


def compare(program: Program, plan: Plan, facts: list[GroundFact], answers: list[Record], start: int | None = None) -> None:
    """Fail where answers and oracle differ; recursion through time is compared up to the last begin of a fact.

    Programs whose time variables have no bound are not examples.
    """
    distance = reach(program)
    assume(math.inf in (distance.left, distance.right) or not oracle_of(program, facts, start).meets_edge)
    begins = [interval.low for _, _, interval in facts if isinstance(interval.low, Fraction)]
    until = max(begins) if any(loop.holds for loop in plan.loops) else None
    found = differences(program, facts, answers, until, start)
    assert not found, f"{show(program, facts)}\n{found}"


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_answers_are_the_oracles(form: str, data: st.DataObject) -> None:
    """In order of time, in batches of any size, each fact and time is answered once, and rightly."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    answers = answers_of(plan, facts, data.draw(st.integers(1, 20)), data.draw(st.booleans()))
    compare(program, plan, facts, answers)


@pytest.mark.parametrize("form", MIXED)
@given(data=st.data())
def test_a_start_before_the_first_fact_clips_windows_there(form: str, data: st.DataObject) -> None:
    """Where the stream is told to start earlier, windows are clipped there, and tuple windows begin there."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    start = data.draw(st.integers(-4, 0))
    answers = answers_of(plan, facts, data.draw(st.integers(1, 20)), data.draw(st.booleans()), start=start)
    compare(program, plan, facts, answers, start)


@pytest.mark.parametrize("form", MIXED)
@given(data=st.data())
def test_late_facts_within_the_lateness_keep_their_order_of_arrival(form: str, data: st.DataObject) -> None:
    """Late facts change nothing but the order within a time point, which is that of their arrival."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    lateness = data.draw(st.integers(1, 6))
    facts = data.draw(shuffled_within(data.draw(lars_streams()), lateness))
    compare(program, plan, facts, answers_of(plan, facts, data.draw(st.integers(1, 20)), lateness=lateness))


@pytest.mark.parametrize("form", MIXED)
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(form: str, data: st.DataObject) -> None:
    """A session restored from a snapshot at any message, through JSON, goes on as if nothing had happened."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    lateness = data.draw(st.integers(0, 4))
    records = records_of(plan, data.draw(shuffled_within(data.draw(lars_streams()), lateness)))
    cut = data.draw(st.integers(0, len(records)))
    mode = data.draw(st.sampled_from(MODES))
    whole, first, second = (Session(plan, emit=mode, lateness=lateness) for _ in range(3))
    for record in records[:cut]:
        whole.push_records([record])
        first.push_records([record])
    answers = first.pull_records()
    second.restore(json.loads(json.dumps(first.snapshot())))
    for record in records[cut:]:
        whole.push_records([record])
        second.push_records([record])
    whole.finish()
    second.finish()
    assert answers + second.pull_records() == whole.pull_records(), format_program(program)


@pytest.mark.parametrize("form", [form for form in MIXED if form != "recursion"])
@given(data=st.data())
def test_final_and_points_agree_with_intervals(form: str, data: st.DataObject) -> None:
    """`final` gives the maximal ranges of what `intervals` gives, and `points` their slices at the input's times."""
    program = data.draw(lars_programs(FORMS[form]))
    plan = compiled(program)
    facts = data.draw(lars_streams())
    batch = data.draw(st.integers(1, 4))
    intervals, final, points = (answers_of(plan, facts, batch, emit=mode) for mode in MODES)
    runs = runs_of(intervals)
    assert Counter(((p, row), lo, hi) for p, row, lo, hi in final) == Counter(
        (fact, lo, hi) for fact, ranges in runs.items() for lo, hi in ranges
    ), show(program, facts)
    times = sorted({lo for _, _, lo, _ in records_of(plan, facts)})
    expected = [
        (time, str(fact)) for time in times for fact, ranges in runs.items() if any(lo <= time <= hi for lo, hi in ranges)
    ]
    assert sorted((lo, str((p, row))) for p, row, lo, _ in points) == sorted(expected), show(program, facts)
    assert [record[2] for record in points] == sorted(record[2] for record in points)
