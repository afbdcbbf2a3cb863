"""Our syntax tree in the form in which the proved checker shows what it reads."""

from __future__ import annotations

import math
from typing import Any

from tidelog.plans.tree import syntax
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.traverse import subformulas


def shown(program: syntax.Program) -> list[Any]:
    """The statements that have a meaning to what holds."""
    return [found for item in program.statements for found in _statement(item)]


def _statement(item: syntax.Statement) -> list[Any]:
    match item:
        case syntax.Rule():
            if any(_is_per_period(part) for formula in item.body for part in subformulas(formula)):
                return [["beyond", head_predicate(item.head) or "", "an aggregate over periods"]]
            return [["rule", _formula(item.head), [*map(_formula, item.body)], item.assigns]]
        case syntax.FactStatement():
            return [["fact", _formula(item.atom), None if item.interval is None else _interval(item.interval)]]
        case syntax.TimelineDeclaration():
            return [["timeline", item.kind, None if item.unit is None else str(item.unit)]]
        case syntax.Parameter():
            return [["parameter", item.name, item.value]]
        case syntax.CalendarDeclaration():
            return [["calendar", item.predicate]]
    return []


def _is_per_period(part: syntax.Formula) -> bool:
    return isinstance(part, syntax.Aggregate) and isinstance(part.window, syntax.Period)


def _time(time: syntax.Time) -> str:
    return ("-inf" if time < 0 else "inf") if math.isinf(time) else str(time)


def _interval(interval: syntax.Interval) -> str:
    left, right = "(" if interval.left_open else "[", ")" if interval.right_open else "]"
    return f"{left}{_time(interval.low)}{interval.low_unit},{_time(interval.high)}{interval.high_unit}{right}"


def _term(term: syntax.Expression) -> list[Any]:
    match term:
        case syntax.Variable():
            return ["var", term.name]
        case syntax.Wildcard():
            return ["any"]
        case syntax.Constant():
            return ["const", term.value]
    return [term.operator, *map(_term, term.operands)]


def _window(window: syntax.WindowSize) -> list[Any]:
    step = None if window.step is None else _time(window.step) + window.step_unit
    return [_time(window.size) + window.size_unit, window.tuples, list(window.of), step]


def _formula(formula: syntax.Formula) -> list[Any]:
    match formula:
        case syntax.Atom():
            at = None if formula.at is None else [formula.at.variable.name, formula.at.shift]
            return ["atom", formula.predicate, [*map(_term, formula.arguments)], at]
        case syntax.Truth():
            return ["truth", formula.value]
        case syntax.Comparison():
            return [formula.operator, _term(formula.left), _term(formula.right)]
        case syntax.Conjunction():
            return ["and", *map(_formula, formula.parts)]
        case syntax.Negation():
            return ["not", _formula(formula.operand)]
        case syntax.Unary():
            return [formula.operator, _interval(formula.interval), _formula(formula.operand)]
        case syntax.Binary():
            sides = _formula(formula.left), _formula(formula.right)
            return [formula.operator, _interval(formula.interval), *sides]
        case syntax.Window():
            return [formula.mode, _formula(formula.operand), _window(formula.window)]
        case syntax.Aggregate() | syntax.Latest():
            return _counted(formula)
    raise TypeError(f"no formula of a text: {formula!r}")


def _counted(formula: syntax.Aggregate | syntax.Latest) -> list[Any]:
    assert isinstance(formula.window, syntax.WindowSize)
    window, by = _window(formula.window), [each.name for each in formula.by]
    if isinstance(formula, syntax.Latest):
        return ["latest", _formula(formula.atom), by, window]
    fraction = None if formula.fraction is None else canonical(float(formula.fraction))
    argument = None if formula.argument is None else _term(formula.argument)
    operand = _formula(formula.operand)
    return ["aggregate", formula.result.name, formula.function, fraction, argument, operand, window, by]
