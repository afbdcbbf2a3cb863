"""What is demanded for a fact is enough: its row holds at the same times as where all is derived, and less is done."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.drawn_plans import DrawnPlan, endless_plans, group_plans, metric_plans
from batch.materialising import plan_of, records
from drawing import drawn
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.runtime.batch.decisions.entailment import entails
from tidelog.runtime.batch.decisions.relevance import relevant_part
from tidelog.runtime.batch.demand import restricting
from tidelog.runtime.batch.demand.restricting import Asked, can_restrict, restricted
from tidelog.runtime.batch.materialisation import Materialisation

ROUNDS = 40


def ended(plan: BatchPlan, facts: Sequence[Record]) -> Materialisation:
    """What follows, where that comes to an end."""
    done = Materialisation(plan)
    done.load(facts)
    done.run(ROUNDS)
    assume(not done.round())
    return done


def of_row(done: Materialisation, predicate: str, row: Row) -> list[object]:
    """When a row holds."""
    finite = [record for record in done.facts() if record[:2] == (predicate, row)]
    repeating = [fact for fact in done.repeating() if (fact.predicate, fact.row) == (predicate, row)]
    return [*sorted(finite), *sorted(repeating, key=repr)]


def check(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """For rows that hold somewhere, and for others beside them."""
    plan, facts = drawn_plan.plan, drawn_plan.facts
    assume(can_restrict(plan))
    whole = ended(plan, facts)
    held = sorted({record[:2] for record in whole.facts() if record[0] in plan.schema.predicates}, key=repr)
    for _ in range(4 if held else 0):
        name, row = data.draw(st.sampled_from(held))
        if row and data.draw(st.booleans()):
            _, other = data.draw(st.sampled_from([atom for atom in held if atom[1]]))
            row = (other[0], *row[1:])
        part = relevant_part(plan, name)
        expected = ended(part, facts)
        found = restricted(part, facts, Asked(name, row))
        done = Materialisation(found.plan)
        done.load(found.records)
        done.run()
        where = drawn_plan.shown(facts, name, row)
        assert (done.violation() is None) == (expected.violation() is None), where
        if done.violation() is None:
            assert of_row(done, name, row) == of_row(expected, name, row), where


@pytest.mark.slow
@given(st.data(), metric_plans(size=16))
def test_a_row_holds_when_it_did(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """In programs with joins, negation, recursion, since and constraints; without windows, which the first fact clips."""
    check(data, drawn_plan)


@pytest.mark.slow
@drawn(60)
@given(st.data(), group_plans())
def test_a_row_of_groups_holds_when_it_did(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """What is aggregated, or held, depends on the other rows of its group."""
    check(data, drawn_plan)


@pytest.mark.slow
@given(st.data(), endless_plans())
def test_a_row_that_repeats_goes_on_as_it_did(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """Recursion through time, in both directions."""
    plan, facts = drawn_plan.plan, drawn_plan.facts
    assume(can_restrict(plan) and plan.schema.predicates)
    name = data.draw(st.sampled_from(sorted(plan.schema.predicates)))
    rows = sorted({record[1] for record in facts if record[0] == name}, key=repr) or [()]
    row = data.draw(st.sampled_from(rows))
    part = relevant_part(plan, name)
    found = restricted(part, facts, Asked(name, row))
    done = [Materialisation(each) for each in (part, found.plan)]
    for each, records_given in zip(done, (facts, found.records), strict=True):
        each.load(records_given)
        each.run()
    for time in range(-6, 14):
        asked = (name, row, time, time)
        assert done[0].holds(asked) == done[1].holds(asked), drawn_plan.shown(facts, asked)


# --- how little is derived ----------------------------------------------------------------------------------------------

PRODUCT = "h(X,Y) :- a(X), b(Y), c(Y,Z)."
PATHS = "path(X,Y) :- edge(X,Y). path(X,Y) :- path(X,Z), diamondminus[0,2] edge(Z,Y)."


def work(program: str, facts: list[str], fact: str) -> tuple[int, int]:
    """How many of the facts are demanded, and how many ranges they lead to."""
    plan = plan_of(program)
    ((name, row, _, _),) = records(plan, [fact])
    found = restricted(plan, records(plan, facts), Asked(name, row))
    done = Materialisation(found.plan)
    done.load(found.records)
    done.run()
    assert done.holds(records(plan, [fact])[0])
    return len(found.records), sum(done.statistics().facts)


def test_products_are_not_made_for_one_row() -> None:
    """Of three thousand facts those with the row's constants are looked at."""
    facts = [f"{name}@[0,9]" for i in range(1000) for name in (f"a({i})", f"b({i})", f"c({i},{i + 1})")]
    assert work(PRODUCT, facts, "h(3,4)@5") == (3, 1)


