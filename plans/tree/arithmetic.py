"""What the signs of arithmetic compute, and of comparison say (docs/reference/language.md, comparison and arithmetic)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from tidelog.plans.tree.syntax import Arithmetic, ComparisonOperator, Constant, Expression

COMPUTE: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "mod": operator.mod,
    "min": min,
    "max": max,
    "abs": abs,
    "neg": operator.neg,
}
"""A function of numbers for each sign: of one for `abs` and `neg`, of two for the others, of more for `min` and `max`."""
COMPARE: Mapping[ComparisonOperator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Whether two values compare so; TypeError for a number and a text, but for `=` and `!=`."""
MIRRORED: Mapping[ComparisonOperator, ComparisonOperator] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""The same comparison with its sides exchanged."""


def plus(expression: Expression, offset: float) -> Expression:
    """`T + 3`, `T - 3`, or `T` itself."""
    if not offset:
        return expression
    return Arithmetic("+" if offset > 0 else "-", (expression, Constant(abs(offset))))
