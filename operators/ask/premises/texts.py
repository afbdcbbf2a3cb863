"""What stands behind a `not`, where it is more than an atom, as text with the values that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.plans.language.printing import format_formula
from tidelog.plans.plan.questions import Open
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Value,
    Variable,
)
from tidelog.plans.tree.traverse import rebuild

_Values = Mapping[str, Expression]


def text_of(formula: Formula, columns: Sequence[str], terms: Sequence[Value | Open]) -> str:
    """A formula with terms in place of its variables `columns`; a conjunction without its parentheses."""
    values: dict[str, Expression] = {
        column: Variable(str(term)) if isinstance(term, Open) else Constant(term)
        for column, term in zip(columns, terms, strict=True)
    }
    text = format_formula(_put_in(formula, values))
    return text[1:-1] if isinstance(formula, Conjunction) else text


def arguments_of(atom: Atom, columns: Sequence[str], terms: Sequence[Value | Open]) -> tuple[Value | Open, ...]:
    """The arguments of an atom with terms in place of its variables; `_` stays open."""
    values = dict(zip(columns, terms, strict=True))
    return tuple(
        values[term.name] if isinstance(term, Variable) else term.value if isinstance(term, Constant) else Open("_")
        for term in atom.arguments
    )


def _put_in(formula: Formula, values: _Values) -> Formula:
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(_replaced(term, values) for term in formula.arguments))
        case Comparison():
            return replace(formula, left=_replaced(formula.left, values), right=_replaced(formula.right, values))
    return rebuild(formula, lambda part: _put_in(part, values))


def _replaced(expression: Expression, values: _Values) -> Expression:
    if isinstance(expression, Variable):
        return values.get(expression.name, expression)
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(_replaced(operand, values) for operand in expression.operands))
    return expression
