"""The values of expressions, and what comparisons say of them (docs/reference/language.md, comparison and arithmetic)."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.arithmetic import COMPARE, COMPUTE
from tidelog.plans.tree.syntax import Arithmetic, Comparison, ComparisonOperator, Constant, Expression, Value, Variable

UNCOMPUTABLE = (ArithmeticError, DataError, TypeError)
"""What arithmetic without a result, or a comparison of a number with a text, raises."""


def evaluate(expression: Expression, values: Mapping[str, Value]) -> Value:
    """The value of an expression whose variables have values; one of `UNCOMPUTABLE` where it has none.

    >>> evaluate(Arithmetic("mod", (Variable("V"), Constant(5))), {"V": 7})
    2
    """
    match expression:
        case Constant(value):
            return value
        case Variable(name):
            return values[name]
        case Arithmetic(sign, operands):
            numbers = [evaluate(operand, values) for operand in operands]
            if any(isinstance(number, str) for number in numbers):
                raise TypeError("arithmetic needs numbers")
            found: Value = COMPUTE[sign](*numbers)
            return found
    raise TypeError("`_` has no value")


def holds(comparison: Comparison, values: Mapping[str, Value]) -> bool:
    """Whether a comparison holds whose variables have values: without a value on both sides, it does not."""
    try:
        return compare(comparison.operator, evaluate(comparison.left, values), evaluate(comparison.right, values))
    except UNCOMPUTABLE:
        return False


def compare(sign: ComparisonOperator, left: Value, right: Value) -> bool:
    """Whether two values compare so; TypeError for a number and a text, but for `=` and `!=`."""
    return COMPARE[sign](left, right)
