"""Proofs of what depends on its own negation, and of what is assigned, are taken by the verifier, which goes its own way."""

from __future__ import annotations

import json

from engine.machines.comparing import compiled, is_clocked
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.evaluate import GroundFact, rules_of
from oracle.machine_programs import events, machine_programs
from oracle.negative_programs import negative_programs
from oracle.programs import streams
from tidelog import Materialisation
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import EndlessError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Binary, Negation, Program, Rule, Unary
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.told import telling_all
from tidelog.verifier.certificate import Verifier
from why.explaining import refusal, verifier, why
from why.test_verified_answers import verify

WASHING = """timeline integer.
mode(M) := filling :- button(M), not mode(M, _).
mode(M) := washing :- full(M), mode(M, filling).
mode(M) := none :- mode(M, washing) for 10.
"""
FACTS = ["button(a)@1", "full(a)@4", "button(a)@6"]


def _is_deep(rule: Rule) -> bool:
    """Whether a `not` is about operators below operators, whose absence the verifier does not move in time."""
    negated = [part.operand for formula in rule.body for part in subformulas(formula) if isinstance(part, Negation)]
    return any(
        isinstance(below, Unary | Binary) for each in negated for part in subformulas(each) for below in children(part)
    )


def prove(program: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    """Of what is materialised some is explained, and so is what does not hold right behind it."""
    plan = compile_batch(program)
    done = Materialisation(plan)
    done.load(records_of(plan, facts))  # type: ignore[arg-type]
    try:
        done.run()
    except EndlessError:
        assume(False)
    derived = sorted((fact for fact in done.facts() if fact[0] in {"a", "b", "c", "m", "n", "busy"}), key=repr)
    assume(derived)
    for name, row, lo, hi in data.draw(st.lists(st.sampled_from(derived), min_size=1, max_size=3)):
        last = min(hi, lo + 3)
        assert verify(done.explainer(), program, facts, (name, row, lo, last))
        if hi < POS:
            assert not verify(done.explainer(), program, facts, (name, row, hi + 1, hi + 1))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_recursion_with_not_is_proved(data: st.DataObject) -> None:
    program = data.draw(negative_programs())
    assume(is_clocked(compiled(program)) and not any(map(_is_deep, rules_of(program))))
    prove(program, data.draw(streams(program, size=6, last=8)), data)


@given(machine_programs(), events(), st.data())
def test_machines_are_proved(text: str, facts: list[GroundFact], data: st.DataObject) -> None:
    prove(parse(text), facts, data)


@given(machine_programs(), events(), st.data())
def test_what_streams_tell_is_proved(text: str, facts: list[GroundFact], data: st.DataObject) -> None:
    """Also where the model is what a stream has told."""
    program = parse(text)
    plan = telling_all(compile_program(program))
    explainer = explainer_of_stream(plan, records_of(plan, facts))
    rows = [(name, row) for name in ("m", "n") for row in sorted(explainer.model.rows(name), key=repr)]
    assume(rows)
    name, row = data.draw(st.sampled_from(rows))
    lo, _ = explainer.model.ranges(name, row, 0, 60)[0] if explainer.model.ranges(name, row, 0, 60) else (0, 0)
    verify(explainer, program, facts, (name, row, lo, lo))


def test_a_wrong_proof_is_refused() -> None:
    """A negated premise inside the recursion is checked: where something was assigned, nothing is absent."""
    checker = verifier(WASHING, FACTS)
    good = json.loads(why(WASHING, FACTS, "mode(a,washing)@[5,9]").json())
    assert refusal(checker, good) is None
    longer = json.loads(json.dumps(good).replace("[5,9]", "[5,19]").replace("[5,8]", "[5,18]"))
    assert refusal(checker, longer) is not None


def test_what_reads_a_recursion_comes_behind_it() -> None:
    """A predicate that depends on itself stands below one that negates it, though both depend on one alone."""
    text = "timeline integer. a(X) :- p(X), not b(X). b(X) :- q(X). b(X) :- diamondminus[1] b(X), p(X)."
    facts = ["p(x)@[0,5]", "q(x)@1"]
    checker = verifier(text, facts)
    assert refusal(checker, json.loads(why(text, facts, "a(x)@3").json())) is None
    premises = [{"fact": "p(x)@3", "by": "input", "premises": []}, {"absent": "b(x)@3"}]
    proof = {"fact": "a(x)@3", "by": "a(X) :- p(X), not b(X).", "premises": premises}
    assert refusal(checker, {"holds": True, "fact": "a(x)@3", "proof": proof}) is not None


def test_why_not_names_what_was_assigned() -> None:
    """It does not hold any more, since something else was assigned."""
    told = why(WASHING, FACTS, "mode(a,filling)@8").text()
    assert "fails" in told and "'mode := other'(a,filling)@4" in told


def test_formatted_programs_are_the_same() -> None:
    """The certificate names rules as the program writes them."""
    program = parse(WASHING)
    assert parse(format_program(program)) == program
    assert isinstance(Verifier(format_program(program), []), Verifier)
