"""The oracle's horizon and the random programs: each checked against a second evaluation."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import evaluate, rules_of, strata
from oracle.grounding import parts, unsafe_variables
from oracle.notation import at, fact, op, program
from oracle.programs import EVERYTHING, FORWARD, NON_RECURSIVE, Features, Kind, programs, shuffled_within, streams
from oracle.reach import Reach, exact_range, horizon, reach
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Negation,
    Rule,
    Truth,
    Unary,
    Window,
)

# --- the horizon --------------------------------------------------------------------------------------------------


def test_reach_adds_up_along_paths() -> None:
    """Past operators reach right, future operators left, a head's boxplus right."""
    rules = (
        Rule(op("boxplus", "[0,3]", at("a")), (op("diamondminus", "[1,inf)", at("p")),)),
        Rule(at("b"), (op("boxplus", "[0,2]", at("a")), op("diamondminus", "[0,5]", at("p")))),
    )
    assert reach(program(*rules)) == Reach(2, 5)
    assert reach(program(*rules, Rule(at("b"), (op("diamondminus", "[1,1]", at("b")),)))) == Reach(2, math.inf)


def test_exact_range_shrinks_with_looks_ahead_at_what_never_settles() -> None:
    """Bodies that look 2 ahead at a predicate that runs on for ever are right up to 2 before the horizon's end."""
    forever = Rule(op("boxplus", "[1,1]", at("p")), (at("p"),))
    ahead = Rule(at("a"), (op("boxplus", "[0,2]", at("p")),))
    assert exact_range(program(forever, ahead), [fact("p", "0")], low=-9, high=9) == (-math.inf, 7)
    unbounded = Rule(at("a"), (op("boxplus", "[0,inf)", at("p")),))
    assert exact_range(program(forever, unbounded), [fact("p", "0")], low=-9, high=9) == (-math.inf, -math.inf)


KINDS = st.sampled_from(("rational", "integer"))
RICH = replace(EVERYTHING, nested_negation=True)


@pytest.mark.slow
@drawn(50)
@given(st.data(), KINDS)
def test_a_wider_horizon_changes_nothing_in_the_exact_range(data: st.DataObject, kind: Kind) -> None:
    """What `exact_range` promises is what an evaluation over a wider horizon says."""
    drawn = data.draw(programs(kind, RICH))
    facts = data.draw(streams(drawn, infinite=True, size=8))
    low, high = horizon(drawn, facts, margin=2)
    low, high = low + data.draw(st.integers(0, 1)), high - data.draw(st.integers(0, 1))
    try:
        model = evaluate(drawn, facts, low=low, high=high)
    except ValueError:
        low, high = low - 1, high + 1
        model = evaluate(drawn, facts, low=low, high=high)
    first, last = exact_range(drawn, facts, low=low, high=high)
    wider = evaluate(drawn, facts, low=low - 5, high=high + 5)
    for predicate in wider.coverage:
        for row in wider.rows(predicate) | model.rows(predicate):
            times = [time for time in model.times() if first <= time <= last]
            assert [model.holds(predicate, row, t) for t in times] == [wider.holds(predicate, row, t) for t in times]


@pytest.mark.slow
@drawn(50)
@given(st.data())
def test_a_finer_grid_changes_nothing(data: st.DataObject) -> None:
    """On dense time nothing changes within a gap, so that smaller cells give the same model."""
    drawn = data.draw(programs("rational", RICH))
    facts = data.draw(streams(drawn, infinite=True, size=8))
    low, high = horizon(drawn, facts, margin=3)
    model = evaluate(drawn, facts, low=low, high=high)
    finer = evaluate(drawn, facts, low=low - Fraction(1, 6), high=high)
    assert finer.grid.step < model.grid.step
    for predicate in finer.coverage:
        for row in finer.rows(predicate) | model.rows(predicate):
            for time in finer.times()[2:]:
                assert model.holds(predicate, row, time) == finer.holds(predicate, row, time)


# --- the strategies -----------------------------------------------------------------------------------------------


@drawn(40)
@given(st.data(), KINDS, st.sampled_from((FORWARD, NON_RECURSIVE, EVERYTHING, RICH)))
def test_drawn_programs_are_safe_and_stratified(data: st.DataObject, kind: Kind, features: Features) -> None:
    """Every drawn program passes the oracle's checks, whatever its features, and non-recursive ones settle."""
    drawn = data.draw(programs(kind, features))
    rules = rules_of(drawn)
    assert 1 <= len(rules) <= 6
    assert [unsafe_variables(rule) for rule in rules] == [set()] * len(rules)
    assert sum(map(len, strata(rules))) <= len(rules)
    if not features.recursion:
        assert max(reach(drawn).left, reach(drawn).right) < math.inf


@drawn(40)
@given(st.data(), KINDS, st.sampled_from((Fraction(0), Fraction(1), Fraction(5, 2))))
def test_drawn_streams_are_sorted_and_shuffled_within_bounds(data: st.DataObject, kind: Kind, lateness: Fraction) -> None:
    """Streams are sorted by time, and no fact of a shuffled one comes more than the lateness behind."""
    drawn = data.draw(programs(kind, EVERYTHING))
    stream = data.draw(streams(drawn))
    begins = [item[2].low for item in stream]
    assert begins == sorted(begins)
    assert all(0 <= item[2].low <= item[2].high <= 12 for item in stream)
    arrival = data.draw(shuffled_within(stream, lateness))
    assert sorted(map(repr, arrival)) == sorted(map(repr, stream))
    for index, item in enumerate(arrival):
        assert all(earlier[2].low <= item[2].low + lateness for earlier in arrival[:index])


def kinds_of(formula: Formula) -> set[type]:
    """The classes of the formulas in a formula."""
    return {type(formula)}.union(*map(kinds_of, parts(formula)))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", ["rational", "integer"])
def test_drawn_programs_derive_something_with_every_operator(kind: Kind) -> None:
    """More than half of the drawn programs derive a fact from their stream, and every kind of formula occurs."""
    derived: list[bool] = []
    kinds: set[type] = set()

    @seed(20)
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        drawn = data.draw(programs(kind, EVERYTHING))
        facts = data.draw(streams(drawn))
        low, high = horizon(drawn, facts)
        model = evaluate(drawn, facts, low=low, high=high)
        derived.append(any(model.rows(predicate) for predicate in "abcd"))
        kinds.update(*(kinds_of(part) for rule in rules_of(drawn) for part in (rule.head, *rule.body)))

    draw()
    assert sum(derived) * 2 > len(derived)
    assert kinds == {Atom, Unary, Binary, Window, Conjunction, Negation, Comparison, Truth}
