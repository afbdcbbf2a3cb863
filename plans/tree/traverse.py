"""Walking over formulas: the direct parts of one, and the same formula with other parts, or other terms.

The parser bounds how deep formulas nest, so plain recursion over them is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_

from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Expression,
    Formula,
    Latest,
    Negation,
    Truth,
    Unary,
    Variable,
    Visits,
    Window,
)


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that stand directly below one."""
    match formula:
        case Atom() | Truth() | Comparison() | Visits():
            return ()
        case Binary():
            return (formula.left, formula.right)
        case Conjunction():
            return formula.parts
        case Unary() | Window() | Negation() | Aggregate():
            return (formula.operand,)
        case Latest():
            return (formula.atom,)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """A formula and all below it, from the outside in."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def rebuild(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with each direct part changed; itself where none is."""
    match formula:
        case Atom() | Truth() | Comparison() | Visits():
            return formula
        case Binary():
            left, right = change(formula.left), change(formula.right)
            same = left is formula.left and right is formula.right
            return formula if same else replace(formula, left=left, right=right)
        case Conjunction():
            parts = tuple(map(change, formula.parts))
            same = all(map(is_, parts, formula.parts))
            return formula if same else replace(formula, parts=parts)
        case Unary() | Window() | Negation() | Aggregate():
            operand = change(formula.operand)
            return formula if operand is formula.operand else replace(formula, operand=operand)
        case Latest():
            changed = change(formula.atom)
            if changed is formula.atom or not isinstance(changed, Atom):
                return formula
            return replace(formula, atom=changed)


def with_terms(formula: Formula, change: Callable[[Expression], Expression]) -> Formula:
    """The formula with the arguments of its atoms, and the sides of its comparisons, changed."""
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(map(change, formula.arguments)))
        case Comparison():
            return replace(formula, left=change(formula.left), right=change(formula.right))
    return rebuild(formula, lambda part: with_terms(part, change))


def substitute(expression: Expression, value: Callable[[Variable], Expression]) -> Expression:
    """The expression with something in place of each variable."""
    if isinstance(expression, Variable):
        return value(expression)
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(substitute(operand, value) for operand in expression.operands))
    return expression


def spliced(parts: Iterable[Formula]) -> tuple[Formula, ...]:
    """The parts of a conjunction, with those of conjunctions among them in their place."""
    flat: list[Formula] = []
    for part in parts:
        flat += spliced(part.parts) if isinstance(part, Conjunction) else (part,)
    return tuple(flat)


def conjoin(parts: Iterable[Formula]) -> Formula:
    """The conjunction of parts: the part itself where it is the only one, `top` where there is none."""
    flat = spliced(parts)
    if not flat:
        return Truth(True)
    return flat[0] if len(flat) == 1 else Conjunction(flat, flat[0].span)
