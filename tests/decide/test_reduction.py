"""Entailment as inconsistency (section 3.2): the reduced program has no model exactly if the fact follows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from batch.materialising import plan_of, records
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.programs import EVERYTHING, Kind, programs, streams
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError, ProgramError
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.plan.plan import ErodeShape
from tidelog.runtime.batch.decisions.reduction import reduce_to_inconsistency, without_constraints, without_rules
from tidelog.runtime.batch.materialisation import Materialisation

BRACKETS = [f"{left}{{}},{{}}{right}" for left in "[(" for right in ")]"]
ENDS = [("1", "4"), ("-inf", "4"), ("1", "inf"), ("-inf", "inf"), ("-1/2", "1/3"), ("0", "1/6")]
DENSE = "timeline rational, resolution 1/6.\n"
INTEGER = "timeline integer.\n"


def has_model(plan: BatchPlan, facts: list[Record]) -> bool:
    """By materialisation to its end."""
    done = Materialisation(plan)
    done.load(facts)
    done.run()
    return done.violation() is None


def follows(text: str, facts: list[str], asked: str) -> bool:
    """By the reduction."""
    plan = plan_of(text)
    (fact,) = records(plan, [asked])
    reduced, more = reduce_to_inconsistency(plan, fact)
    assert reduced.timeline == plan.timeline, "no time is needed that was not there"
    return not has_model(reduced, [*records(plan, facts), *more])


@pytest.mark.parametrize(("given", "asked"), [*itertools.product(BRACKETS, BRACKETS)])
@pytest.mark.parametrize("ends", ENDS)
def test_every_bracket(given: str, asked: str, ends: tuple[str, str]) -> None:
    """On dense time, closed, open and infinite, also over a single gap: what holds over the one follows over the other."""
    begins_within = given[0] == "[" or asked[0] == "(" or ends[0] == "-inf"
    ends_within = given[-1] == "]" or asked[-1] == ")" or ends[1] == "inf"
    fact, data = f"p(a)@{asked.format(*ends)}", [f"q(a)@{given.format(*ends)}"]
    text = f"{DENSE}p(X) :- q(X)."
    assert follows(text, data, fact) == (begins_within and ends_within)
    assert not follows(text, [data[0].replace("(a)", "(b)")], fact)
    assert follows(text, ["p(a)@(-inf,inf)"], fact)


@pytest.mark.parametrize("asked", BRACKETS)
@pytest.mark.parametrize("ends", [("-1", "4"), ("-inf", "4"), ("-1", "inf"), ("-inf", "inf"), ("2", "4")])
def test_every_bracket_on_integers(asked: str, ends: tuple[str, str]) -> None:
    """The first and the last of the whole numbers within count, and no other."""
    low, high = (None if "inf" in end else int(end) for end in ends)
    first = "-inf" if low is None else low + (asked[0] == "(")
    last = "inf" if high is None else high - (asked[-1] == ")")
    fact, text = f"p(a)@{asked.format(*ends)}", f"{INTEGER}p(X) :- q(X)."
    assert follows(text, [f"q(a)@[{first},{last}]"], fact)
    assert first == "-inf" or not follows(text, [f"q(a)@({first},{last}]"] if first != last else [], fact)
    assert last == "inf" or not follows(text, [f"q(a)@[{first},{last})"] if first != last else [], fact)


@pytest.mark.parametrize("hole", ["1", "2", "(1,2)", "3/2"])
def test_a_hole_anywhere(hole: str) -> None:
    """A single time or gap at which it does not hold is found, inside as well as at an end."""
    text = f"{DENSE}p(X) :- q(X), not hole.\nhole :- h."
    assert not follows(text, ["q(a)@[0,3]", f"h@{hole}"], "p(a)@[1,2]")
    assert follows(text, ["q(a)@[0,3]", f"h@{hole}"], "p(a)@(2,3]")


@pytest.mark.parametrize(
    ("facts", "asked", "answer"),
    [
        (["q(a)@[0,5]"], "q(a)@[1,2]", True),
        (["q(a)@[0,5]"], "q(a)@[1,6]", False),
        (["on@[0,5]"], "on@3", True),
        (["on@[0,5)"], "on@5", False),
        (["lit@1"], "lit@1", True),
        (["q(a)@1", "q(b)@2"], "two(a,b)@[1,2]", False),
        (["q(a)@1", "q(b)@1"], "two(a,b)@1", True),
        (["q(a)@1"], "two(a,a)@1", True),
        (["elsewhere(x,y)@[0,2]"], "elsewhere(x,y)@[0,2)", True),
        (["elsewhere(x,y)@[0,2]"], "elsewhere(y,x)@[0,2)", False),
        (["'q.1'(a)@0"], "q(a)@0", False),
        (["'q.1'(a)@[0,1]"], "'q.1'(a)@(0,1)", True),
        (["'top'@[0,1]"], "'top'@[0,1]", True),
        ([], "fixed(7)@(-inf,inf)", True),
        ([], "fixed(8)@0", False),
        ([], "known(1,2)@[3,4)", True),
    ],
)
def test_every_kind_of_predicate(facts: list[str], asked: str, answer: bool) -> None:
    """Derived and given, of the text and of data alone, with no, one and two arguments, and with names as if made."""
    rules = "on :- lit. two(X,Y) :- q(X), q(Y). seen(X) :- 'q.1'(X). fixed(7). known(1,2)@[3,4]."
    assert follows(DENSE + rules, facts, asked) == answer


def test_whatever_the_program_declares() -> None:
    """Units, inputs with types, outputs, and questions of its own do not stand in the way."""
    text = (
        "timeline integer, unit 1 min.\ninput q(a: text) delay 2 min.\noutput p.\np(X) :- diamondminus[0 min,2 min] q(X).\n"
    )
    assert follows(text, ["q(a)@5"], "p(a)@[5,7]")
    assert not follows(text, ["q(a)@5"], "p(a)@[5,8]")
    assert not follows(text, ["q(a)@5"], "q(b)@3")


def test_an_inconsistent_program_entails_everything() -> None:
    """The constraints of the program stay: without a model of its own the reduced program has none."""
    text = f"{DENSE}p(X) :- q(X).\nbottom :- p(X), r(X)."
    assert follows(text, ["q(a)@1", "r(a)@1"], "p(b)@7")
    assert not follows(text, ["q(a)@1", "r(a)@2"], "p(b)@7")


def test_an_interval_that_is_too_long() -> None:
    """Longer than a distance can be: it is refused with its length."""
    plan = plan_of(f"{INTEGER}p(X) :- q(X).")
    far = 10**18
    with pytest.raises(MethodError, match="the interval is too long: `2000000000000000000` lies beyond"):
        reduce_to_inconsistency(plan, plan.record("p", ["a"], interval=f"[-{far},{far}]"))


def test_what_the_reduced_program_says() -> None:
    """It reads as in the paper; the box looks from an end of the interval, so that an open one needs no finer time."""
    plan = plan_of(f"{DENSE}p(X,Y) :- q(X,Y).")
    shown = {}
    for interval in ("(0,1/6)", "(-inf,3]", "(-inf,3)", "(-inf,inf)", "(1,inf)"):
        reduced, (asked,) = reduce_to_inconsistency(plan, plan.record("p", ["a", 1], interval=interval))
        (rule,) = reduced.constraints.values()
        shown[interval] = format_statement(rule), str(reduced.answer(asked))
    fresh = "bottom :- 'p.1'(X1, X2)"
    assert shown == {
        "(0,1/6)": (f"{fresh}, boxplus(0,1/6) p(X1, X2).", "'p.1'(a,1)@0"),
        "(-inf,3]": (f"{fresh}, boxminus[0,inf) p(X1, X2).", "'p.1'(a,1)@3"),
        "(-inf,3)": (f"{fresh}, boxminus(0,inf) p(X1, X2).", "'p.1'(a,1)@3"),
        "(-inf,inf)": (f"{fresh}, boxminus[0,inf) p(X1, X2), boxplus[0,inf) p(X1, X2).", "'p.1'(a,1)@0"),
        "(1,inf)": (f"{fresh}, boxplus(0,inf) p(X1, X2).", "'p.1'(a,1)@1"),
    }


def test_without_the_rules_of_what_is_known() -> None:
    """Their heads are read as facts then, whatever was declared; the rest and the background stay as they are."""
    text = "input q(x: text).\noutput p, r.\nbackground b from 'b.csv'.\np(X) :- q(X), not b(X).\nr(X) :- p(X), b(X).\n"
    plan = plan_of(text.replace("'", '"'))
    plan = replace(plan, facts=(("b", ("a",), NEG, POS),))
    rest = without_rules(plan, {"p"}, "r")
    assert [step.source for step in rest.steps if step.source] == ["r(X) :- p(X), b(X)."]
    assert rest.facts == plan.facts
    done = Materialisation(rest)
    done.load(records(rest, ["p(a)@1"]))
    done.run()
    assert done.holds(rest.record("r", ["a"], time=1))


def test_without_constraints() -> None:
    """What a predicate depends on is left, and no constraint."""
    plan = plan_of("p(X) :- q(X).\nq(X) :- s(X).\nbottom :- r(X), p(X).\nr(X) :- q(X).\n")
    rest = without_constraints(plan, "p")
    assert not rest.constraints
    assert {component.predicates for component in rest.components} == {("p",), ("q",)}


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_the_reduction_agrees_with_materialisation(data: st.DataObject, kind: Kind) -> None:
    """On random programs that come to an end, for facts that hold, and for facts a little beside them."""
    program = data.draw(programs(kind, EVERYTHING))
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        return
    assume(all(component.ending == "finite" for component in plan.components))
    # these windows look from the first fact on, and the reduction adds one: models are not searched for with them
    assume(not any(isinstance(step.shape, ErodeShape) and step.shape.clipped for step in plan.steps))
    facts = records_of(plan, data.draw(streams(program, infinite=True, size=8)))
    done = Materialisation(plan)
    done.load(facts)
    done.run()
    held = sorted(done.facts(), key=repr)
    for _ in range(4 if held else 0):
        predicate, row, lo, hi = data.draw(st.sampled_from(held))
        lo = lo if lo == NEG else lo + data.draw(st.integers(-3, 3))
        fact = predicate, row, lo, hi if hi == POS else max(lo, hi + data.draw(st.integers(-3, 3)))
        reduced, more = reduce_to_inconsistency(plan, fact)
        follows = done.holds(fact) or done.violation() is not None
        where = f"{format_program(program)}\n{[format_record(record, plan.timeline) for record in facts]}"
        assert has_model(reduced, [*facts, *more]) != follows, f"{format_record(fact, plan.timeline)}\n{where}"
