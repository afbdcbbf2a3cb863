"""What goes on holding until further notice is told rightly: drawn programs against the oracle, in every way of telling.

Each is pushed fact by fact and in batches, in time and late, with few rows and with hundreds, in all emit modes, with each
amortised limit at its least and as usual. What is told is put together, and compared with the oracle point by point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from limits import limits, some_limits

from drawing import drawn
from engine.test_changes import intervals_of
from engine.test_session_equals_oracle import REFUSED, last_begin
from oracle.agreement import Expected, Runs, records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.open_programs import open_programs, open_streams
from oracle.programs import Kind, shuffled_within
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Interval, Program
from tidelog.runtime.ports.interfaces import EmitMode

MODES: tuple[EmitMode, ...] = get_args(EmitMode)
BATCHES = st.sampled_from([1, 1, 1, 2, 5, 1000])
DEVICE = "k"


def compiled(text: str) -> tuple[Program, Plan]:
    """A drawn program and its plan; one that is refused for a documented reason is no example."""
    program = parse(text)
    try:
        return program, compile_program(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= REFUSED, text
        assume(False)
        raise


def told(plan: Plan, records: Sequence[Record], batch: int, emit: EmitMode, **options: Any) -> Runs:
    """What is told in a mode, put together; fails where it is told twice, in pieces that should be whole, or is no time."""
    session = Session(plan, emit=emit, **options)
    for i in range(0, len(records), batch):
        session.push_records(records[i : i + batch])
    session.finish()
    answers = session.pull_records()
    if emit == "changes":
        answers = intervals_of(answers)
    assert all((lo == NEG or abs(lo) < LIMIT) and (hi == POS or abs(hi) < LIMIT) for _, _, lo, hi in answers), "no time"
    runs = runs_of(answers)
    if emit == "final":
        assert sum(map(len, runs.values())) == len(answers), "in pieces"
    return runs


def points_of(facts: Sequence[GroundFact]) -> list[Fraction]:
    """The time points at which facts arrive."""
    return sorted({Fraction(when.low) for _, _, when in facts if not when.left_open})


def shown(text: str, facts: Sequence[GroundFact]) -> str:
    """A program and its facts, to be read when they fail."""
    return "\n".join([text, *(f"{name}{row}@{when}" for name, row, when in facts)])


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_few_rows_are_told_as_the_oracle_says(kind: Kind, data: st.DataObject) -> None:
    """Rules over three constants, which are joined and linked, with loops and background facts."""
    text = data.draw(open_programs(kind))
    program, plan = compiled(text)
    facts = data.draw(open_streams(kind))
    lateness = data.draw(st.sampled_from([0, 0, 3]))
    arriving = data.draw(shuffled_within(facts, lateness)) if lateness else facts
    batch = data.draw(BATCHES)
    until = last_begin(facts) if any(loop.holds for loop in plan.loops) else None
    expected = Expected(program, facts, until)
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}\n{shown(text, arriving)}")
            runs = told(plan, records_of(plan, arriving), batch, emit, lateness=lateness)
            assert not expected.differences(runs, points_of(facts) if emit == "points" else None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "rational"])
@drawn(30)
@given(data=st.data())
def test_hundreds_of_rows_are_told_as_the_oracle_says(kind: Kind, data: st.DataObject) -> None:
    """Each device has one of a few histories, later or earlier; its answers are those of the history, as much later."""
    text = data.draw(open_programs(kind, single=True))
    program, plan = compiled(text)
    histories = data.draw(st.lists(open_streams(kind, size=8, names=[DEVICE], links=False), min_size=1, max_size=4))
    randoms = data.draw(st.randoms(use_true_random=False))
    count, span = data.draw(st.sampled_from([30, 100, 300])), data.draw(st.sampled_from([5, 40, 200]))
    devices = [(randoms.randrange(len(histories)), randoms.randrange(span)) for _ in range(count)]
    facts = [
        (name, (device, *row[1:]), moved(when, later))
        for device, (number, later) in enumerate(devices)
        for name, row, when in histories[number]
    ]
    lateness, batch = data.draw(st.sampled_from([0, 0, 3])), data.draw(BATCHES)
    facts.sort(key=lambda fact: (fact[2].low + randoms.randint(0, lateness), fact[2].left_open))
    expected = [Expected(program, history) for history in histories]
    set_limits = data.draw(some_limits())
    with limits(**set_limits):
        for emit in MODES:
            note(f"{emit}, {set_limits}, lateness {lateness}, batches of {batch}, {devices}\n{text}\n{histories}")
            runs = told(plan, records_of(plan, facts), batch, emit, lateness=lateness)
            points = points_of(facts)
            for device, (number, later) in enumerate(devices):
                then = [time - later for time in points] if emit == "points" else None
                for predicate in plan.outputs:
                    ranges = runs.get((predicate, (device,)), [])
                    found = expected[number].of_row(predicate, (DEVICE,), ranges, then, later)
                    assert not found, (device, later, shown(text, histories[number]))


def moved(when: Interval, later: int) -> Interval:
    """An interval, so much later."""
    return replace(when, low=when.low + later, high=when.high + later)
