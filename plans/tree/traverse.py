"""Walking over formulas: the direct parts of one, and the same formula with other parts.

The parser bounds how deep formulas nest, so plain recursion over them is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Formula,
    Latest,
    Negation,
    Truth,
    Unary,
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


def rebuild(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with each direct part changed."""
    match formula:
        case Atom() | Truth() | Comparison() | Visits():
            return formula
        case Binary():
            return replace(formula, left=change(formula.left), right=change(formula.right))
        case Conjunction():
            return replace(formula, parts=tuple(map(change, formula.parts)))
        case Unary() | Window() | Negation() | Aggregate():
            return replace(formula, operand=change(formula.operand))
        case Latest():
            changed = change(formula.atom)
            return replace(formula, atom=changed) if isinstance(changed, Atom) else formula


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
