"""Hypothesis strategies for tiny programs whose recursion need not end, and a few facts for them.

Every predicate may occur in the body of every rule of its stratum, under operators into the past and the future. Numbers
are small, so that periods and horizons are; there is at most one variable, and constants are never computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hypothesis import assume
from hypothesis import strategies as st

from oracle.evaluate import GroundFact
from oracle.programs import Kind
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Conjunction,
    Constant,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    TimelineDeclaration,
    Truth,
    Unary,
    UnaryOperator,
    Value,
    Variable,
    Window,
    WindowSize,
)

CONSTANTS: tuple[Value, ...] = ("a", "b")
UPPER: tuple[Value, ...] = ("n", "m")
X = Variable("X")


@dataclass(frozen=True, slots=True)
class Tiny:
    """What a drawn program may contain: operators in operators (`depth`), the largest distance, parts of a
    unit of time; one in `endless` operators has no end (0: none has), one in `away` facts lies far from the others."""

    kind: Kind = "rational"
    rules: int = 4
    depth: int = 2
    largest: int = 4
    parts: tuple[int, ...] = (1, 1, 1, 2)
    facts: int = 5
    variables: bool = True
    endless: int = 6
    links: bool = True
    windows: bool = False
    away: int = 12
    negation: bool = False
    constraints: bool = False


@dataclass(frozen=True)
class _Scene:
    """The predicates that a formula may use with their arities, whether X is at hand, and the unit of its numbers."""

    tiny: Tiny
    arities: dict[str, int]
    unit: Fraction


def _once_in(draw: st.DrawFn, of: int) -> bool:
    return draw(st.integers(1, of)) == of


@st.composite
def _distances(draw: st.DrawFn, scene: _Scene, unbounded: bool) -> Interval:
    low = draw(st.integers(0, scene.tiny.largest))
    if unbounded and scene.tiny.endless and _once_in(draw, scene.tiny.endless):
        return Interval(low * scene.unit, math.inf, draw(st.booleans()), True)
    high = draw(st.integers(low, scene.tiny.largest))
    left, right = (draw(st.booleans()), draw(st.booleans())) if high > low else (False, False)
    if scene.tiny.kind == "integer" and high - low < left + right + (low * scene.unit).denominator - 1:
        left = right = False
    if scene.tiny.kind == "integer" and left and right and high - low == 1:
        left = False
    return Interval(low * scene.unit, high * scene.unit, left, right)


@st.composite
def _atom(draw: st.DrawFn, scene: _Scene) -> Atom:
    name = draw(st.sampled_from(sorted(scene.arities)))
    if not scene.arities[name]:
        return Atom(name)
    return Atom(name, (X if draw(st.integers(0, 3)) else Constant(draw(st.sampled_from(CONSTANTS))),))


@st.composite
def _formula(draw: st.DrawFn, scene: _Scene, depth: int) -> Formula:
    choice = draw(st.integers(0, 7)) if depth else 0
    if choice < 3:
        return draw(_atom(scene))
    if choice == 7 and scene.tiny.links:
        operator: Literal["since", "until"] = draw(st.sampled_from(("since", "until")))
        left = Truth(True) if _once_in(draw, 6) else draw(_formula(scene, depth - 1))
        return Binary(operator, draw(_distances(scene, True)), left, draw(_formula(scene, depth - 1)))
    if choice == 6:
        first, second = draw(_formula(scene, depth - 1)), draw(_formula(scene, depth - 1))
        if not isinstance(first, Conjunction) and not isinstance(second, Conjunction):
            return Conjunction((first, second))
        return first
    if scene.tiny.windows and _once_in(draw, 3):
        mode: Literal["sometime", "always"] = draw(st.sampled_from(("sometime", "always", "always")))
        size = WindowSize(draw(st.integers(0, scene.tiny.largest)) * scene.unit)
        return Window(mode, draw(_formula(scene, depth - 1)), size)
    unary: tuple[UnaryOperator, ...] = ("diamondminus", "diamondplus", "boxminus", "boxplus")
    return Unary(draw(st.sampled_from(unary)), draw(_distances(scene, True)), draw(_formula(scene, depth - 1)))


def _binds(formula: Formula) -> bool:
    """Whether X is bound by a formula."""
    if isinstance(formula, Atom):
        return X in formula.arguments
    if isinstance(formula, Unary | Window):
        return _binds(formula.operand)
    if isinstance(formula, Binary):
        return _binds(formula.right)
    return isinstance(formula, Conjunction) and any(map(_binds, formula.parts))


@st.composite
def _body(draw: st.DrawFn, scene: _Scene) -> tuple[Formula, ...]:
    found: list[Formula] = []
    for _ in range(draw(st.sampled_from((1, 1, 2)))):
        formula = draw(_formula(scene, draw(st.integers(0, scene.tiny.depth))))
        found.extend(formula.parts if isinstance(formula, Conjunction) else (formula,))
    return tuple(found)


@st.composite
def _head(draw: st.DrawFn, scene: _Scene, name: str, arity: int, bound: bool) -> Formula:
    term = X if bound and draw(st.integers(0, 3)) else Constant(draw(st.sampled_from(CONSTANTS)))
    head: Formula = Atom(name, (term,) if arity else ())
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2)))):
        operator: UnaryOperator = draw(st.sampled_from(("boxplus", "boxplus", "boxminus")))
        head = Unary(operator, draw(_distances(scene, False)), head)
    return head


@st.composite
def _walk(draw: st.DrawFn, scene: _Scene, name: str) -> Rule:
    """`boxplus[3,3] p :- p`, in either direction, perhaps with a condition."""
    distance = draw(st.integers(1, scene.tiny.largest)) * scene.unit
    atom = Atom(name, (X,) if scene.arities[name] else ())
    operator: UnaryOperator = draw(st.sampled_from(("boxplus", "boxplus", "boxminus")))
    body: tuple[Formula, ...] = (atom, *draw(_body(scene))) if _once_in(draw, 4) else (atom,)
    return Rule(Unary(operator, Interval(distance, distance), atom), body)


@st.composite
def _negated(draw: st.DrawFn, scene: _Scene, bound: bool) -> Negation:
    name = draw(st.sampled_from(sorted(scene.arities)))
    term = X if bound else Constant(draw(st.sampled_from(CONSTANTS)))
    formula: Formula = Atom(name, (term,) if scene.arities[name] else ())
    if draw(st.booleans()):
        operator: UnaryOperator = draw(st.sampled_from(("diamondminus", "diamondplus", "boxminus", "boxplus")))
        formula = Unary(operator, draw(_distances(scene, True)), formula)
    return Negation(formula)


@st.composite
def tiny_programs(draw: st.DrawFn, tiny: Tiny) -> Program:
    """A safe program of a few rules over p, q and r, and with negation also over n and m in a stratum of their own."""
    unit = Fraction(1) if tiny.kind == "integer" else Fraction(1, draw(st.sampled_from(tiny.parts)))
    names = ("p", "q", "r")[: draw(st.integers(1, 3))]
    arities = {name: draw(st.integers(0, 1)) if tiny.variables else 0 for name in names}
    scene = _Scene(tiny, arities, unit)
    rules = []
    for _ in range(draw(st.integers(1, tiny.rules))):
        body = draw(_body(scene))
        name = draw(st.sampled_from(names))
        if _once_in(draw, 3):
            rules.append(draw(_walk(scene, name)))
        else:
            rules.append(Rule(draw(_head(scene, name, arities[name], any(map(_binds, body)))), body))
    if tiny.negation:
        rules += draw(_upper_stratum(scene))
    if tiny.constraints and _once_in(draw, 3):
        rules.append(Rule(Truth(False), draw(_body(scene))))
    return Program((TimelineDeclaration(tiny.kind), *rules))


@st.composite
def _upper_stratum(draw: st.DrawFn, scene: _Scene) -> list[Rule]:
    """Rules that negate the predicates below, and may be recursive themselves."""
    arities = {name: draw(st.integers(0, 1)) if scene.tiny.variables else 0 for name in UPPER[: draw(st.integers(1, 2))]}
    above = _Scene(scene.tiny, scene.arities | arities, scene.unit)
    rules = []
    for name, arity in arities.items():
        for _ in range(draw(st.integers(1, 2))):
            body = draw(_body(above))
            bound = any(map(_binds, body))
            if draw(st.booleans()):
                body = (*body, draw(_negated(scene, bound)))
            rules.append(Rule(draw(_head(above, name, arity, bound)), body))
    return rules


@st.composite
def few_facts(draw: st.DrawFn, program: Program, tiny: Tiny) -> list[GroundFact]:
    """From one fact on, for any of the program's predicates, near the time 0."""
    used = sorted(predicates_of(program).items())
    facts = []
    for _ in range(draw(st.integers(1, tiny.facts))):
        name, arity = draw(st.sampled_from(used))
        row = tuple(draw(st.sampled_from(CONSTANTS)) for _ in range(arity))
        when = draw(times(tiny))
        if _once_in(draw, tiny.away):
            by = draw(st.integers(-40, 40))
            when = replace(when, low=when.low + by, high=when.high + by)
        facts.append((name, row, when))
    return facts


