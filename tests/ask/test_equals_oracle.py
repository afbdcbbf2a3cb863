"""Unfolded queries and what is told of their answers are what the definitions say: random programs and streams."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from ask.hypothetical_cases import (
    ANY,
    LISTS,
    START,
    Case,
    Log,
    a_case,
    case_of,
    check_absences,
    check_restored,
    check_supports,
    check_three_values,
    check_verdicts,
    deliver,
    told,
)
from oracle.hypothetical import Answer, answer_of, entailed
from oracle.hypothetical_agreement import (
    Claims,
    instance,
    is_instance,
    time_slots,
)
from oracle.hypothetical_programs import (
    ABSENCES,
    COMPARED,
    EVERYTHING,
    LAST,
    METRIC,
    NEGATIVE,
    POSITIVE,
    SEVERAL_TIMES,
    TEMPORAL,
    VALUES,
    WINDOWS,
)
from oracle.hypothetical_streams import Arrival, in_order, out_of_order
from tidelog import Session
from tidelog.operators.sld import limits
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Atom, TimePoint, Value, Variable

pytestmark = pytest.mark.slow

FEW = settings(max_examples=max((settings.default or settings()).max_examples // 8, 1))  # each costs ten times a usual one
POSITIVE_SHAPES = {
    "temporal": TEMPORAL,
    "several": SEVERAL_TIMES,
    "metric": METRIC,
    "windows": WINDOWS,
    "positive": POSITIVE,
    "compared": COMPARED,
}
NEGATIVE_SHAPES = {"negation": NEGATIVE, "everything": EVERYTHING, "absences": ABSENCES}


# --- preconditions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_every_hypothetical_answer_is_an_instance_of_a_precondition(shape: str, data: st.DataObject) -> None:
    """Proposition 7: before any fact has come, each ⟨θ, H⟩ is an instance of one of 𝒫_Q."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    preconditions = case.unfolding.main.preconditions
    for answer, facts in case.oracle.hypothetical([], case.universe):
        found = any(is_instance(item, answer, facts, START) for item in preconditions)
        assert found, f"{case.text}\n{answer} {sorted(facts, key=repr)}"


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_every_instance_of_a_precondition_entails_its_answer(shape: str, data: st.DataObject) -> None:
    """Proposition 6: whatever values its variables take, the premises of a precondition entail its answer."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    for item in case.unfolding.main.preconditions[:20]:
        for _ in range(3):
            times = time_slots(item)
            drawn: dict[int, Value] = {
                i: data.draw(st.integers(0, 4) if i in times else st.sampled_from(VALUES))
                for i in range(len(item.variables))
            }
            made = instance(item, drawn, START)
            if made is not None:
                claims.add(made[0], made[1], True, f"{item} at {drawn}")
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


# --- what is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_what_is_supported_is_what_the_definitions_say(shape: str, data: st.DataObject) -> None:
    """Propositions 12 and 13, at each time point of a stream in order."""
    case = a_case(data, POSITIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    for log, known, watermark in deliver(case, in_order(case.history(data))):
        check_supports(log, known, watermark, claims)
        check_verdicts(log, known, watermark, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


def test_it_is_so_where_only_different_values_make_an_answer_minimal() -> None:
    """Of X, Y and Z in `p(Z)`, `s(X,X)` and `s(Y,Z)`, which are all to come, X must not be Z: then `s(Y,Z)` is needless."""
    program = parse(
        """timeline integer. input p(x). input s(x, y).
        boxminus[1,2] a :- diamondminus[0,2] s(Y,Z), diamondminus[0,2] p(Z).
        b(X) :- a, s(X,X), diamondminus[0,inf) p(k)."""
    )
    query = Atom("b", (Variable("X"),), at=TimePoint(Variable("T")))
    with patch.object(limits, "LONGEST_LIST", LISTS[0]):
        case = case_of(program, query, lambda: [("p", ("k",), 3)])
    for log, known, watermark in deliver(case, in_order(case.universe)[:1]):
        check_supports(log, known, watermark, Claims(case.program, case.query, START))


@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_it_is_so_for_facts_in_any_order(shape: str, data: st.DataObject) -> None:
    """Batches of any size, with facts from the past and the future, some of them delayed."""
    case = a_case(data, replace(POSITIVE_SHAPES[shape], delays=True))
    claims = Claims(case.program, case.query, START)
    arrivals = data.draw(out_of_order(case.history(data), case.delays))
    for log, known, watermark in deliver(case, arrivals, ANY):
        check_supports(log, known, watermark, claims)
        check_verdicts(log, known, watermark, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


# --- negation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", NEGATIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_with_negation_verdicts_are_sound_and_in_the_end_exact(shape: str, data: st.DataObject) -> None:
    """In any order, with delays: no verdict is taken back by what comes later, and in the end all are right."""
    case = a_case(data, NEGATIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, START)
    arrivals = data.draw(out_of_order(case.history(data), case.delays))
    for log, known, watermark in deliver(case, [*arrivals, Arrival((), POS)], ANY):
        check_three_values(log, known, watermark)
        check_absences(log, known, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


# --- streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_batches_are_replayed_time_by_time(shape: str, data: st.DataObject) -> None:
    """In order of time, any cut of a stream into batches gives the lines of one time point after the other."""
    case = a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=data.draw(st.booleans())))
    arrivals = in_order(case.history(data))
    cuts = [*(index for index in range(1, len(arrivals)) if data.draw(st.booleans())), len(arrivals)]
    single, batched = Log(case, case.asker()), Log(case, case.asker())
    first = 0
    for last in cuts:
        for arrival in arrivals[first:last]:
            single.receive(arrival.facts, arrival.watermark)
        facts = [fact for arrival in arrivals[first:last] for fact in arrival.facts]
        batched.receive(facts, arrivals[last - 1].watermark)
        first = last
    assert told(batched.lines) == told(single.lines), case.text


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(shape: str, data: st.DataObject) -> None:
    """An asker that is restored from a snapshot, through JSON, tells what the other one would have told."""
    check_restored(a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=True)), data)


# --- sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_certain_answers_are_those_derived_forward(shape: str, data: st.DataObject) -> None:
    """In a session, with lateness and delays: in the end certain is what the oracle and the engine derive."""
    case = a_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=data.draw(st.booleans())))
    facts = case.history(data)
    plan = forward_plan(case) or case.plan
    session = Session(plan, emit="final", lateness=2 * LAST, start=START)
    order = data.draw(st.permutations(facts))
    size = data.draw(st.integers(1, 4))
    log = Log(case, case.asker())
    for index in range(0, len(order), size):
        session.push_records((name, row, time, time) for name, row, time in order[index : index + size])
        for line in session.pull_hypothetical():
            log.note(line)
    session.finish()
    for line in session.pull_hypothetical():
        log.note(line)
    where = f"{case.text}\n{order}"
    assert log.certain == entailed(case.program, case.query, [facts], START)[0], where
    assert {answer for answer in log.told if None not in answer} <= log.certain | log.rejected, where
    if plan.outputs:
        assert log.certain == forward(session, case.query), where


def forward_plan(case: Case) -> Plan | None:
    """The plan with the query's predicate as its output; None where that can be asked for, but not derived forward."""
    try:
        return tidelog.compile(f"{case.text}output {case.query.predicate}.\n")
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"unbounded-time", "infinite-delay"}, f"{case.text}\n{error}"
        return None


def forward(session: Session, query: Atom) -> set[Answer]:
    """What the session derived forward, as answers to the query."""
    found = set()
    for name, row, lo, hi in session.pull_records():
        assert name == query.predicate
        found |= {answer_of(query, row, time) for time in range(lo, hi + 1)}
    return {answer for answer in found if answer is not None}