def test_a_path_is_followed_from_its_end_alone() -> None:
    """Not all pairs on the way, which are quadratically many."""
    facts = [f"edge({i},{i + 1})@[0,9]" for i in range(200)]
    kept, ranges = work(PATHS, facts, "path(3,190)@5")
    assert (kept, ranges) == (190, 190 + 186)


def test_what_constants_of_rules_lead_to() -> None:
    """A predicate without columns asks for what its rules name."""
    facts = [f"near({i},{i + j})@1" for i in range(50) for j in range(3)] + [f"hot({i})@1" for i in range(50)]
    assert work("alarm :- near(7,X), hot(X).", facts, "alarm@1")[0] == 6


def test_what_is_negated_is_demanded() -> None:
    """A row that is left out would let another hold."""
    plan = plan_of("ok(X) :- on(X), not broken(X). broken(X) :- part(Y,X), hot(Y).")
    facts = records(plan, ["on(a)@1", "part(b,a)@1", "hot(b)@1", "on(c)@1", "hot(d)@1"])
    found = restricted(plan, facts, Asked("ok", ("a",)))
    assert set(found.records) == set(facts[:3])
    assert entails(plan, facts, records(plan, ["ok(a)@1"])[0]).answer == "false"
    assert entails(plan, facts, records(plan, ["ok(c)@1"])[0]).answer == "true"


def test_a_group_is_demanded_as_a_whole() -> None:
    """What is counted, or latest, of one row depends on others of its group, and on no other group."""
    plan = plan_of("timeline integer. n(S,N) :- N = count() over t(S,V) in [5] by S. l(S,V) :- latest t(S,V) by S in [5].")
    facts = records(plan, ["t(a,1)@1", "t(a,2)@2", "t(b,1)@1"])
    assert set(restricted(plan, facts, Asked("n", ("a", 2))).records) == set(facts[:2])
    assert set(restricted(plan, facts, Asked("l", ("a", 2))).records) == set(facts[:2])
    assert set(restricted(plan, facts, Asked("n", ("b", 2))).records) == set(facts[2:])


def test_constraints_are_demanded_as_a_whole() -> None:
    """Where there is no model, every fact follows."""
    plan = plan_of("p(X) :- q(X). bottom :- r(X), s(X).")
    facts = records(plan, ["q(a)@1", "q(b)@1", "r(z)@1", "s(z)@1"])
    assert entails(plan, facts, records(plan, ["p(a)@1"])[0]).answer == "inconsistent"
    assert set(restricted(plan, facts, Asked("p", ("a",))).records) == {facts[0], *facts[2:]}


def test_what_is_not_worth_it_is_derived_as_a_whole() -> None:
    """The search for what is demanded is given up once it costs more than it can spare."""
    plan = plan_of(PATHS)
    facts = records(plan, [f"edge({i},{i + 1})@[0,9]" for i in range(30)])
    with patch.multiple(restricting, LEAST=20, FOR_EACH_FACT=0):
        found = restricted(plan, facts, Asked("path", (3, 20)))
    assert (found.plan, found.records) == (plan, facts)


def test_recursion_that_makes_values_has_an_end_here() -> None:
    """Values without end that are no fact's are given up, too, and the question is decided."""
    plan = plan_of("n(Y) :- n(X), Y = X + 1. m(X,Y) :- n(X), s(Y).")
    facts = records(plan, ["n(0)@1", "s(a)@1"])
    with patch.multiple(restricting, LEAST=500, FOR_EACH_FACT=0):
        assert entails(plan, facts, records(plan, ["m(7,a)@1"])[0]).answer == "true"


def test_rows_of_another_width_are_left_to_others() -> None:
    """A fact with fewer columns than its predicate is no reason to fail here."""
    plan = plan_of(PATHS)
    facts = [("edge", ("a",), 0, 0)]
    found = restricted(plan, facts, Asked("path", ("a", "b")))
    assert (found.plan, found.records) == (plan, facts)
