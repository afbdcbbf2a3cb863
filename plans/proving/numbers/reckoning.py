"""Arithmetic in proofs: what is exact is a sum, of all else it is known between which bounds it lies.

Whole numbers are added exactly. Floats are rounded, and rounding keeps order: where `x <= 200` holds, `x - 32` is at most
what the engine computes of 200. So a bound of a result is what it computes of the bounds of what goes in; but for a limit
that is no float, which is rounded outwards first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tidelog.plans.language.printing import format_term
from tidelog.plans.proving.numbers.linear import Constraint, Sum, number, variable
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Arithmetic, Constant, Expression, Variable

_Limits = tuple[float, float]
_NONE: _Limits = (-math.inf, math.inf)


@dataclass
class Reckoner:
    """The results that a case has: each has a name, `=` and the expression, under which it is a variable."""

    results: dict[str, Arithmetic] = field(default_factory=dict)

    def copy(self) -> Reckoner:
        """One that can be added to."""
        return Reckoner(dict(self.results))

    def sum(self, term: Arithmetic, of: Callable[[Expression], Sum | None], whole: frozenset[str]) -> Sum | None:
        """What an expression comes to; None where a text is in it. From here on it is known to have a value."""
        self.results.setdefault(f"={format_term(term)}", term)
        if all(name in whole for name in expression_variables(term)):
            exact = _exact(term, of)
            if exact is not None:
                return exact
        return variable(f"={format_term(term)}")

    def has_value(self, term: Expression) -> bool:
        """Whether an expression is known to have a value."""
        return not isinstance(term, Arithmetic) or f"={format_term(term)}" in self.results

    def linked(self, names: Container[str]) -> set[str]:
        """The results that go with some variables, and the variables that go with some results."""
        found: set[str] = set()
        for result, term in self.results.items():
            parts = set(expression_variables(term))
            if result in names or any(name in names for name in parts):
                found |= {result, *parts}
        return found

    def bounds(self, constraints: Iterable[Constraint]) -> Iterator[Constraint]:
        """Between which numbers results lie, by the limits that constraints give to variables."""
        if not self.results:
            return
        limits = _limits(constraints)
        for name, term in self.results.items():
            low, high = _within(term, limits)
            result = variable(name)
            if low != -math.inf:
                yield Constraint(result.scaled(-1).plus(number(Fraction(low))), "<=")
            if high != math.inf:
                yield Constraint(result.plus(number(-Fraction(high))), "<=")


def limits_of(term: Expression, constraints: Iterable[Constraint]) -> tuple[float, float]:
    """Between which numbers a term lies, by the limits that constraints give to single variables, rounded outwards."""
    return _within(term, _limits(constraints))


def _exact(term: Expression, of: Callable[[Expression], Sum | None]) -> Sum | None:
    """A sum of whole numbers; None for what is none."""
    match term:
        case Arithmetic(operator="+" | "-" as operator, operands=(left, right)):
            first, second = _exact(left, of), _exact(right, of)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if operator == "+" else -1)
        case Arithmetic(operator="neg", operands=(only,)):
            found = _exact(only, of)
            return None if found is None else found.scaled(-1)
        case Arithmetic():
            return None
        case Constant(value=value) if not isinstance(value, int):
            return None
    return of(term)


def _limits(constraints: Iterable[Constraint]) -> Mapping[str, _Limits]:
    """The limits of single variables."""
    found: dict[str, _Limits] = {}
    for each in constraints:
        if len(each.left.parts) != 1:
            continue
        name, factor = each.left.parts[0]
        value = Fraction(-each.left.constant) / factor
        low, high = found.get(name, _NONE)
        if each.sign == "=" or factor > 0:
            high = min(high, _rounded(value, math.inf))
        if each.sign == "=" or factor < 0:
            low = max(low, _rounded(value, -math.inf))
        found[name] = low, high
    return found


def _rounded(value: Fraction, towards: float) -> float:
    if value.denominator == 1 and abs(value) < 2**53:
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:
        return towards if (value > 0) == (towards > 0) else -towards
    if Fraction(nearest) == value:
        return nearest
    return math.nextafter(nearest, towards)


def _within(term: Expression, limits: Mapping[str, _Limits]) -> _Limits:
    """Between which numbers an expression lies, computed as the engine computes it."""
    match term:
        case Constant(value=int() | float() as value):
            return value, value
        case Variable(name=name):
            return limits.get(name, _NONE)
        case Arithmetic(operator=operator, operands=operands):
            parts = [_within(operand, limits) for operand in operands]
            found = limits.get(f"={format_term(term)}", _NONE)
            computed = _computed(operator, parts)
            return max(found[0], computed[0]), min(found[1], computed[1])
    return _NONE


def _computed(operator: str, parts: list[_Limits]) -> _Limits:  # noqa: PLR0911 - one for each operator
    (a, b), *rest = parts
    match operator:
        case "neg":
            return -b, -a
        case "abs":
            return (0 if a <= 0 <= b else min(abs(a), abs(b))), max(abs(a), abs(b))
        case "min":
            return min(low for low, _ in parts), min(high for _, high in parts)
        case "max":
            return max(low for low, _ in parts), max(high for _, high in parts)
        case "+":
            return a + rest[0][0], b + rest[0][1]
        case "-":
            return a - rest[0][1], b - rest[0][0]
        case "*":
            return _corners([(a, b), rest[0]], lambda x, y: 0 if 0 in (x, y) else x * y)
        case "/" if not rest[0][0] <= 0 <= rest[0][1]:
            if math.inf in map(abs, (a, b, *rest[0])):
                return _quotients(a, b, rest[0])
            return _corners([(a, b), rest[0]], lambda x, y: x / y)
    return _NONE


def _quotients(a: float, b: float, by: _Limits) -> _Limits:
    """By one number alone, where a limit is missing."""
    if by[0] != by[1] or abs(by[0]) == math.inf:
        return _NONE
    return (a / by[0], b / by[0]) if by[0] > 0 else (b / by[0], a / by[0])


def _corners(parts: list[_Limits], compute: Callable[[float, float], float]) -> _Limits:
    found = [compute(x, y) for x in parts[0] for y in parts[1]]
    return min(found), max(found)
