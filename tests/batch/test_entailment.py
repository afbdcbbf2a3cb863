"""Entailment decides what a whole materialisation tells, from the relevant rules and facts alone."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.programs import EVERYTHING, Kind, programs, streams
from tidelog.commands.batch import predicates_read, relevant_part
from tidelog.commands.batch_progress import Progress
from tidelog.commands.entails import Question
from tidelog.plans.batch import BatchPlan, compile_batch
from tidelog.plans.errors import ProgramError
from tidelog.plans.facts import Record, format_record
from tidelog.plans.printing import format_program
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.batch.materialisation import Materialisation


def decided(plan: BatchPlan, facts: list[Record], fact: Record) -> tuple[str, bool]:
    """The answer, from the relevant part alone, and whether that part must come to an end."""
    part = relevant_part(plan, fact[0])
    wanted = predicates_read(part, fact[0])
    question = Question(part, fact)
    question.done.load(record for record in facts if wanted is None or record[0] in wanted)
    return question.decide(Progress()), all(component.ending == "finite" for component in part.components)


def moved(fact: Record, begin: int, end: int) -> Record:
    """The fact with its finite ends moved."""
    predicate, row, lo, hi = fact
    lo = lo if lo == NEG else lo + begin
    return predicate, row, lo, hi if hi == POS else max(lo, hi + end)


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_entailment_agrees_with_materialisation(data: st.DataObject, kind: Kind) -> None:
    """For facts that hold, and for facts a little beside them, where the whole materialisation comes to an end."""
    program = data.draw(programs(kind, EVERYTHING))
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        return
    facts = records_of(plan, data.draw(streams(program, infinite=True, size=8)))
    done = Materialisation(plan)
    done.load(facts)
    done.run(40)
    assume(not done.round())
    held = sorted(done.facts(), key=repr)
    for _ in range(4 if held else 0):
        fact = moved(data.draw(st.sampled_from(held)), data.draw(st.integers(-3, 3)), data.draw(st.integers(-3, 3)))
        answer, ends = decided(plan, facts, fact)
        told = {"true" if done.holds(fact) else "false"}
        if done.violation() is not None:
            told = {"inconsistent"} if ends else {"inconsistent", "true"}
        where = f"{format_program(program)}\n{[format_record(record, plan.timeline) for record in facts]}"
        assert answer in told, f"{format_record(fact, plan.timeline)}\n{where}"
