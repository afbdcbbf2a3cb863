"""Materialisation reaches what the naive oracle reaches, on random programs and data; and laws that need no oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import STRATEGIES
from batch.test_strategies import MIRRORED
from oracle.agreement import records_of, runs_of
from oracle.evaluate import ALWAYS, GroundFact, Model, evaluate, rules_of
from oracle.grounding import head_atom
from oracle.programs import EVERYTHING, FORWARD, NON_RECURSIVE, Features, Kind, programs, streams
from oracle.reach import exact_range, horizon
from tidelog.compiling import compile_batch as compile_text
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Constant,
    Expression,
    FactStatement,
    Formula,
    Interval,
    Program,
    Rule,
    Truth,
    Unary,
    Value,
    Window,
)
from tidelog.plans.tree.traverse import children, rebuild
from tidelog.runtime.batch.decisions.entailment import entails
from tidelog.runtime.batch.decisions.relevance import relevant_part
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.strategies import StrategyName

ROUNDS = 40
"""How many rounds a recursion is followed here; one that has not ended by then has still to be sound."""

FRAGMENTS = (
    FORWARD,
    replace(NON_RECURSIVE, nested_negation=True, rules=3),
    replace(EVERYTHING, nested_negation=True, rules=4),
)
POSITIVE = replace(EVERYTHING, negation=False, constraints=False, windows=False)


# --- programs and data for the whole timeline ---------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn, kind: Kind, features: Features, *, turns: bool = True) -> tuple[Program, list[GroundFact]]:
    """A program and data for any of its predicates, at any time, now and then turned round in time.

    Operators may be unbounded, the program may state facts of its own, and what a rule derives from may be forbidden.
    """
    program = draw(programs(kind, features))
    if features.constraints and draw(st.integers(0, 2)) == 2:
        forbidden = Rule(Truth(False), draw(st.sampled_from(rules_of(program))).body)
        program = replace(program, statements=(*program.statements, forbidden))
    program = _changed(program, lambda formula: _widened(draw, formula))
    facts = draw(streams(program, infinite=True, size=6, last=8))
    heads = {atom.predicate: len(atom.arguments) for rule in rules_of(program) if (atom := head_atom(rule.head))}
    facts += [(name, row, when) for _, row, when in facts[::3] for name, arity in heads.items() if arity == len(row)]
    by = draw(st.sampled_from((0, -4, -20)))
    facts = [(name, row, _moved(when, by)) for name, row, when in facts]
    if turns and draw(st.booleans()) and not any(map(_has_window, _formulas(program))):
        program = _changed(program, _turned)
        facts = [(name, row, _turned_interval(when)) for name, row, when in facts]
    return _stating(program, facts[:1] if draw(st.booleans()) else []), facts[1:] + facts[:1]


def _changed(program: Program, change: Callable[[Formula], Formula]) -> Program:
    rules = [Rule(change(rule.head), tuple(map(change, rule.body))) for rule in rules_of(program)]
    return replace(program, statements=(program.statements[0], *rules))


def _widened(draw: st.DrawFn, formula: Formula) -> Formula:
    """The formula with an operator unbounded now and then."""
    formula = rebuild(formula, lambda part: _widened(draw, part))
    if isinstance(formula, Unary | Binary) and draw(st.integers(0, 7)) == 7:
        return replace(formula, interval=replace(formula.interval, high=math.inf, right_open=True))
    return formula


def _turned(formula: Formula) -> Formula:
    formula = rebuild(formula, _turned)
    return replace(formula, operator=MIRRORED[formula.operator]) if isinstance(formula, Unary | Binary) else formula


def _turned_interval(when: Interval) -> Interval:
    return Interval(-when.high, -when.low, when.right_open, when.left_open)


def _moved(when: Interval, by: int) -> Interval:
    return replace(when, low=when.low + by, high=when.high + by)


def _formulas(program: Program) -> list[Formula]:
    return [part for rule in rules_of(program) for part in (rule.head, *rule.body)]


def _has_window(formula: Formula) -> bool:
    return isinstance(formula, Window) or any(map(_has_window, children(formula)))


def _stating(program: Program, facts: Iterable[GroundFact]) -> Program:
    """The program with facts of its own, at their times and at all times."""
    stated = [
        FactStatement(Atom(name, tuple(map(Constant, row))), when if len(row) % 2 else None) for name, row, when in facts
    ]
    return replace(program, statements=(*program.statements, *stated))


def compiled(program: Program) -> BatchPlan:
    """The plan; programs that are refused for a documented reason are not examples."""
    try:
        return compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}, format_program(program)
        assume(False)
        raise


def materialised(
    plan: BatchPlan, facts: Iterable[Record], strategy: StrategyName = "seminaive", until: Fraction | None = None
) -> tuple[Materialisation, bool]:
    """After so many rounds, and whether it has come to its end."""
    done = Materialisation(plan, strategy, until)
    done.load(facts)
    done.run(ROUNDS)
    return done, not done.round()


# --- comparing ----------------------------------------------------------------------------------------------------------


class Comparison:
    """The oracle's model of a program and facts, at the times at which it is exact."""

    def __init__(self, program: Program, facts: Sequence[GroundFact]) -> None:
        self.program, self.facts = program, facts
        self.low, self.high = horizon(program, facts)
        self.first, self.last = exact_range(program, facts, low=self.low, high=self.high)
        self.model = self._model(program)
        self.times = [time for time in self.model.times() if self.first <= time <= self.last]

    def _model(self, program: Program) -> Model:
        return evaluate(program, self.facts, low=self.low, high=self.high)

    def differences(self, done: Materialisation, *, sound_only: bool = False) -> list[str]:
        """Where the two differ; with `sound_only`, where something holds that should not."""
        runs = runs_of(done.facts())
        names = {name for name, _ in runs} | set(self.model.coverage)
        rows = {(name, row) for name in names for row in self.model.rows(name)} | set(runs)
        found = []
        for name, row in sorted(rows, key=repr):
            expected = set(self.model.points(name, row))
            for time in self.times:
                point = done.plan.timeline.encode_point(time)
                holds = any(lo <= point <= hi for lo, hi in runs.get((name, row), []))
                if holds != (time in expected) and (holds or not sound_only):
                    found.append(f"{name}{row}@{time}: {'held' if holds else 'missing'}")
        return found

    def violated(self) -> bool:
        """Whether a constraint is violated at a time at which that is certain."""
        return any(violation.point in self.times for violation in self.model.violations)

    def confirms(self, done: Materialisation) -> bool:
        """Whether the ground rule of a violation has a body that holds throughout the time told."""
        violation = done.violation()
        assert violation is not None
        ground = parse(f"bottom :- {', '.join(violation.facts)}.").statements
        number = len(rules_of(self.program))
        model = self._model(replace(self.program, statements=(*self.program.statements, *ground)))
        lo, hi = TimeReader(done.plan.timeline).read(violation.during)
        points = {found.point for found in model.violations if found.rule == number}
        return all(time in points for time in self.times if lo <= done.plan.timeline.encode_point(time) <= hi)


