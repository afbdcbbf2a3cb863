"""Thresholds: comparisons of an aggregate that more facts can only make true, so that they need not wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.tree.arithmetic import MIRRORED
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Period,
    Rule,
    Threshold,
    Variable,
)
from tidelog.plans.tree.traverse import rebuild, spliced, subformulas

_UPWARDS = frozenset(["count", "distinct", "sum", "max"])


def mark_thresholds(rule: Rule) -> Rule:
    """The rule with each monotone threshold as part of its aggregate, whose result is used for nothing else.

    These are `>=` and `>` a number for `count()`, `distinct(V)`, `max(V)`, and `sum(V)` where the formula says that V is not
    below 0; and `<=` and `<` for `min(V)`.
    """
    if not any(isinstance(part, Aggregate) for formula in rule.body for part in subformulas(formula)):
        return rule
    uses = Counter(name for formula in (rule.head, *rule.body) for name in mentions(formula))
    return replace(rule, body=_marked(rule.body, uses))


def mentions(formula: Formula) -> Iterator[str]:
    """Each variable of a formula, as often as it stands there, those that are local to aggregates too."""
    for part in subformulas(formula):
        match part:
            case Atom():
                yield from expression_variables(*part.arguments)
                if part.at is not None:
                    yield part.at.variable.name
            case Comparison():
                yield from expression_variables(part.left, part.right)
            case Aggregate():
                yield from (variable.name for variable in (*part.by, part.result))
                yield from () if part.argument is None else expression_variables(part.argument)


def _marked(parts: Iterable[Formula], uses: Counter[str]) -> tuple[Formula, ...]:
    """The parts of one conjunction, without the comparisons that have become parts of aggregates."""
    parts = tuple(_inside(part, uses) for part in parts)
    taken: set[int] = set()
    marked: list[Formula] = []
    for part in parts:
        found = next(((i, limit) for i, other in enumerate(parts) if (limit := _limit(part, other, uses))), None)
        if found is not None and isinstance(part, Aggregate):
            taken.add(found[0])
            part = replace(part, threshold=found[1])
        marked.append(part)
    return tuple(part for i, part in enumerate(marked) if i not in taken)


def _inside(formula: Formula, uses: Counter[str]) -> Formula:
    if isinstance(formula, Conjunction):
        parts = _marked(formula.parts, uses)
        return parts[0] if len(parts) == 1 else replace(formula, parts=parts)
    return rebuild(formula, lambda part: _inside(part, uses))


def _limit(part: Formula, other: Formula, uses: Counter[str]) -> Threshold | None:
    """The bound that a comparison sets for an aggregate, if the comparison is a monotone threshold."""
    if not isinstance(part, Aggregate) or not isinstance(other, Comparison) or uses[part.result.name] != 2:
        return None
    if isinstance(part.window, Period):  # it holds from the period's begin on, whenever the bound is reached
        return None
    for side, limit, operator in (
        (other.left, other.right, other.operator),
        (other.right, other.left, MIRRORED[other.operator]),
    ):
        value = _number(limit)
        if value is not None and isinstance(side, Variable) and side.name == part.result.name:
            return Threshold(operator, value) if _is_monotone(part, operator) else None
    return None


def _number(limit: Expression) -> int | float | None:
    return limit.value if isinstance(limit, Constant) and not isinstance(limit.value, str) else None


def _is_monotone(part: Aggregate, operator: ComparisonOperator) -> bool:
    if part.function == "min":
        return operator in ("<=", "<")
    if part.function not in _UPWARDS or operator not in (">=", ">"):
        return False
    return part.function != "sum" or _is_not_negative(part, spliced((part.operand,)))


def _is_not_negative(part: Aggregate, inside: Sequence[Formula]) -> bool:
    """Whether a conjunction says that what is summed is not below 0."""
    if not isinstance(part.argument, Variable):
        return isinstance(part.argument, Constant) and not isinstance(part.argument.value, str) and part.argument.value >= 0
    for comparison in (item for item in inside if isinstance(item, Comparison)):
        for side, limit, operator in (
            (comparison.left, comparison.right, comparison.operator),
            (comparison.right, comparison.left, MIRRORED[comparison.operator]),
        ):
            least = _number(limit)
            is_it = isinstance(side, Variable) and side.name == part.argument.name
            if is_it and least is not None and least >= 0 and operator in (">=", ">", "="):
                return True
    return False


def least_count(threshold: Threshold) -> int:
    """How many there must be at least: without any, there is no value to compare."""
    limit = Fraction(threshold.limit)
    least = math.floor(limit) + 1 if threshold.operator == ">" else math.ceil(limit)
    return max(1, least)
