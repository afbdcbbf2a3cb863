"""Constants, arithmetic and comparisons, as the language defines them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

Binding = Mapping[str, Value]
"""A substitution: the values of variables by name."""

BOUND = 1 << 63
"""Integers stay below this."""


class Undefined(Exception):
    """An expression has no value, so its rule instance does not fire."""


def canonical(value: Value) -> Value:
    """The one Python value of a constant: whole floats are integers; Undefined if infinite or beyond 64 bits."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise Undefined
    if value == int(value) and abs(value) < BOUND:
        return int(value)
    if isinstance(value, int):
        raise Undefined
    return value


_TWO: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "mod": operator.mod,
}
_COMPARE: Mapping[str, Callable[[object, object], bool]] = {"=": operator.eq, "!=": operator.ne}
_ORDER: Mapping[str, Callable[..., bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate_expression(expression: Expression, binding: Binding) -> Value:
    """The expression's value; Undefined if it has none, KeyError if a variable is not bound."""
    if isinstance(expression, Constant):
        return canonical(expression.value)
    if isinstance(expression, Variable):
        return binding[expression.name]
    if not isinstance(expression, Arithmetic):
        raise TypeError(f"not an expression with a value: {expression}")
    numbers = []
    for operand in expression.operands:
        value = evaluate_expression(operand, binding)
        if isinstance(value, str):
            raise Undefined
        numbers.append(value)
    try:
        return canonical(_apply(expression.operator, numbers))
    except (ZeroDivisionError, OverflowError):
        raise Undefined from None


def _apply(name: str, numbers: list[int | float]) -> float:
    if name == "min":
        return min(numbers)
    if name == "max":
        return max(numbers)
    if name == "abs":
        return abs(numbers[0])
    if name == "neg":
        return -numbers[0]
    return _TWO[name](*numbers)


def compare(comparison: Comparison, binding: Binding) -> bool:
    """Whether the comparison holds; Undefined if a side has no value."""
    left = evaluate_expression(comparison.left, binding)
    right = evaluate_expression(comparison.right, binding)
    if comparison.operator in _COMPARE:
        return _COMPARE[comparison.operator](left, right)
    if isinstance(left, str) != isinstance(right, str):
        return False
    return _ORDER[comparison.operator](left, right)