def show(program: Program, facts: Iterable[GroundFact]) -> str:
    return format_program(program) + "\n" + "\n".join(map(str, facts))


# --- the oracle ---------------------------------------------------------------------------------------------------------


KINDS: tuple[Kind, ...] = ("rational", "integer")


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_what_holds_is_the_oracles(data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """What has come to its end holds exactly; what has not, or is inconsistent, holds nothing that does not follow."""
    program, facts = data.draw(cases(kind, fragment))
    plan, expected = compiled(program), Comparison(program, facts)
    done, ended = materialised(plan, records_of(plan, facts), data.draw(st.sampled_from(STRATEGIES)))
    violated = done.violation() is not None
    where = show(program, facts)
    assert not expected.differences(done, sound_only=violated or not ended), where
    if violated:
        assert expected.confirms(done), f"{done.violation()}\n{where}"
    elif ended:
        assert not expected.violated(), where


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_what_looks_back_is_the_oracles_up_to_a_time(data: st.DataObject, kind: Kind) -> None:
    """Where no rule looks ahead, recursion without an end is followed to `until` and is exact up to there."""
    program, facts = data.draw(cases(kind, replace(EVERYTHING, future=False, constraints=False, rules=4), turns=False))
    plan = compiled(program)
    assume(all(component.looks_back for component in plan.components))
    expected = Comparison(program, facts)
    until = min(expected.high, Fraction(data.draw(st.integers(-6, 10))))
    expected.times = [time for time in expected.times if time <= until]
    done, ended = materialised(plan, records_of(plan, facts), data.draw(st.sampled_from(STRATEGIES)), until)
    assert not expected.differences(done, sound_only=not ended), f"until {until}\n{show(program, facts)}"


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_facts_follow_and_data_are_consistent_as_the_oracle_says(data: st.DataObject, kind: Kind) -> None:
    """`entails` and `consistent` say of drawn facts, from the relevant rules and facts alone, what the oracle says."""
    program, facts = data.draw(cases(kind, data.draw(st.sampled_from(FRAGMENTS))))
    plan, expected = compiled(program), Comparison(program, facts)
    assume(expected.times)
    names = sorted(expected.model.coverage, key=repr)
    rows = [(name, row) for name in names for row in sorted(expected.model.rows(name), key=repr)]
    assume(rows)
    name, row = data.draw(st.sampled_from(rows))
    times = sorted((data.draw(st.sampled_from(expected.times)), data.draw(st.sampled_from(expected.times))))
    during = Interval(*(time - time % 1 if kind == "integer" else time for time in times))
    plan = plan if kind == "integer" else plan.with_resolution(expected.model.grid.step / 4)
    (fact,) = records_of(plan, [(name, row, during)])
    answer = answered(plan, records_of(plan, facts), fact)
    follows = all(expected.model.holds(name, row, time) for time in expected.times if during.low <= time <= during.high)
    where = f"{name}{row}@{during}: {answer}\n{show(program, facts)}"
    if answer == "inconsistent":
        assert expected.model.violations, where
    elif answer != "undecided":
        assert answer == ("true" if follows else "false"), where
        assert not expected.violated() or not settled(plan, name), where


def settled(plan: BatchPlan, predicate: str) -> bool:
    """Whether all that a fact of the predicate and the constraints depend on comes to an end."""
    return all(component.ending == "finite" for component in relevant_part(plan, predicate).components)


def answered(plan: BatchPlan, facts: Iterable[Record], fact: Record) -> str:
    """What `entails` says by materialisation."""
    return entails(plan, facts, fact, "materialise").answer


def test_background_is_facts_at_all_times(tmp_path: Path) -> None:
    """Background facts count as facts without begin and end, also under negation and in recursion."""
    (tmp_path / "link.csv").write_text("from,to\na,b\nb,3\n")
    rules = "up(Y) :- diamondminus[0,1] up(X), link(X,Y). end(X) :- up(X), not link(X,_)."
    up = Interval(Fraction(-3), Fraction(2), right_open=True)
    facts: list[GroundFact] = [("up", ("a",), up), ("link", ("c", "a"), up)]
    stated: list[GroundFact] = [("link", ("a", "b"), ALWAYS), ("link", ("b", 3), ALWAYS)]
    expected = Comparison(parse(rules), facts + stated)
    plan = compile_text(f'background link from "link.csv". {rules}', folder=tmp_path)
    for strategy in STRATEGIES:
        done, ended = materialised(plan, records_of(plan, facts), strategy)
        assert ended
        assert not expected.differences(done)


# --- laws ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS))
def test_more_facts_only_add(data: st.DataObject, kind: Kind) -> None:
    """Without negation, and without windows that are clipped, all that held after some rounds still does."""
    program, facts = data.draw(cases(kind, POSITIVE))
    plan = compiled(program)
    records = records_of(plan, facts)
    rounds = data.draw(st.integers(0, 12))
    few, many = Materialisation(plan), Materialisation(plan)
    few.load(records[: data.draw(st.integers(0, len(records)))])
    many.load(records)
    few.run(rounds)
    many.run(rounds)
    assert all(many.holds(record) for record in few.facts()), show(program, facts)


RENAMED: dict[Value, Value] = {"a": 7, "b": "it's", 0: "0", 1: "a", 2: -1, 3: "X"}


def _renamed(formula: Formula) -> Formula:
    if isinstance(formula, Atom):
        return replace(formula, arguments=tuple(map(_renamed_term, formula.arguments)))
    return rebuild(formula, _renamed)


def _renamed_term(term: Expression) -> Expression:
    return Constant(RENAMED[term.value]) if isinstance(term, Constant) else term


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.integers(-40, 40))
def test_neither_where_0_is_nor_what_constants_are_called_matters(data: st.DataObject, kind: Kind, by: int) -> None:
    """Without comparisons, what holds moves with the facts, and its constants are renamed with theirs."""
    program, facts = data.draw(cases(kind, replace(FRAGMENTS[2], comparisons=False)))
    program = replace(program, statements=(program.statements[0], *rules_of(program)))
    plan, other_plan = compiled(program), compiled(_changed(program, _renamed))
    others = [(name, tuple(RENAMED[value] for value in row), _moved(when, by)) for name, row, when in facts]
    strategy = data.draw(st.sampled_from(STRATEGIES))
    here, _ = materialised(plan, records_of(plan, facts), strategy)
    there, _ = materialised(other_plan, records_of(other_plan, others), strategy)
    ticks = plan.timeline.encode_point(Fraction(by))
    expected = {
        (name, tuple(RENAMED[value] for value in row), lo if lo == NEG else lo + ticks, hi if hi == POS else hi + ticks)
        for name, row, lo, hi in here.facts()
    }
    assert set(there.facts()) == expected, show(program, facts)
    assert (there.violation() is None) == (here.violation() is None)
