"""Rules that depend on their own negation at earlier times: the answers are those of the model that justifies itself."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from engine.machines.comparing import answers_of, compiled, differing, is_clocked, model_of, until_of
from oracle.agreement import runs_of
from oracle.negative_programs import constant_programs, negative_programs
from oracle.programs import streams
from tidelog.plans.language.printing import format_program


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_answers_are_the_models(data: st.DataObject) -> None:
    """In batches of any size."""
    program = data.draw(negative_programs())
    plan = compiled(program)
    assume(is_clocked(plan))
    facts = data.draw(streams(program, size=8, last=8))
    found, has_ended = answers_of(plan, facts, batch=data.draw(st.integers(1, 9)))
    event(f"ended: {has_ended}")
    shown = format_program(program) + "\n" + "\n".join(map(str, facts))
    assert not differing(model_of(program, facts), plan, runs_of(found), until_of(facts, has_ended)), shown


@given(data=st.data())
def test_strata_by_constants(data: st.DataObject) -> None:
    """A predicate whose rules name different values, and negate each other at one time."""
    program = data.draw(constant_programs())
    plan = compiled(program)
    facts = data.draw(streams(program, size=8, last=8))
    found, has_ended = answers_of(plan, facts, batch=data.draw(st.integers(1, 9)))
    shown = format_program(program) + "\n" + "\n".join(map(str, facts))
    assert not differing(model_of(program, facts), plan, runs_of(found), until_of(facts, has_ended)), shown
