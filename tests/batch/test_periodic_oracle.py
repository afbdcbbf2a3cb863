"""Periodic models: the oracle against cases worked by hand and other evaluations, and the engine against both."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import STRATEGIES, plan_of, records
from batch.periodic_cases import CASES, Case
from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact, evaluate
from oracle.periodic import PeriodicModel, UnsettledError, periodic_model
from oracle.programs import FORWARD, NON_RECURSIVE, PAST_ONLY, Kind, programs, streams
from oracle.reach import exact_range, horizon
from oracle.recursive_programs import Tiny, compiled, few_facts, tiny_programs
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.strategies import StrategyName

KINDS: tuple[Kind, ...] = ("rational", "integer")


def ground(plan: BatchPlan, facts: Iterable[str]) -> list[GroundFact]:
    """Facts as text, as the oracle takes them."""
    decode = plan.timeline.decode_interval
    return [(predicate, row, decode(lo, hi)) for predicate, row, lo, hi in records(plan, facts)]


def atom_of(plan: BatchPlan, text: str) -> tuple[str, tuple[str | int | float, ...]]:
    """The predicate and the row of `p(a)`."""
    predicate, row, _, _ = records(plan, [f"{text}@0"])[0]
    return predicate, row


# --- the oracle -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_oracle_finds_what_was_worked_out_by_hand(case: Case) -> None:
    """Near the data and far from them, at points and in gaps, and for facts without an end."""
    program = parse(case.program)
    plan = compile_batch(program)
    asked = {text: ground(plan, [text])[0] for text in (*case.covers, *case.lacks)}
    ends = [end for *_, when in asked.values() for end in (when.low, when.high) if isinstance(end, Fraction)]
    model = periodic_model(program, ground(plan, case.facts), ends)
    for (atom, low, high), expected in case.holds.items():
        assert model.runs(*atom_of(plan, atom), low, high) == expected, (atom, low, high)
    assert {text: model.covers(fact) for text, fact in asked.items()} == {
        **dict.fromkeys(case.covers, True),
        **dict.fromkeys(case.lacks, False),
    }
    assert bool(model.violations) == bool(case.violated)
    for (low, high), expected in (case.violated or {}).items():
        assert model.shown(next(iter(model.violations.values())), low, high) == expected


FRAGMENTS = (FORWARD, PAST_ONLY, NON_RECURSIVE, replace(NON_RECURSIVE, nested_negation=True))


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_the_oracle_equals_the_other_one_where_that_is_exact(data: st.DataObject, kind: Kind) -> None:
    """Both evaluate Table 1, one by sets of cells within a horizon, one by bits and for all times."""
    program = data.draw(programs(kind, data.draw(st.sampled_from(FRAGMENTS))))
    facts = data.draw(streams(program, size=6, infinite=True, last=6))
    model = periodic_model(program, facts)
    low, high = horizon(program, facts)
    first, last = exact_range(program, facts, low=low, high=high)
    other = evaluate(program, facts, low=low, high=high)
    for predicate in {name for name, _ in model.tracks} | set(other.coverage):
        for row in model.rows(predicate) | other.rows(predicate):
            expected = {time for time in other.points(predicate, row) if first <= time <= last}
            within = [time for time in other.times() if first <= time <= last]
            assert {time for time in within if _holds(model, predicate, row, time)} == expected, format_program(program)


def _holds(model: PeriodicModel, predicate: str, row: tuple[str | int | float, ...], time: Fraction) -> bool:
    place = time / model.step * (2 if model.dense else 1)
    cell = math.floor(place)
    track = model.tracks.get((predicate, row))
    return track is not None and track.has(cell + (cell % 2 == 0 and place != cell))


# --- the engine -----------------------------------------------------------------------------------------------------------


def materialised(plan: BatchPlan, facts: Iterable[Record], strategy: StrategyName = "seminaive") -> Materialisation:
    """A materialisation that has come to its end."""
    done = Materialisation(plan, strategy)
    done.load(facts)
    done.run()
    return done


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_materialisation_finds_what_was_worked_out_by_hand(case: Case, strategy: StrategyName) -> None:
    """What repeats is known for ever: near the data, far from them, and for facts without an end."""
    plan = plan_of(case.program)
    done = materialised(plan, records(plan, case.facts), strategy)
    assert (done.violation() is not None) == bool(case.violated)
    if case.violated:
        return
    for (atom, low, high), expected in case.holds.items():
        predicate, row = atom_of(plan, atom)
        lo, hi = (plan.timeline.encode_point(Fraction(end)) for end in (low, high))
        runs = runs_of(done.between(lo, hi)).get((predicate, row), [])
        assert " ".join(plan.timeline.format_range(*times) for times in runs) == expected, (atom, low, high)
    answers = {text: done.holds(records(plan, [text])[0]) for text in (*case.covers, *case.lacks)}
    assert answers == dict.fromkeys(case.covers, True) | dict.fromkeys(case.lacks, False)


FAR = 10_000
STRETCHES = ((-24, 36), (FAR, FAR + 30), (-FAR - 30, -FAR))


def differences(model: PeriodicModel, done: Materialisation) -> list[str]:
    """Where what is known of a materialisation differs from the oracle's model, near the data and far from them."""
    found = []
    for low, high in STRETCHES:
        lo, hi = (done.plan.timeline.encode_point(Fraction(end)) for end in (low, high))
        known = runs_of(done.between(lo, hi))
        for ground in sorted(known.keys() | model.tracks.keys(), key=repr):
            track = model.tracks.get(ground)
            expected = [done.plan.timeline.encode_interval(when) for when in model.ranges(track, low, high)] if track else []
            if known.get(ground, []) != expected:
                shown = [
                    " ".join(done.plan.timeline.format_range(*times) for times in every)
                    for every in (known.get(ground, []), expected)
                ]
                found.append(f"{ground} from {low} to {high}: {shown[0]} instead of {shown[1]}")
    return found


