"""Entailment decides what a whole materialisation tells, from the relevant rules and facts alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import plan_of, records
from oracle.agreement import records_of
from oracle.programs import EVERYTHING, Kind, programs, streams
from oracle.recursive_programs import CONSTANTS, Tiny, few_facts, predicates_of, times, tiny_programs
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError, ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Statement
from tidelog.runtime.batch.decisions import entailment
from tidelog.runtime.batch.decisions.decision import METHODS, Decision, Method
from tidelog.runtime.batch.decisions.entailment import consistent, entails
from tidelog.runtime.batch.decisions.race import Finish
from tidelog.runtime.batch.materialisation import Materialisation


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
        answer = entails(plan, facts, fact, "materialise").answer
        told = "inconsistent" if done.violation() is not None else "true" if done.holds(fact) else "false"
        where = f"{format_program(program)}\n{[format_record(record, plan.timeline) for record in facts]}"
        assert answer == told, f"{format_record(fact, plan.timeline)}\n{where}"
    assert consistent(plan, facts, "materialise").answer == ("true" if done.violation() is None else "false")


# --- Algorithm 4 --------------------------------------------------------------------------------------------------------

WALK = "boxplus[1,1] at(X) :- at(X).\nboxminus[1,1] at(X) :- at(X).\nhome :- near, diamondplus[0,3] at(0).\nnear :- here.\n"
LIMITED = f"timeline integer.\nboxplus[{10**18},{10**18}] p :- p.\nbottom :- p, q.\n"
COUNTING = "boxplus[1,1] c(Y) :- c(X), Y = X + 1.\nc(Y) :- d, c(X), Y = X * 2 + 1.\nbottom :- c(X), e(X).\n"


def ask(text: str, facts: list[str], fact: str, method: Method = "auto") -> Decision:
    plan = plan_of(text)
    (asked,) = records(plan, [fact])
    return entails(plan, records(plan, facts), asked, method)


def no_process(*_: object) -> NoReturn:
    pytest.fail("a process was started")


@pytest.fixture
def racing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not surely come to an end goes to the race at once."""
    monkeypatch.setattr(entailment, "ROUNDS_ALONE", 0)


WALKS = [
    ("at(0)@-4", "true"),
    ("at(0)@1/2", "false"),
    ("at(0)@[1,3/2]", "false"),
    ("at(1)@0", "false"),
    ("home@[-10,12]", "true"),
    ("home@[-10,12.5]", "false"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("fact", "answer"), WALKS)
def test_every_method_tells_the_same(fact: str, answer: str, method: Method) -> None:
    """Of a recursion without an end, in both directions."""
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact, method) == Decision(answer)


@pytest.mark.parametrize(("fact", "answer"), WALKS)
def test_small_questions_start_no_process(monkeypatch: pytest.MonkeyPatch, fact: str, answer: str) -> None:
    """Materialisation decides them before it is worth a fork."""
    monkeypatch.setattr(os, "fork", no_process)
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact).answer == answer


@pytest.mark.usefixtures("racing")
@pytest.mark.parametrize(("fact", "answer"), WALKS)
def test_the_race(fact: str, answer: str) -> None:
    """Whoever of the two is first, the answer is the same."""
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact) == Decision(answer)


@pytest.mark.usefixtures("racing")
@pytest.mark.parametrize(("fact", "answer"), WALKS)
def test_the_automata_alone(monkeypatch: pytest.MonkeyPatch, fact: str, answer: str) -> None:
    """On what is complete, and on the few rounds before, they tell the same; so where they win does not matter."""
    monkeypatch.setattr(entailment, "race", automata_alone)
    monkeypatch.setattr(entailment, "can_race", lambda: True)  # nothing is forked here, whatever other tests left running
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact) == Decision(answer)


