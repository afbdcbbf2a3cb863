"""Every operator, with every bracket, is explained, and what is said is taken by the verifier."""

from __future__ import annotations

import json

import pytest

from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import format_record
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.parser import parse
from tidelog.runtime.why.evidence import matching
from tidelog.runtime.why.explain import Reason
from why.corpus import CASES
from why.explaining import explainer, records, refusal, verifier, why


@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_explained(name: str) -> None:
    """The whole maximal range of an answer has a certificate that holds."""
    case = CASES[name]
    reason = why(case.program, case.facts, case.fact)
    assert isinstance(reason, Reason), reason.text()
    assert refusal(verifier(case.program, case.facts), json.loads(reason.json())) is None, reason.text()
    assert reason.text().startswith(case.fact)


@pytest.mark.parametrize("name", CASES)
def test_each_premise_is_needed(name: str) -> None:
    """Not one of the premises can be left away: a proof rests on what it needs, and on nothing else."""
    case = CASES[name]
    reason = why(case.program, case.facts, case.fact)
    checker = verifier(case.program, case.facts)
    proof = json.loads(reason.json())["proof"]
    for at in range(len(proof["premises"])):
        less = {**proof, "premises": [*proof["premises"][:at], *proof["premises"][at + 1 :]]}
        assert refusal(checker, {"holds": True, "fact": case.fact, "proof": less}) is not None, proof["premises"][at]


def test_a_deep_proof_is_no_deep_recursion() -> None:
    """A proof of more steps than Python calls can nest is found, shown, written and checked."""
    program, facts = "timeline integer. boxplus[1,1] p :- p.", ["p@0"]
    reason = why(program, facts, "p@1500")
    assert isinstance(reason, Reason)
    assert reason.text().count("\n") == 2 * 1500
    assert reason.svg().count("<text") > 60
    certificate = reason.certificate()
    assert len(certificate["lemmas"]) == 1499
    certificate["lemmas"] = certificate["lemmas"][-3:]
    assert refusal(verifier(program, facts), certificate) is not None


def test_what_is_shared_is_written_once() -> None:
    """A proof in which every step is needed twice grows with its steps, not with the ways through them."""
    program, facts = "timeline integer. f :- diamondminus[1,1] f, diamondminus[2,2] f.", ["f@0", "f@1"]
    reason = why(program, facts, "f@90")
    assert isinstance(reason, Reason)
    assert len(reason.json()) < 30_000
    assert refusal(verifier(program, facts), json.loads(reason.json())) is None


def test_the_lowest_proof_is_found() -> None:
    """Of several ways the one of the fewest steps, whatever the order of the rules."""
    program = "a :- b. b :- c. c :- d. a :- boxminus[0,1] c. c :- e. a :- c."
    reason = why(program, ["d@[0,5]", "e@[0,5]"], "a@5")
    assert reason.text().splitlines()[1] == "  by a :- boxminus[0,1] c."
    assert why(program, ["d@5", "e@5"], "a@5").text().splitlines()[1] == "  by a :- c."


def test_the_other_ways_do_not_rest_on_the_fact() -> None:
    """All further proofs of a fact in a recursion are taken, and none of them needs the fact itself."""
    program, facts = "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z).", ["e(a,b)@1", "e(b,c)@1", "e(c,b)@1", "e(a,c)@1"]
    found, schema = explainer(program, facts)
    (fact,) = records(schema, ["r(a,c)@1"])
    reasons = list(found.reasons(fact))
    assert [len(reason.certificate()["proof"]["premises"]) for reason in reasons] == [1, 2]
    for reason in reasons:
        assert refusal(verifier(program, facts), json.loads(reason.json())) is None


def test_a_search_through_too_many_rows_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is bounded: where too many rows would have to be tried, the search says so."""
    facts = [f"a({number})@1" for number in range(40)] + ["c@1"]
    program = "b :- a(X), a(Y), a(Z), X < Y, Y < Z, Z < X."
    monkeypatch.setattr(matching, "MOST_ROWS", 500)
    assert '"stopped": true' in why(program, facts, "b@1").json()
    with pytest.raises(MethodError, match="stopped after 500 rows"):
        why("d :- a(X), a(Y), a(Z), X + Y + Z >= 117.", facts, "d@1")


def test_a_reserved_word_is_quoted_everywhere() -> None:
    """In answers as in explanations: `in(a)` here and `'in'(a)` there were two names for one predicate."""
    text = "timeline integer. 'in'(X) :- a(X), not 'not'(X)."
    found, schema = explainer(text, ["a(x)@1"])
    (fact,) = records(schema, ["'in'(x)@1"])
    assert format_record(fact, schema.timeline) == "'in'(x)@1"
    assert [answer_of(text, "a", "x")] == [found.why(fact).text().partition("\n")[0]]
    assert parse(f"{format_record(fact, schema.timeline)}.").statements


def answer_of(text: str, name: str, *row: str) -> str:
    """The one answer to one fact at 1, as text."""
    session = Session(compile_program(parse(text)))
    session.push(name, list(row), time=1)
    session.finish()
    return str(session.pull()[0])


def test_what_a_machine_rests_on_is_written_by_whole_numbers() -> None:
    """Its rule says `since[1,inf)` on integers, where `since(0,inf)` is the same; on rationals it is not."""
    rules = "m(K) := on :- e(K). m(K) := none :- f(K)."
    told = why(f"timeline integer. {rules}", ["e(k)@1"], "m(k,on)@5")
    assert "since[1,inf)" in told.text()
    assert refusal(verifier(f"timeline integer. {rules}", ["e(k)@1"]), told.certificate()) is None
    assert "since(0,inf)" in why(f"timeline rational. {rules}", ["e(k)@1"], "m(k,on)@5").text()
