"""Proofs of what depends on its own negation, and of what is assigned, are taken by the verifier, which goes its own way."""

from __future__ import annotations

import json

import pytest
from engine.machines.comparing import compiled, is_clocked
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.evaluate import GroundFact, rules_of
from oracle.machine_programs import events, machine_programs
from oracle.machines import run_machines
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
from tidelog.runtime.why.absent.why_not import WhyNot
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


@pytest.mark.parametrize(
    ("fact", "instead"),
    [
        (
            "mode(a,filling)@8",
            "mode(a) is `washing`, assigned at 4 by the rule in line 3: mode(M) := washing :- full(M), mode(M, filling).",
        ),
        (
            "mode(a,washing)@30",
            "mode(a) has no value: `none` was assigned at 15 by the rule in line 4: "
            "mode(M) := none :- mode(M, washing) for 10.",
        ),
        ("mode(a,washing)@0", "mode(a) has no value: nothing was assigned to it before"),
    ],
)
def test_why_not_names_what_was_assigned(fact: str, instead: str) -> None:
    """What holds instead, when it was assigned and by which rule; it spoke of `'mode := other'`, which no program has."""
    answer = why(WASHING, FACTS, fact)
    told = answer.text()
    assert told.splitlines()[1] == f"  {instead}"
    assert ":= other" not in told and "since" not in told
    assert answer.certificate()["instead"] == [instead]


def test_why_not_says_what_a_machine_holds_that_a_rule_asks_for() -> None:
    """Beside the premise that fails, and with `depth` what would have had to be assigned."""
    text = WASHING + "done(M) :- check(M), mode(M, washing).\n"
    told = why(text, ["button(a)@1", "check(a)@3"], "done(a)@3", depth=2).text()
    assert told == (
        "done(a)@3 does not hold: not at 3\n"
        "  by done(M) :- check(M), mode(M, washing).  where M = a\n"
        "    fails mode(a,washing)@3\n"
        "    nearest mode(a,filling)@[2,inf)\n"
        "    instead mode(a) is `filling`, assigned at 1 by the rule in line 2: "
        "mode(M) := filling :- button(M), not mode(M, _).\n"
        "      by mode(M) := washing :- full(M), mode(M, filling).  where M = a\n"
        "        fails nowhere full(a)@[1,2]"
    )


def test_why_not_says_what_ended_one_of_two_values() -> None:
    """Both were assigned at 1; at 4 one of them was assigned anew, which ended the other."""
    text = "timeline integer.\nm(K) := a :- e(K).\nm(K) := b :- f(K).\n"
    told = why(text, ["e(k)@1", "f(k)@1", "f(k)@4"], "m(k,a)@7").text()
    assert told.splitlines()[1] == "  m(k) is `b`, assigned at 4 by the rule in line 3: m(K) := b :- f(K)."


@given(machine_programs(), events(), st.integers(0, 14))
def test_what_holds_instead_is_what_the_interpreter_has(text: str, facts: list[GroundFact], time: int) -> None:
    """Of values, one line each, none of them the one that is asked for; or that there is no value."""
    plan = telling_all(compile_program(parse(text)))
    explainer = explainer_of_stream(plan, records_of(plan, facts))
    held = {row[1] for row in run_machines(parse(text), facts, time)[time]["m"] if row[0] == "a"}
    told = explainer.why(("m", ("a", "lost"), time, time))
    assert isinstance(told, WhyNot)
    found = [line for line in told.instead if " has no value: " not in line]
    assert sorted(line.partition(", assigned at ")[0] for line in found) == sorted(f"m(a) is `{each}`" for each in held)
    assert len(told.instead) == max(1, len(held))
    assert all(" by the rule in line " in line for line in found)


def test_formatted_programs_are_the_same() -> None:
    """The certificate names rules as the program writes them."""
    program = parse(WASHING)
    assert parse(format_program(program)) == program
    assert isinstance(Verifier(format_program(program), []), Verifier)
