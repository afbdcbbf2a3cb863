"""The horizon of LARS programs and the random ones: each checked against a second evaluation."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import GroundFact, evaluate, rules_of, strata
from oracle.grounding import atoms, parts, unsafe_variables
from oracle.lars_programs import (
    DERIVED,
    EVERY_FORM,
    HEADS,
    INPUTS,
    RECURSION,
    Forms,
    lars_programs,
    lars_streams,
)
from oracle.reach import exact_range, horizon, reach
from tidelog.plans.tree.syntax import Atom, Formula, Negation, Program, Window

FORMS = [EVERY_FORM, RECURSION, replace(HEADS, values=True)]


@pytest.mark.slow
@drawn(50)
@given(st.data(), st.sampled_from(FORMS))
def test_a_wider_horizon_changes_nothing_in_the_exact_range(data: st.DataObject, forms: Forms) -> None:
    """What `exact_range` promises is what an evaluation over a wider horizon says, where times are bounded."""
    drawn = data.draw(lars_programs(forms))
    facts = data.draw(lars_streams(size=6))
    low, high = horizon(drawn, facts, margin=2)
    model = evaluate(drawn, facts, low=low, high=high)
    distance = reach(drawn)
    assume(not model.meets_edge or math.inf in (distance.left, distance.right))
    first, last = exact_range(drawn, facts, low=low, high=high)
    wider = evaluate(drawn, facts, low=low - 5, high=high + 5)
    for predicate in wider.coverage:
        for row in wider.rows(predicate) | model.rows(predicate):
            inside = [time for time in model.times() if first <= time <= last]
            assert [model.holds(predicate, row, t) for t in inside] == [wider.holds(predicate, row, t) for t in inside]


@drawn(40)
@given(st.data(), st.sampled_from(FORMS))
def test_drawn_programs_are_safe_and_stratified(data: st.DataObject, forms: Forms) -> None:
    """Every drawn program passes the oracle's checks, whatever its forms; those without recursion settle."""
    drawn = data.draw(lars_programs(forms))
    rules = rules_of(drawn)
    assert [unsafe_variables(rule) for rule in rules] == [set()] * len(rules)
    assert sum(map(len, strata(rules))) == len(rules)
    if not forms.recursion:
        assert max(reach(drawn).left, reach(drawn).right) < math.inf


@drawn(40)
@given(lars_streams())
def test_drawn_streams_are_sorted_facts_of_the_inputs(facts: list[GroundFact]) -> None:
    """Streams hold at least three facts of declared inputs, in the order of their begins."""
    assert len(facts) >= 3
    assert all(len(row) == INPUTS[name] for name, row, _ in facts)


def forms_of(formula: Formula, negative: bool = False) -> set[str]:
    """The names of LARS's forms in a formula: the modes of its windows, their kinds, and `@T` without a window."""
    found: set[str] = set()
    if isinstance(formula, Window):
        size = formula.window
        found = {formula.mode, "tuples" if size.tuples else "plain" if size.step is None else "stepped"}
    elif isinstance(formula, Atom):
        found = {"plain atom" if formula.at is None else "atom at"}
    named = {f"not {name}" for name in found} if negative else found
    return named.union(*(forms_of(part, negative or isinstance(formula, Negation)) for part in parts(formula)))


@pytest.mark.slow
@pytest.mark.long
def test_drawn_programs_derive_something() -> None:
    """More than a third of the drawn programs derive a fact, and few have times without bound."""
    derived: list[bool] = []
    unbounded: list[bool] = []

    @seed(20)
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(lars_programs(EVERY_FORM), lars_streams())
    def draw(drawn: Program, facts: list[GroundFact]) -> None:
        low, high = horizon(drawn, facts)
        model = evaluate(drawn, facts, low=low, high=high)
        derived.append(any(model.rows(predicate) for predicate in DERIVED))
        unbounded.append(model.meets_edge)

    draw()
    assert sum(derived) * 3 > len(derived)
    assert sum(unbounded) * 20 < len(unbounded)


@pytest.mark.slow
@pytest.mark.long
def test_every_form_is_drawn() -> None:
    """Each window with each mode, `@T` without a window and in heads, and each of them after `not`."""
    forms: set[str] = set()

    @seed(20)
    @settings(max_examples=250, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(lars_programs(EVERY_FORM))
    def draw(drawn: Program) -> None:
        forms.update(*(forms_of(part) for rule in rules_of(drawn) for part in rule.body))
        forms.update("head at" for rule in rules_of(drawn) for atom, _ in atoms(rule.head) if atom.at is not None)

    draw()
    literals = {"sometime", "always", "at", "plain", "stepped", "tuples", "plain atom", "atom at"}
    assert forms == literals | {f"not {name}" for name in literals} | {"head at"}
