"""Materialisation, automata and LTL decide as the oracle does: entailment of random facts, and consistency."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracle.agreement import records_of
from oracle.evaluate import GroundFact
from oracle.periodic import PeriodicModel, UnsettledError, periodic_model
from oracle.programs import Kind
from oracle.recursive_programs import CONSTANTS, Tiny, compiled, few_facts, predicates_of, times, tiny_programs
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.batch.decisions.decision import Method
from tidelog.runtime.batch.decisions.entailment import consistent, entails

KINDS: tuple[Kind, ...] = ("rational", "integer")
TINY = Tiny(constraints=True, rules=3, largest=3, facts=4)
SMALL = replace(TINY, depth=1, largest=2, rules=3, facts=3)
"""For what is slow."""


@dataclass(frozen=True)
class Drawn:
    """A program and facts, with the oracle's model of them, and facts to ask for."""

    program: Program
    plan: BatchPlan
    facts: list[Record]
    model: PeriodicModel
    asked: list[GroundFact]

    def __str__(self) -> str:
        shown = [format_record(record, self.plan.timeline) for record in self.facts]
        return f"{format_program(self.program)}\n{' '.join(shown)}"

    def expected(self, fact: GroundFact) -> str:
        """Whether a fact follows, by the oracle."""
        if self.model.violations:
            return "inconsistent"
        return "true" if self.model.covers(fact) else "false"


@st.composite
def drawn(draw: st.DrawFn, tiny: Tiny) -> Drawn:
    """A tiny program with a model that the oracle finds."""
    program = draw(tiny_programs(tiny))
    facts = draw(few_facts(program, tiny))
    asked = [draw(questions(program, tiny)) for _ in range(2)]
    ends = [end for *_, when in asked for end in (when.low, when.high) if math.isfinite(end)]
    try:
        model = periodic_model(program, facts, [Fraction(1), *map(Fraction, ends)])
    except UnsettledError:
        assume(False)
    asked += [draw(near(model, tiny)) for _ in range(2)]
    plan = compiled(program)
    if not plan.timeline.is_integer:
        plan = plan.with_resolution(model.step)
    return Drawn(program, plan, records_of(plan, facts), model, asked)


@st.composite
def questions(draw: st.DrawFn, program: Program, tiny: Tiny) -> GroundFact:
    """Any fact of the program's predicates, near the data or further away."""
    name, arity = draw(st.sampled_from(sorted(predicates_of(program).items())))
    row = tuple(draw(st.sampled_from(CONSTANTS)) for _ in range(arity))
    when = draw(times(tiny, -6, 9))
    away = draw(st.sampled_from((0, 0, 12, -12, 40)))
    return name, row, replace(when, low=when.low + away, high=when.high + away)


@st.composite
def near(draw: st.DrawFn, model: PeriodicModel, tiny: Tiny) -> GroundFact:
    """A fact whose times are a run of the model, or a little more or less."""
    ground = draw(st.sampled_from(sorted(model.tracks, key=repr)))
    ranges = model.ranges(model.tracks[ground], -12, 20)
    if not ranges:
        return (*ground, draw(times(tiny)))
    when = draw(st.sampled_from(ranges))
    change = draw(st.sampled_from(("same", "low", "high", "left", "right")))
    if change == "low":
        return (*ground, replace(when, low=when.low - 1))
    if change == "high":
        return (*ground, replace(when, high=when.high + 1))
    if change == "left" and when.low < when.high:
        return (*ground, replace(when, left_open=not when.left_open))
    if change == "right" and when.low < when.high:
        return (*ground, replace(when, right_open=not when.right_open))
    return (*ground, when)


def decide(case: Drawn, fact: GroundFact, method: Method) -> str:
    """What a method says; the reason too, where it does not know."""
    record = records_of(case.plan, [fact])[0]
    decided = entails(case.plan, case.facts, record, method)
    return decided.answer if decided.answer != "undecided" else f"undecided: {decided.reason}"


def disagreements(case: Drawn, method: Method) -> list[str]:
    """Where a method decides otherwise than the oracle."""
    found = []
    for fact in case.asked:
        answer, expected = decide(case, fact, method), case.expected(fact)
        if answer != expected:
            shown = format_record(records_of(case.plan, [fact])[0], case.plan.timeline)
            found.append(f"{shown}: {answer}, not {expected}")
    verdict = consistent(case.plan, case.facts, method)
    if verdict.answer != ("false" if case.model.violations else "true"):
        found.append(f"consistent: {verdict.answer} {verdict.reason}")
    return found


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_materialisation_decides_as_the_oracle_does(data: st.DataObject, kind: Kind) -> None:
    """Whether what repeats for ever covers a fact, and whether a constraint is ever violated."""
    case = data.draw(drawn(replace(TINY, kind=kind)))
    assert not disagreements(case, "materialise"), case


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_automata_decide_as_the_oracle_does(data: st.DataObject, kind: Kind) -> None:
    """A fact follows exactly if the reduced theory has no accepted word."""
    case = data.draw(drawn(replace(TINY, kind=kind)))
    assert not disagreements(case, "automata"), case


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_ltl_decides_as_the_oracle_does(data: st.DataObject, kind: Kind) -> None:
    """A fact follows exactly if the formula of the reduced theory is not satisfiable."""
    case = data.draw(drawn(replace(SMALL, kind=kind)))
    assert not disagreements(case, "ltl"), case
