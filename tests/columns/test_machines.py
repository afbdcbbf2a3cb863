"""Machines, and other recursion with `not`, run row by row between steps in columns, and say the same."""

from __future__ import annotations

from engine.machines.comparing import compiled, is_clocked
from engine.machines.test_assignments import expected, held_by
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from columns.stretches import answers_over_columns, cut_times
from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.machine_programs import events, machine_programs
from oracle.negative_programs import negative_programs
from oracle.programs import streams
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program


@given(st.data(), machine_programs(), events())
def test_machines_say_what_the_interpreter_says(data: st.DataObject, text: str, facts: list[GroundFact]) -> None:
    """In stretches that are cut anywhere."""
    plan = compile_program(parse(text))
    found = answers_over_columns(plan, records_of(plan, facts), data.draw(cut_times(plan)))
    assert held_by(found) == expected(text, facts), text


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_recursion_with_not_says_what_a_session_says(data: st.DataObject) -> None:
    """Of any program that depends on its own negation."""
    program = data.draw(negative_programs())
    plan = compiled(program)
    assume(is_clocked(plan))
    records = records_of(plan, data.draw(streams(program, size=8, last=8)))
    session = Session(plan)
    session.push_records(records)
    session.finish()
    assume(not session.unfinished())
    found = answers_over_columns(plan, records, data.draw(cut_times(plan)))
    assert runs_of(found) == runs_of(session.pull_records()), format_program(program)
