"""Comparisons within a derivation: their variables are numbered (`#3`), and what can be decided or solved is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeGuard

from tidelog.operators.sld.comparisons.terms import Bindings, shift
from tidelog.operators.sld.comparisons.values import UNCOMPUTABLE, compare, evaluate
from tidelog.plans.plan.preconditions import START, Argument, Slot
from tidelog.plans.tree.arithmetic import MIRRORED, plus
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable
from tidelog.plans.tree.traverse import substitute

START_SLOT = Slot(-1)
"""The stream's start, where a term is expected; nothing ever replaces it."""


def write(term: Argument) -> Expression:
    """A term as an expression: `#3 + 2`, `start`, `5`."""
    if not isinstance(term, Slot):
        return Constant(term)
    return plus(Variable(START if term.variable < 0 else f"#{term.variable}"), term.offset)


def instantiate(expression: Expression, scope: Mapping[str, Argument]) -> Expression:
    """A rule's expression with its variables numbered."""
    if isinstance(expression, Variable):
        return write(scope[expression.name])
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(instantiate(item, scope) for item in expression.operands))
    return expression


def slots_of(*expressions: Expression) -> set[int]:
    """The numbers of the variables in expressions; that of `start` is left out."""
    return {int(name[1:]) for name in expression_variables(*expressions) if name != START}


def read(expression: Expression, bindings: Bindings) -> Argument | None:
    """The term that an expression of numbered variables is; None where it is none, ValueError where it has no value."""
    match expression:
        case Constant(value):
            return value
        case Variable(name):
            return START_SLOT if name == START else bindings.walk(Slot(int(name[1:])))
        case Arithmetic():
            return _read_arithmetic(expression, bindings)
    raise ValueError("`_` has no value")


def _read_arithmetic(expression: Arithmetic, bindings: Bindings) -> Argument | None:
    terms = [read(operand, bindings) for operand in expression.operands]
    if not any(term is None or isinstance(term, Slot) for term in terms):
        constants = tuple(Constant(term) for term in terms if term is not None and not isinstance(term, Slot))
        try:
            return evaluate(replace(expression, operands=constants), {})
        except UNCOMPUTABLE as error:
            raise ValueError("no value") from error
    if expression.operator in ("+", "-"):
        left, right = terms
        if isinstance(right, int) and _is_moment(left, bindings):
            return shift(left, right if expression.operator == "+" else -right)
        if isinstance(left, int) and expression.operator == "+" and _is_moment(right, bindings):
            return shift(right, left)
    return None


def _is_moment(term: Argument | None, bindings: Bindings) -> TypeGuard[Slot]:
    return isinstance(term, Slot) and (term.variable < 0 or term.variable in bindings.times)


def refresh(expression: Expression, bindings: Bindings) -> Expression:
    """The expression as the substitution has it."""
    term = read(expression, bindings)
    if term is not None:
        return write(term)
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(refresh(item, bindings) for item in expression.operands))
    return expression


Settled = Literal["holds", "fails", "open"]


def settle(comparison: Comparison, bindings: Bindings) -> Settled:
    """Decide a comparison, or solve an equation by unification, as far as that can be done."""
    decided = decide(comparison, bindings)
    if decided != "open" or comparison.operator != "=":
        return decided
    left, right = read(comparison.left, bindings), read(comparison.right, bindings)
    if left is None or right is None or START_SLOT.variable in (_root(left), _root(right)):
        return "open"
    return "holds" if bindings.unify(_assignable(left), _assignable(right)) else "fails"


def decide(comparison: Comparison, bindings: Bindings) -> Settled:
    """Whether a comparison holds whatever its variables are; what has no value does not hold."""
    try:
        left, right = read(comparison.left, bindings), read(comparison.right, bindings)
        if left is None or right is None or _root(left) != _root(right):
            return "open"
        return "holds" if compare(comparison.operator, _number(left), _number(right)) else "fails"
    except (TypeError, ValueError):
        return "fails"


def _number(term: Argument) -> Value:
    """What stands for a term where both sides are constants, or the same variable."""
    return term.offset if isinstance(term, Slot) else term


def _assignable(term: Argument) -> Argument:
    return term if isinstance(term, str | Slot) else canonical(term)


def _root(term: Argument) -> int | None:
    return term.variable if isinstance(term, Slot) else None


def flip(comparison: Comparison) -> Comparison:
    """The same comparison from right to left."""
    return replace(comparison, operator=MIRRORED[comparison.operator], left=comparison.right, right=comparison.left)


def whole_number(variable: int) -> Comparison:
    """`V = V // 1`: the variable is a whole number."""
    value = write(Slot(variable))
    return Comparison("=", value, Arithmetic("//", (value, Constant(1))))


def rename(comparison: Comparison, names: Mapping[str, str]) -> Comparison:
    """The comparison with its variables renamed."""

    def renamed(variable: Variable) -> Variable:
        return Variable(names.get(variable.name, variable.name))

    return replace(comparison, left=substitute(comparison.left, renamed), right=substitute(comparison.right, renamed))
