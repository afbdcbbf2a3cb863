"""The proved checker says of certificates what ours says: of each of the tests, of their mutants, of drawn programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from batch.test_equals_oracle import FRAGMENTS, KINDS, cases, compiled, materialised
from engine.test_lars_equals_oracle import FORMS
from engine.test_lars_equals_oracle import compiled as compiled_stream
from hypothesis import assume, given
from hypothesis import strategies as st
from why.corpus import CASES
from why.explaining import refusal, verifier, why
from why.test_mutated_certificates import mutants
from why.test_verified_answers import cut, heads_of

from drawing import drawn
from oracle.agreement import records_of
from oracle.alarm_programs import alarm_programs, spells
from oracle.evaluate import GroundFact
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import Features, Kind
from proofs.checker import Checker, checker
from proofs.witness import texts
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.explain import Explainer
from tidelog.runtime.why.told import telling_all
from tidelog.verifier.certificate import Verifier

BEYOND = frozenset(
    [
        "a time variable that takes too many values",
        "a tuple window (`in [#n]`)",
        "an absence below which the rules do not come to an end",
    ]
)
"""What the certificates of these tests may need that the proved checker does not know, by the names that it gives it."""


@pytest.fixture(scope="module")
def proved() -> Iterator[Checker]:
    """The proved checker."""
    with checker("--json") as process:
        yield process


def test_certificates_and_their_mutants(proved: Checker) -> None:
    """Each certificate of the operators' tests is taken, and no mutant that is no proof; what is not covered is named."""
    said: Counter[str] = Counter()
    covered = 0
    for name, case in CASES.items():
        certificate = json.loads(why(case.program, case.facts, case.fact).json())
        ours = verifier(case.program, case.facts)
        told = proved.verdict(case.program, case.facts, certificate)
        assert told["verdict"] == "accepted" or told.get("met") in BEYOND, (name, told)
        covered += told["verdict"] == "accepted"
        rules = [f"{rule.strip()}.".replace("..", ".") for rule in case.program.split(". ") if ":-" in rule]
        for kind, mutant in mutants(certificate, rules):
            theirs = proved.verdict(case.program, case.facts, mutant)
            assert agree(theirs, refusal(ours, mutant)), (name, kind, theirs, json.dumps(mutant))
            said[theirs["verdict"]] += 1
    assert covered >= 61
    assert said["refused"] >= 1300, said
    assert said["accepted"] == 0, said


def agree(theirs: dict[str, Any], refused: str | None) -> bool:
    """Whether the checker says what ours does, or names what it does not know."""
    if theirs["verdict"] == "not covered":
        return theirs["met"].split(", on which")[0] in BEYOND
    return (theirs["verdict"] == "accepted") == (refused is None)


def compare(
    proved: Checker, data: st.DataObject, explainer: Explainer, program: Program, facts: list[GroundFact], fact: Record
) -> str:
    """That the two agree on a certificate, and on some that differ from it in one place; what was said of the first."""
    try:
        certificate = json.loads(explainer.why(fact).json())
    except MethodError:
        assume(False)
        raise
    text, given = format_program(program), texts(facts)
    ours = Verifier(text, facts)
    told = proved.verdict(text, given, certificate)
    said = refusal(ours, certificate)
    assert agree(told, said), f"{told}, and ours: {said}\n{text}\n{given}\n{json.dumps(certificate)}"
    if certificate["holds"]:
        for kind, mutant in islice(mutants(certificate, []), data.draw(st.integers(0, 5)), None, 7):
            theirs = proved.verdict(text, given, mutant)
            said = refusal(ours, mutant)
            assert agree(theirs, said), f"{kind}: {theirs}, and ours: {said}\n{text}\n{given}\n{json.dumps(mutant)}"
    return str(told["verdict"])


