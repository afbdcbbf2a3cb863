"""The session's answers are the oracle's: random programs and streams, every way of feeding them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import differences, records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.programs import ANY, AWAITING, EVERYTHING, FORWARD, NON_RECURSIVE, PAST_ONLY, programs, shuffled_within, streams
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program

FRAGMENTS = {
    "forward": FORWARD,
    "past": PAST_ONLY,
    "non-recursive": NON_RECURSIVE,
    "everything": EVERYTHING,
    "awaiting": AWAITING,
    "negation": replace(EVERYTHING, nested_negation=True, recursion=False),
}


def last_begin(facts: list[GroundFact]) -> Fraction:
    """The latest time at which a fact begins: recursion without end is followed that far."""
    return max((f[2].low for f in facts if isinstance(f[2].low, Fraction)), default=Fraction(0))


def show(program: Program, facts: list[GroundFact]) -> str:
    return format_program(program) + "\n" + "\n".join(map(str, facts))


REFUSED = {"not-supported", "infinite-delay"}
"""What the compiler may say of a drawn program: nothing else."""


def compiled(program: Program) -> Plan:
    """The plan; programs that are refused for a documented reason are not examples."""
    try:
        return compile_program(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= REFUSED, format_program(program)
        assume(False)
        raise


def unfused(program: Program) -> Plan:
    """The plan with a step for each rule of the normal form."""
    with patch("tidelog.plans.compiling.compile.fuse", lambda steps, *_: steps):
        return compiled(program)


def answers_of(program: Program, facts: list[GroundFact], batch: int = 1, lateness: Fraction | int = 0) -> list[Record]:
    plan = compiled(program)
    session = Session(plan, lateness=Fraction(lateness))
    records = records_of(plan, facts)
    for i in range(0, len(records), batch):
        session.push_records(records[i : i + batch])
    session.finish()
    return session.pull_records()


def until(program: Program, facts: list[GroundFact]) -> Fraction | None:
    """Where the comparison ends: recursion through time is compared up to the last begin."""
    plan = compiled(program)
    return last_begin(facts) if any(loop.holds for loop in plan.loops) else None


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
def test_answers_are_the_oracles(timeline: str, fragment: str, data: st.DataObject) -> None:
    """In order of time, in batches of any size, each fact and time is answered once, and rightly."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    facts = data.draw(streams(program))
    found = answers_of(program, facts, batch=data.draw(st.integers(1, 20)))
    assert not differences(program, facts, found, until(program, facts)), show(program, facts)


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@pytest.mark.parametrize("fragment", list(FRAGMENTS))
@given(data=st.data())
def test_late_facts_within_the_lateness_change_nothing(timeline: str, fragment: str, data: st.DataObject) -> None:
    """In any order that the declared lateness allows, the answers are the same."""
    program = data.draw(programs(timeline, FRAGMENTS[fragment]))
    facts = data.draw(streams(program))
    lateness = data.draw(st.integers(1, 6))
    shuffled = data.draw(shuffled_within(facts, lateness))
    found = answers_of(program, shuffled, batch=data.draw(st.integers(1, 20)), lateness=lateness)
    assert not differences(program, facts, found, until(program, facts)), show(program, shuffled)


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(timeline: str, data: st.DataObject) -> None:
    """A session restored from a snapshot at any message goes on as if nothing had happened."""
    program = data.draw(programs(timeline, data.draw(ANY)))
    plan = compiled(program)
    records = records_of(plan, data.draw(streams(program)))
    cut = data.draw(st.integers(0, len(records)))
    mode = data.draw(st.sampled_from(["intervals", "final", "changes", "points"]))
    whole = Session(plan, emit=mode)
    whole.push_records([])
    first = Session(plan, emit=mode)
    for record in records[:cut]:
        whole.push_records([record])
        first.push_records([record])
    answers = first.pull_records()
    second = Session(plan, emit=mode)
    second.restore(_plain(first.snapshot()))
    for record in records[cut:]:
        whole.push_records([record])
        second.push_records([record])
    whole.finish()
    second.finish()
    assert answers + second.pull_records() == whole.pull_records()


def _plain(data: object) -> dict:
    """The snapshot after a journey through JSON: it is plain data indeed."""
    return json.loads(json.dumps(data))


@pytest.mark.parametrize("timeline", ["rational", "integer"])
@given(data=st.data())
def test_final_and_points_agree_with_intervals(timeline: str, data: st.DataObject) -> None:
    """`final` gives the maximal ranges of what `intervals` gives, and `points` their slices at the input's times."""
    program = data.draw(programs(timeline, NON_RECURSIVE))
    facts = data.draw(streams(program))
    plan = compiled(program)
    records = records_of(plan, facts)
    sessions = {mode: Session(plan, emit=mode) for mode in ("intervals", "final", "points")}
    for session in sessions.values():
        for record in records:
            session.push_records([record])
        session.finish()
    runs = runs_of(sessions["intervals"].pull_records())
    final = sessions["final"].pull_records()
    assert Counter(((p, r), lo, hi) for p, r, lo, hi in final) == Counter(
        (fact, lo, hi) for fact, ranges in runs.items() for lo, hi in ranges
    )
    mask = -1 if timeline == "integer" else ~1
    times = sorted({lo & mask for _, _, lo, _ in records if lo > -(1 << 61)})
    expected = [
        (time, str(fact)) for time in times for fact, ranges in runs.items() if any(lo <= time <= hi for lo, hi in ranges)
    ]
    points = sessions["points"].pull_records()
    assert sorted((lo, str((p, r))) for p, r, lo, _ in points) == sorted(expected)
    assert [record[2] for record in points] == sorted(record[2] for record in points)


def test_a_wildcard_in_a_negation_below_a_box() -> None:
    """`_` below two boxes with a negation between them is some constant in the negation, not one for the outer box."""
    plan = compile_program(parse("input p. input q(x). a :- boxminus[0,1] (p, not boxminus[0,1] q(_))."))
    session = Session(plan, emit="final")
    session.push("p", [], interval="[0,5]")
    session.push("q", [1], interval="[1,3]")
    session.finish()
    assert [str(answer) for answer in session.pull()] == ["a@[1,2)", "a@(4,5]"]
