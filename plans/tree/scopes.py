"""Which variables a formula binds by itself, and which it expects its neighbours to bind.

A rule stands for all its instances: a variable is one constant for the whole rule, also below metric operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.plans.tree.names import expression_variables, name_open, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Expression,
    Formula,
    Latest,
    Negation,
    Unary,
    Variable,
    Visits,
    Window,
)
from tidelog.plans.tree.traverse import rebuild, spliced


def bound(*parts: Formula, is_split: bool = False) -> tuple[str, ...]:
    """The variables that a conjunction binds, in order of occurrence.

    Atoms bind; `X = expression` binds once the expression's variables are bound; negations do not, nor does the left
    side of `since`, which need not hold anywhere if the stretch is empty (before `split_since` saw to it: `is_split`).
    """
    found = {name for part in parts for name in _directly_bound(part, is_split)}
    assignments = [part for part in spliced(parts) if isinstance(part, Comparison) and part.operator == "="]
    while new := {name for part in assignments for name in _assigned(part, found)} - found:
        found |= new
    return tuple(name for name in variables(*parts) if name in found)


def _directly_bound(part: Formula, is_split: bool) -> tuple[str, ...]:
    match part:
        case Atom() | Visits() | Latest() | Aggregate():
            return variables(part)
        case Unary() | Window():
            return bound(part.operand, is_split=is_split)
        case Binary():
            sides = (part.left, part.right) if is_split else (part.right,)
            return bound(*sides, is_split=is_split)
        case Conjunction():
            return bound(*part.parts, is_split=is_split)
    return ()


def _assigned(part: Comparison, found: set[str]) -> Iterable[str]:
    sides: tuple[tuple[Expression, Expression], ...] = ((part.left, part.right), (part.right, part.left))
    for target, value in sides:
        if isinstance(target, Variable) and found.issuperset(expression_variables(value)):
            yield target.name


def name_bound(formula: Formula, names: Iterator[str]) -> Formula:
    """The formula with a variable for each `_` that an atom in it binds: different values are different rows."""
    match formula:
        case Atom():
            return name_open(formula, names)
        case Binary():
            return replace(formula, right=name_bound(formula.right, names))
        case Negation():
            return formula
    return rebuild(formula, lambda part: name_bound(part, names))


def divide(parts: Sequence[Formula]) -> tuple[list[Formula], list[Formula]]:
    """The parts whose variables the conjunction binds by itself, and those that lean on what stands outside."""
    binds = set(bound(*parts))
    closed: list[Formula] = []
    loose: list[Formula] = []
    for part in parts:
        leans = isinstance(part, Comparison | Negation) and not binds.issuperset(variables(part))
        (loose if leans else closed).append(part)
    return closed, loose


def shared(parts: Sequence[Formula], needed: Iterable[str]) -> frozenset[str]:
    """The variables that leave the part of a conjunction in which they stand: `needed` outside, or in two parts."""
    seen = set(needed)
    leaving = set(seen)
    for part in parts:
        names = variables(part)
        leaving.update(name for name in names if name in seen)
        seen.update(names)
    return frozenset(leaving)