@pytest.mark.usefixtures("racing")
def test_rules_of_what_is_complete_are_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """So `not` in them, which automata do not take, does not matter; in rules that recur it does."""
    monkeypatch.setattr(entailment, "race", automata_alone)
    monkeypatch.setattr(entailment, "can_race", lambda: True)  # nothing is forked here, whatever other tests left running
    text = (
        "free(X) :- q(X), not taken(X).\nboxplus[2,2] p(X) :- p(X).\np(X) :- free(X), a.\nboxminus[3,3] p(X) :- p(X), b.\n"
    )
    facts = ["q(x)@[0,1]", "taken(x)@0", "a@1", "b@[2,9]"]
    assert ask(text, facts, "p(x)@[1001,1001]").answer == "true"
    assert ask(text, facts, "p(x)@1000").answer == "true"
    assert ask(text, facts, "p(x)@[1000,1001]").answer == "false"
    assert "`not`" in ask(text.replace("p(X), b", "p(X), not c(X)"), facts, "p(x)@1/2").reason


def refuse(*_: object) -> NoReturn:
    raise MethodError("too large")


@pytest.mark.usefixtures("racing")
def test_the_materialisation_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where automata cannot, it wins the race; the constraint, its facts and the time come over from its process."""
    monkeypatch.setattr(entailment, "decide_by_models", refuse)
    plan = plan_of(WALK + "bottom :- at(X), shut(X).\n")
    decision = consistent(plan, records(plan, ["at(0)@0", "shut(0)@[71/2,36]"]))
    assert decision.answer == "false"
    assert str(decision.violation) == "constraint violated at 36: at(0), shut(0) (rule: bottom :- at(X), shut(X).)"
    assert consistent(plan, records(plan, ["at(0)@0", "shut(0)@(35,36)"])) == Decision("true")


def test_where_materialisation_fails_automata_decide() -> None:
    """It leaves the times that the timeline can hold, and all that it says then is that."""
    assert ask(LIMITED, ["p@0"], f"p@{10**18 // 2}", "materialise") == Decision(
        "undecided", reason="`p` is derived at times beyond what the timeline can hold"
    )
    assert ask(LIMITED, ["p@0"], f"p@{10**18 // 2}") == Decision("false")
    assert ask(LIMITED, ["p@0", f"q@{10**18}"], "q@0").answer == "inconsistent"


def test_where_both_fail_both_say_why() -> None:
    """Undecided; but what is known follows, however that ends."""
    decision = ask(LIMITED, ["p@0"], "p@1")
    assert decision.answer == "undecided"
    assert decision.reason.startswith("by materialisation: `p` is derived at times beyond")
    assert "; by automata: " in decision.reason
    assert ask(LIMITED, ["p@0", "q@1"], f"p@{10**18}") == Decision("true")


def test_values_without_end() -> None:
    """A fact that is known is enough there; and a violation by then is told."""
    assert ask(COUNTING, ["c(0)@0"], "c(3)@3") == Decision("true")
    assert ask(COUNTING, ["c(0)@0", "e(3)@3"], "c(3)@3").answer == "inconsistent"


@pytest.mark.long
@pytest.mark.slow
def test_where_values_have_no_end_nothing_may_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both methods give up, in the race and one after the other, and both reasons are told."""
    text = "c(Y) :- c(X), Y = X + 1.\n"
    reasons = [ask(text, ["c(0)@0"], "c(-1)@5").reason]
    monkeypatch.setattr(entailment, "can_race", lambda: False)
    reasons.append(ask(text, ["c(0)@0"], "c(-1)@5").reason)
    assert all(reason.startswith("by materialisation: ") for reason in reasons)
    assert all("more than 50,000 ground atoms" in reason for reason in reasons)


@pytest.mark.usefixtures("racing")
@pytest.mark.parametrize(("fact", "answer"), WALKS)
def test_one_after_the_other(monkeypatch: pytest.MonkeyPatch, fact: str, answer: str) -> None:
    """Where no process can be forked materialisation goes on for a while, and then the automata are asked."""
    monkeypatch.setattr(entailment, "can_race", lambda: False)
    monkeypatch.setattr(os, "fork", no_process)
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact).answer == answer
    monkeypatch.setattr(entailment, "MOST_ROUNDS", 0)
    assert ask(WALK, ["at(0)@0", "here@[-10,12]"], fact).answer == answer