def compare(data: st.DataObject, tiny: Tiny) -> None:
    """Compare a random program's materialisation with the oracle's model, and what it says of facts without an end."""
    program = data.draw(tiny_programs(tiny))
    facts = data.draw(few_facts(program, tiny))
    plan = compiled(program)
    given = records_of(plan, facts)
    where = f"{format_program(program)}\n{' '.join(format_record(record, plan.timeline) for record in given)}"
    try:
        model = periodic_model(program, facts, [Fraction(1)])
    except UnsettledError:
        assume(False)
    done = materialised(plan, given, data.draw(st.sampled_from(STRATEGIES)))
    assert (done.violation() is not None) == bool(model.violations), where
    if model.violations:
        return
    found = differences(model, done)
    assert not found, f"{found}\n{where}"
    for predicate, row in model.tracks:
        when = Interval(data.draw(st.integers(-6, 12)), math.inf, data.draw(st.booleans()), True)
        if data.draw(st.booleans()):
            when = Interval(-math.inf, when.low, True, when.left_open)
        record = (predicate, row, *plan.timeline.encode_interval(when))
        assert done.holds(record) == model.covers((predicate, row, when)), f"{when}\n{where}"


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_materialisation_equals_the_oracle(data: st.DataObject, kind: Kind) -> None:
    """Recursion in both directions, nested operators, boxes in heads, operators without an end."""
    compare(data, Tiny(kind=kind, constraints=True))


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_materialisation_equals_the_oracle_with_negation(data: st.DataObject, kind: Kind) -> None:
    """A second stratum negates, and may be recursive, too."""
    compare(data, Tiny(kind=kind, constraints=True, negation=True, rules=3))


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_materialisation_equals_the_oracle_on_walks(data: st.DataObject, kind: Kind) -> None:
    """Many rules, few operators: periods that join."""
    compare(data, Tiny(kind=kind, rules=6, depth=1, largest=6, negation=data.draw(st.booleans()), endless=0))


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_materialisation_equals_the_oracle_with_windows(data: st.DataObject, kind: Kind) -> None:
    """Windows that are clipped where the stream starts."""
    compare(data, Tiny(kind=kind, rules=3, windows=True, negation=data.draw(st.booleans())))