@st.composite
def times(draw: st.DrawFn, tiny: Tiny, first: int = -2, last: int = 5, infinite: bool = True) -> Interval:
    """A point mostly, else an interval with any brackets, now and then one without an end."""
    unit = Fraction(1) if tiny.kind == "integer" else Fraction(1, draw(st.sampled_from(tiny.parts)))
    low = draw(st.integers(first, last)) * unit
    if draw(st.integers(0, 2)) or tiny.kind == "integer":
        high = low if draw(st.integers(0, 2)) else low + draw(st.integers(0, 3))
        interval = Interval(low, high)
    else:
        interval = Interval(low, low + draw(st.integers(1, 3)) * unit, draw(st.booleans()), draw(st.booleans()))
    if infinite and _once_in(draw, 30):
        interval = Interval(interval.low, math.inf, interval.left_open, True)
    if infinite and _once_in(draw, 30):
        interval = Interval(-math.inf, interval.high, True, interval.right_open)
    return interval


def compiled(program: Program) -> BatchPlan:
    """The plan of a drawn program; what the compiler refuses is passed over."""
    try:
        return compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        assume(False)
        raise


def predicates_of(program: Program) -> dict[str, int]:
    """The predicates that a program mentions, with their arities."""
    found: dict[str, int] = {}
    formulas: list[Formula] = []
    for statement in program.statements:
        if isinstance(statement, Rule):
            formulas.extend((statement.head, *statement.body))
    while formulas:
        formula = formulas.pop()
        if isinstance(formula, Atom):
            found[formula.predicate] = len(formula.arguments)
        elif isinstance(formula, Unary | Window | Negation):
            formulas.append(formula.operand)
        elif isinstance(formula, Binary):
            formulas.extend((formula.left, formula.right))
        elif isinstance(formula, Conjunction):
            formulas.extend(formula.parts)
    return found