def test_no_such_method() -> None:
    """A mistake of the caller."""
    with pytest.raises(ValueError, match="a method is one of auto, materialise, automata, ltl; got `magic`"):
        ask(WALK, [], "at(0)@0", "magic")


@pytest.mark.parametrize("method", ["automata", "ltl"])
def test_what_no_rule_mentions(method: Method) -> None:
    """Data alone decide it, under any name, also one as if made, or that of what always holds."""
    for fact, answer in (("r(a,b)@(1,2)", "true"), ("r(a,b)@[1,3]", "false"), ("'top'@1", "false"), ("'top'@3", "true")):
        assert ask(WALK, ["r(a,b)@[1,2]", "'r.1'(a,b)@1", "'top'@[2,3]"], fact, method) == Decision(answer)
    assert ask(WALK, ["'at.1'(0)@5", "at(0)@0"], "at(0)@11/2", method) == Decision("false")


@pytest.mark.parametrize("method", ["auto", "automata", "ltl"])
def test_inconsistency_by_every_method(method: Method) -> None:
    """It is decided first, so whatever is asked, the answer is the same; a model with the same facts is told from none."""
    text = "boxplus[2,2] p(X) :- p(X).\nbottom :- p(X), diamondminus(0,1] q(X).\n"
    assert ask(text, ["p(a)@0", "q(a)@199"], "p(b)@3", method).answer == "inconsistent"
    assert ask(text, ["p(a)@0", "q(a)@(201,202)"], "p(b)@3", method).answer == "inconsistent"
    assert ask(text, ["p(a)@0", "q(a)@200"], "p(a)@1000", method) == Decision("true")
    assert ask(text, ["p(a)@1", "q(b)@200"], "p(a)@1000", method) == Decision("false")


def automata_alone(ways: Mapping[str, Callable[[], str]], _: object) -> Finish:
    """A race that the automata win, if they can."""
    try:
        return Finish("automata", ways["automata"](), {})
    except MethodError as error:
        return Finish(None, "", {"materialisation": "not asked", "automata": str(error)})


def layer_below(head: tuple[str, int]) -> tuple[Statement, ...]:
    """Rules that come to an end, and feed a predicate of another program."""
    name, arity = head
    return parse(f"raised :- raw, not off. {name}{'(a)' if arity else ''} :- diamondminus[0,1] raised.").statements


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_automata_on_what_is_left_tell_what_materialisation_tells(data: st.DataObject, kind: Kind) -> None:
    """On random recursive programs, some of whose predicates come to an end, also with `not` there."""
    tiny = Tiny(kind, rules=5, negation=data.draw(st.booleans()), constraints=data.draw(st.booleans()))
    drawn = data.draw(tiny_programs(tiny))
    names = predicates_of(drawn)
    program = replace(drawn, statements=(*drawn.statements, *layer_below(data.draw(st.sampled_from(sorted(names.items()))))))
    plan = compile_batch(program)
    raw = [(name, (), data.draw(times(tiny))) for name in ("raw", "raw", "off")]
    facts = records_of(plan, [*data.draw(few_facts(drawn, tiny)), *raw])
    name = data.draw(st.sampled_from(sorted(names)))
    during = data.draw(times(tiny, last=9))
    row = tuple(data.draw(st.sampled_from(CONSTANTS)) for _ in range(names[name]))
    (fact,) = records_of(plan, [(name, row, during)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entailment, "ROUNDS_ALONE", 0)
        patch.setattr(entailment, "race", automata_alone)
        found = entails(plan, facts, fact).answer
    expected = entails(plan, facts, fact, "materialise").answer
    where = f"{format_program(program)}\n{[format_record(record, plan.timeline) for record in facts]}"
    assert "undecided" in (found, expected) or found == expected, f"{format_record(fact, plan.timeline)}\n{where}"
