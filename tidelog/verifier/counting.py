"""Aggregates and held values, by their definitions: over all pairs of a row and a time point in a window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tidelog.plans.tree.syntax import (
    Aggregate,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Threshold,
    Value,
    Variable,
)
from tidelog.plans.tree.traverse import children, rebuild
from tidelog.verifier.terms import Undefined, compares, plain
from tidelog.verifier.times import Refused, Times

MOST_TICKS = 100_000
"""At so many time points a value is worked out that changes at each of them, at the most."""
NUMERIC = frozenset(["sum", "avg", "stddev", "quantile"])
_MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}

Stretch = tuple[float | int, float | int]
"""The whole numbers from the first one on, up to the last one, which is none of them."""
Pairs = Sequence[tuple[Value | None, Sequence[Stretch]]]
"""For each row what the function takes of it, and when the row holds."""


def stretches(times: Times) -> list[Stretch]:
    return [(_whole(low), _whole(high)) for (low, _), (high, _) in times]


def _whole(time: Fraction | float) -> float | int:
    return time if isinstance(time, float) else int(time)


# --- thresholds ---------------------------------------------------------------------------------------------------------


def with_thresholds(body: Sequence[Formula], outside: Iterable[Formula]) -> tuple[Formula, ...]:
    """The body with each comparison that more pairs can only make true as part of its aggregate, whose value is then for
    nothing else."""
    uses = Counter(name for formula in (*outside, *body) for name in mentions(formula))
    return _marked(body, uses)


def mentions(formula: Formula) -> Iterator[str]:
    """The variables of a formula as often as they stand there."""
    terms: list[Expression] = []
    if isinstance(formula, Comparison):
        terms = [formula.left, formula.right]
    elif isinstance(formula, Aggregate):
        terms = [*formula.by, formula.result, *([] if formula.argument is None else [formula.argument])]
    else:
        terms = list(getattr(formula, "arguments", ()))
        at = getattr(formula, "at", None)
        terms += [] if at is None else [at.variable]
    for term in terms:
        yield from _mentioned(term)
    for part in children(formula):
        yield from mentions(part)


def _mentioned(term: Expression) -> Iterator[str]:
    if isinstance(term, Variable):
        yield term.name
    for operand in getattr(term, "operands", ()):
        yield from _mentioned(operand)


def _marked(parts: Sequence[Formula], uses: Counter[str]) -> tuple[Formula, ...]:
    parts = [_marked_inside(part, uses) for part in parts]
    for part in list(parts):
        for other in list(parts):
            limit = _limit(part, other) if isinstance(part, Aggregate) and isinstance(other, Comparison) else None
            if limit is not None and isinstance(part, Aggregate) and part in parts and uses[part.result.name] == 2:
                parts[parts.index(part)] = replace(part, threshold=limit, result=Variable("\0"))
                parts.remove(other)
    return tuple(parts)


def _marked_inside(formula: Formula, uses: Counter[str]) -> Formula:
    if isinstance(formula, Conjunction):
        parts = _marked(formula.parts, uses)
        return parts[0] if len(parts) == 1 else replace(formula, parts=parts)
    return rebuild(formula, lambda part: _marked_inside(part, uses))


def _limit(aggregate: Aggregate, comparison: Comparison) -> Threshold | None:
    for name, operator, limit in _asked(comparison):
        upwards = operator in (">=", ">")
        is_rising = aggregate.function in ("count", "distinct", "max") or (
            aggregate.function == "sum" and _is_positive(aggregate)
        )
        if name == aggregate.result.name and (
            (upwards and is_rising) or (operator in ("<=", "<") and aggregate.function == "min")
        ):
            return Threshold(operator, limit)
    return None


def _asked(comparison: Comparison) -> Iterator[tuple[str, ComparisonOperator, int | float]]:
    """What a comparison asks of one variable alone, which it compares with a number."""
    left, right = comparison.left, comparison.right
    for one, other, operator in ((left, right, comparison.operator), (right, left, _MIRRORED[comparison.operator])):
        if isinstance(one, Variable) and isinstance(other, Constant) and not isinstance(other.value, str):
            yield one.name, operator, other.value


def _is_positive(aggregate: Aggregate) -> bool:
    """Whether the formula says that what is summed is not below 0."""
    term = aggregate.argument
    if isinstance(term, Constant):
        return not isinstance(term.value, str) and term.value >= 0
    said = [item for part in flat([aggregate.operand]) if isinstance(part, Comparison) for item in _asked(part)]
    return isinstance(term, Variable) and any(
        name == term.name and operator in (">=", ">", "=") and limit >= 0 for name, operator, limit in said
    )


def flat(parts: Iterable[Formula]) -> Iterator[Formula]:
    for part in parts:
        if isinstance(part, Conjunction):
            yield from flat(part.parts)
        else:
            yield part


# --- values -------------------------------------------------------------------------------------------------------------


def values(aggregate: Aggregate, pairs: Pairs, size: int, step: int) -> Iterator[tuple[Stretch, Value | None]]:
    """The values of all windows, one after the other."""
    first, last = -math.inf, math.inf
    turns = {turn for _, held in pairs for low, high in held for end in (low, high) for turn in _turns(end, size)}
    inside = sorted({first, *turns})
    ticks = 0
    for low, high in zip(inside, [*inside[1:], last], strict=True):
        at = _some(low, high)
        if all(_weight(held, at, size) == _weight(held, at + 1, size) for _, held in pairs) or high - low == 1:
            yield (low, high), result(aggregate, pairs, at, size)
            continue
        for end in range(int(low) + -int(low) % step, int(high), step):
            ticks += 1
            if ticks > MOST_TICKS:
                raise Refused("an aggregate has too many values one after another to be checked")
            yield (end, end + 1), result(aggregate, pairs, end, size)


def _turns(end: float | int, size: int) -> tuple[float | int, ...]:
    """The ends of windows at which something changes where a row begins or ends to hold."""
    return () if math.isinf(end) else (end - 1, end, end + size, end + size + 1)


def _some(low: float | int, high: float | int) -> int:
    return int(low) if low > -math.inf else int(high) - 2 if high < math.inf else 0


def _weight(held: Sequence[Stretch], end: int, size: int) -> int:
    """How many time points of a row lie in the window that ends at a time."""
    return sum(int(max(0, min(high, end + 1) - max(low, end - size))) for low, high in held)


def result(aggregate: Aggregate, pairs: Pairs, end: int, size: int) -> Value | None:
    """The function over the pairs of one window; None if it has no value."""
    weighed = [(value, weight, held) for value, held in pairs if (weight := _weight(held, end, size))]
    if not weighed:
        return None
    first, last = end - size, end + 1
    match aggregate.function:
        case "count":
            return sum(weight for _, weight, _ in weighed)
        case "distinct":
            return len({value for value, _, _ in weighed})
        case "min":
            return _least(value for value, _, _ in weighed)
        case "max":
            return _greatest(value for value, _, _ in weighed)
        case "first":
            begins = [(max(low, first), value) for low, _, value in _inside(weighed, first, last)]
            at = min(begin for begin, _ in begins)
            return _least(value for begin, value in begins if begin == at)
        case "last":
            ends = [(min(high, last), value) for _, high, value in _inside(weighed, first, last)]
            at = max(time for time, _ in ends)
            return _greatest(value for time, value in ends if time == at)
    numbers = [(Fraction(value), weight) for value, weight, _ in weighed if isinstance(value, int | float)]
    return _rounded(_computed(aggregate, numbers))


def _inside(weighed: Iterable[Any], first: int, last: int) -> Iterator[tuple[float | int, float | int, Value | None]]:
    """The stretches that meet a window, with their values."""
    for value, _, held in weighed:
        yield from ((low, high, value) for low, high in held if low < last and high > first)


def _order(value: Value | None) -> tuple[bool, Any]:
    """Texts stand behind numbers, so that like meets like."""
    return isinstance(value, str), value


def _least(found: Iterable[Value | None]) -> Value | None:
    return min(found, key=_order)


def _greatest(found: Iterable[Value | None]) -> Value | None:
    return max(found, key=_order)


def _computed(aggregate: Aggregate, numbers: list[tuple[Fraction, int]]) -> Fraction | None:
    size = sum(weight for _, weight in numbers)
    total = sum((number * weight for number, weight in numbers), Fraction(0))
    if aggregate.function == "sum":
        return total
    if aggregate.function == "avg":
        return total / size
    if aggregate.function == "stddev":
        squares = sum((weight * (number - total / size) ** 2 for number, weight in numbers), Fraction(0))
        return None if size < 2 else _root(squares / (size - 1))
    place = Fraction(aggregate.fraction or 0) * (size - 1)
    below, above = _at(numbers, int(place)), _at(numbers, math.ceil(place))
    return below + (place - int(place)) * (above - below)


def _at(numbers: list[tuple[Fraction, int]], place: int) -> Fraction:
    """The number at a place of all of them in order."""
    for number, weight in sorted(numbers):
        if place < weight:
            return number
        place -= weight
    raise IndexError(place)


def _root(number: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return Fraction(float((Decimal(number.numerator) / Decimal(number.denominator)).sqrt()))


def _rounded(number: Fraction | None) -> Value | None:
    """The number itself where it is whole, else the nearest float; None beyond all floats."""
    if number is None:
        return None
    try:
        return plain(int(number) if number.denominator == 1 and abs(number) < 1 << 63 else float(number))
    except (OverflowError, Undefined):
        return None


def is_beyond(value: Value | None, limit: Threshold) -> bool:
    """Whether a value is what a threshold asks for."""
    return value is not None and compares(Comparison(limit.operator, Constant(value), Constant(limit.limit)), {})
