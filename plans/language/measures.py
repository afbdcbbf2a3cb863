"""Aggregates as a rule writes them, as values in comparisons, and how each becomes a literal of its own.

`count() over fail(S) in [5] by S >= 3` reads as a comparison with a `Measure` in it. Once a rule is read, each measure gets
a variable: `Count = count() over fail(S) in [5] by S, Count >= 3`. So the syntax tree has one form of aggregate alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tidelog.plans.diagnostics.errors import NOWHERE, Span
from tidelog.plans.language.statements import MAX_DEPTH
from tidelog.plans.tree.names import fresh_name, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    AggregateFunction,
    Arithmetic,
    Comparison,
    Expression,
    Formula,
    Period,
    Rule,
    Variable,
    WindowSize,
)
from tidelog.plans.tree.traverse import conjoin, rebuild, spliced, subformulas


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate where it stands as a value; `is_listed`: its last `by` variable may begin the next literal instead."""

    function: AggregateFunction
    argument: Expression | None
    fraction: Fraction | None
    operand: Formula
    window: WindowSize | Period
    by: tuple[Variable, ...]
    is_listed: bool = False
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Chain:
    """Comparisons that only commas behind a `by` seemed to tie together: `A = avg(V) over p(S,V) in [5] by S, A > 3`."""

    parts: tuple[Comparison, ...]
    span: Span = NOWHERE


def split_chain(sides: list[Any], operators: list[Any]) -> Chain | None:
    """The comparisons that sides and operators in turn are, each but the last giving its last `by` variable to the next."""
    parts: list[Comparison] = []
    left = sides[0]
    for number, operator in enumerate(operators):
        right, following = sides[number + 1], None
        if number + 1 < len(operators):
            right, following = _give_up(right)
            if following is None:
                return None
        parts.append(Comparison(operator, left, right, Span(left.span.start, right.span.end)))
        left = following
    return Chain(tuple(parts), Span(parts[0].span.start, parts[-1].span.end))


def _give_up(expression: Any, depth: int = 0) -> tuple[Any, Variable | None]:
    """An expression without the last `by` variable of the measure that it ends with, and that variable."""
    if isinstance(expression, Arithmetic) and depth < MAX_DEPTH:
        last, given = _give_up(expression.operands[-1], depth + 1)
        return replace(expression, operands=(*expression.operands[:-1], last)), given
    if isinstance(expression, Measure) and expression.is_listed:
        *kept, given = expression.by
        span = Span(expression.span.start, kept[-1].span.end)
        return replace(expression, by=tuple(kept), is_listed=len(kept) > 1, span=span), given
    return expression, None


def lift(rule: Rule) -> Rule:
    """The rule with each measure as a literal beside the comparison that it stands in."""
    if not any(map(_has_measure, rule.body)):
        return rule
    names = set(variables(rule.head)).union(*(_all_variables(part) for part in rule.body))
    return replace(rule, body=spliced(_Lifter(names).formula(part) for part in rule.body))


class _Lifter:
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def formula(self, formula: Formula) -> Formula:
        if not isinstance(formula, Comparison):
            return rebuild(formula, self.formula)
        for variable, measure in ((formula.left, formula.right), (formula.right, formula.left)):
            if formula.operator == "=" and isinstance(variable, Variable) and isinstance(measure, Measure):
                return self._literal(measure, variable, formula.span)
        found: list[Formula] = []
        left, right = self._value(formula.left, found), self._value(formula.right, found)
        return conjoin([*found, replace(formula, left=left, right=right)]) if found else formula

    def _value(self, expression: Any, found: list[Formula]) -> Any:
        if isinstance(expression, Arithmetic):
            return replace(expression, operands=tuple(self._value(operand, found) for operand in expression.operands))
        if isinstance(expression, Measure):
            variable = Variable(self._fresh(expression.function.capitalize()), expression.span)
            found.append(self._literal(expression, variable, expression.span))
            return variable
        return expression

    def _literal(self, measure: Measure, result: Variable, span: Span) -> Aggregate:
        return Aggregate(
            result=result,
            function=measure.function,
            argument=measure.argument,
            operand=self.formula(measure.operand),
            window=measure.window,
            by=measure.by,
            fraction=measure.fraction,
            span=span,
        )

    def _fresh(self, base: str) -> str:
        name = fresh_name(base, self._names)
        self._names.add(name)
        return name


def _measures(expression: Any) -> Iterator[Measure]:
    if isinstance(expression, Measure):
        yield expression
    elif isinstance(expression, Arithmetic):
        for operand in expression.operands:
            yield from _measures(operand)


def _measures_in(formula: Formula) -> Iterator[Measure]:
    for part in subformulas(formula):
        if isinstance(part, Comparison):
            yield from _measures(part.left)
            yield from _measures(part.right)


def _has_measure(formula: Formula) -> bool:
    return any(True for _ in _measures_in(formula))


def _all_variables(formula: Formula) -> set[str]:
    """The variables of a formula, those of its measures' formulas too."""
    found = set(variables(formula))
    for measure in _measures_in(formula):
        found |= _all_variables(measure.operand) | {variable.name for variable in measure.by}
    return found
