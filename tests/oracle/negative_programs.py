"""Hypothesis strategies for programs whose rules depend on their own negation, at earlier times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from oracle.programs import Kind, intervals
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Constant,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    Term,
    TimelineDeclaration,
    Unary,
    Variable,
)

INPUTS = {"p": 1, "q": 1, "r": 0}
DERIVED = {"a": 1, "b": 1, "c": 0}
X = Variable("X")


@dataclass(frozen=True)
class _Scene:
    kind: Kind
    back: int


@st.composite
def _interval(draw: st.DrawFn, scene: _Scene) -> Interval:
    """An interval, more often than not one that leads strictly back."""
    if draw(st.integers(0, 3)):
        low = draw(st.integers(1, 3))
        high = math.inf if draw(st.integers(0, 7)) == 7 else Fraction(low + draw(st.integers(0, 2)))
        return Interval(Fraction(low), high, right_open=high == math.inf)
    return draw(intervals(scene.kind, last=3))


def _atom(name: str) -> Atom:
    return Atom(name, (X,) * {**INPUTS, **DERIVED}[name])


@st.composite
def _part(draw: st.DrawFn, scene: _Scene, depth: int = 2) -> Formula:
    names = [*INPUTS, *DERIVED, *DERIVED]
    kind = draw(st.integers(0, 6)) if depth else 0
    if kind <= 1:
        return _atom(draw(st.sampled_from(names)))
    if kind <= 4:
        operator = draw(st.sampled_from(("diamondminus", "diamondminus", "boxminus")))
        return Unary(operator, draw(_interval(scene)), draw(_part(scene, depth - 1)))  # type: ignore[arg-type]
    left: Formula = draw(_part(scene, 0))
    if draw(st.booleans()):
        left = Negation(left)
    right = draw(st.sampled_from([_atom(name) for name in ("p", "q", "a", "b")]))
    return Binary("since", draw(_interval(scene)), left, right)


@st.composite
def _rule(draw: st.DrawFn, head: str, scene: _Scene) -> Rule:
    guard = draw(
        st.sampled_from((_atom("p"), _atom("q"), Unary("diamondminus", Interval(Fraction(0), Fraction(3)), _atom("p"))))
    )
    body: list[Formula] = [guard]
    for _ in range(draw(st.integers(0, 2))):
        part = draw(_part(scene))
        body.append(Negation(part) if draw(st.integers(0, 2)) else part)
    if draw(st.integers(0, 2)) == 0 and len(body) > 1 and not isinstance(body[1], Negation):
        body = body[1:]  # it holds by what is derived alone
        if not any(_binds(part) for part in body if not isinstance(part, Negation)):
            body.append(guard)
    return Rule(_atom(head), tuple(body))


def _binds(formula: Formula) -> bool:
    match formula:
        case Atom():
            return bool(formula.arguments)
        case Unary():
            return _binds(formula.operand)
        case Binary():
            return _binds(formula.right)
    return False


@st.composite
def negative_programs(draw: st.DrawFn, kind: Kind = "integer") -> Program:
    """One to five rules over p(X), q(X), r; many of them are refused, since they ask for what is not settled."""
    scene = _Scene(kind, 0)
    heads = draw(st.lists(st.sampled_from(sorted(DERIVED)), min_size=1, max_size=5))
    rules = [draw(_rule(head, scene)) for head in sorted(heads)]
    return Program((TimelineDeclaration(kind), *rules))


# --- strata by constants ----------------------------------------------------------------------------------------------


@st.composite
def constant_programs(draw: st.DrawFn) -> Program:
    """Rules for s(X, on), s(X, off) and s(X, idle), which negate those before them at one time, and all of them before."""
    values = ("on", "off", "idle")
    rules = []
    for number, value in enumerate(values):
        for _ in range(draw(st.integers(1, 2))):
            body: list[Formula] = [draw(st.sampled_from((_atom("p"), _atom("q"))))]
            for other in draw(st.lists(st.integers(0, 2), max_size=2)):
                wanted: Term = Constant(values[other])
                atom: Formula = Atom("s", (X, wanted))
                if other >= number or draw(st.booleans()):
                    atom = Unary("diamondminus", draw(_interval(_Scene("integer", 1))), atom)
                    if atom.interval.low + atom.interval.left_open < 1:  # type: ignore[union-attr]
                        atom = Unary("diamondminus", Interval(Fraction(1), Fraction(2)), Atom("s", (X, wanted)))
                body.append(Negation(atom) if draw(st.booleans()) else atom)
            rules.append(Rule(Atom("s", (X, Constant(value))), tuple(body)))
    return Program((TimelineDeclaration("integer"), *rules))