@drawn(150)
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_drawn_programs(proved: Checker, data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """What is derived, and what is not, over both timelines, with negation and every operator that looks back or ahead."""
    program, facts = data.draw(cases(kind, fragment))
    plan = compiled(program)
    done, ended = materialised(plan, records_of(plan, facts))
    assume(ended and done.violation() is None)
    derived = sorted((fact for fact in done.facts() if fact[0] in heads_of(program)), key=repr)
    assume(derived)
    name, row, low, high = data.draw(st.sampled_from(derived))
    compare(proved, data, done.explainer(), program, facts, cut(data, (name, row, low, high)))
    point = plan.timeline.encode_point(data.draw(st.integers(-3, 12)))
    compare(proved, data, done.explainer(), program, facts, (name, row, point, point))


@drawn(60)
@given(st.data(), st.sampled_from(KINDS))
def test_drawn_alarms(proved: Checker, data: st.DataObject, kind: Kind) -> None:
    """So of the states of alarms, and of all that lies between these and what people do: what is absent is covered, too."""
    drawn_alarm = data.draw(alarm_programs(kind, most=4).filter(lambda each: not each.follows_calendar))
    program = parse(drawn_alarm.text.replace("calendar night = 18:00-06:00.\n", ""))
    plan = compile_batch(program)
    compare_all(proved, data, program, plan, drawn_alarm.records(plan))


DENSE = (
    "h(S, V) :- latest p(S, V) by S in [3].",
    "h(S, V) :- latest p(S, V) by S in [1/2].",
    "h(S, V) :- latest p(S, V) by S in [inf].",
    "h(S, V) :- latest p(S, V) by S in [0].",
    "h(V, V) :- latest p(n, V) in [4], not sometime p(s, V) in [2].",
    "h(S, V) :- boxminus[0,1] latest p(S, V) by S in [5]. g(S) :- h(S, 1), p(n, 2).",
)
"""Of what ends with an open end, the value right before that end is held."""


@drawn(60)
@given(st.data(), st.sampled_from(DENSE))
def test_held_values_on_dense_time(proved: Checker, data: st.DataObject, text: str) -> None:
    """Rows of a group that begin and end with open and closed ends, next to each other and at once."""
    program = parse(text)
    plan = compile_batch(program)
    rows = tuple((group, value) for group in ("n", "s") for value in (1, 2))
    facts = data.draw(st.lists(spells("p", rows, "rational"), min_size=1, max_size=6))
    compare_all(proved, data, program, plan, records_of(plan, facts))


def compare_all(
    proved: Checker, data: st.DataObject, program: Program, plan: BatchPlan, given_records: list[Record]
) -> None:
    """That certificates of what is derived, and of what is not, are accepted by both."""
    done = Materialisation(plan)
    done.load(given_records)
    done.run()
    decode = plan.timeline.decode_interval
    facts = [(name, row, decode(lo, hi)) for name, row, lo, hi in given_records]
    derived = sorted((fact for fact in done.facts() if fact[0] in heads_of(program)), key=repr)
    assume(derived)
    name, row, low, high = data.draw(st.sampled_from(derived))
    point = plan.timeline.encode_point(data.draw(st.integers(-3, 30)))
    for fact in (cut(data, (name, row, low, high)), (name, row, point, point)):
        assert compare(proved, data, done.explainer(), program, facts, fact) == "accepted"


@drawn(60)
@given(st.data(), st.sampled_from([*sorted(FORMS), "aggregates", "held", "counted"]))
def test_drawn_streams(proved: Checker, data: st.DataObject, form: str) -> None:
    """So of windows and held values; certificates that rest on what the checker does not know are never taken."""
    other = {"aggregates": AGGREGATES, "held": HELD, "counted": COUNTED}
    program = data.draw(lars_programs(other[form] if form in other else FORMS[form]))
    plan = telling_all(compiled_stream(program))
    facts = data.draw(lars_streams())
    explainer = explainer_of_stream(plan, records_of(plan, facts))
    rows = [(name, row) for name in heads_of(program) for row in sorted(explainer.model.rows(name), key=repr)]
    assume(rows)
    name, row = data.draw(st.sampled_from(rows))
    point = data.draw(st.integers(-3, 30))
    compare(proved, data, explainer, program, facts, (name, row, point, point))
