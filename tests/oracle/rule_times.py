"""How the time variables of a rule tie the time of its head to the times of its body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from oracle.grounding import Row, atoms, constants, parts
from oracle.lars import anchored_variables, head_time, linked_equations, time_variables
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    Negation,
    Rule,
    Time,
    TimePoint,
    Window,
)


@dataclass(frozen=True, slots=True)
class RuleTimes:
    """For a rule evaluated at t, whose head holds at u: at t itself, or at T+k.

    `spread` bounds how far `p(X)@T+j` lies from T+k, or from another time that equations tie to it; `width` bounds how far
    the windows of `p(X)@T+j in [n step d]` reach. `behind` and `ahead`: t lies within [u−behind, u+ahead].
    """

    head: tuple[str, int] | None
    spread: Time
    width: Time
    behind: Time
    ahead: Time

    def moves(self, point: TimePoint) -> bool:
        """Whether it is the head's own T, so that `p(X)@T+j` is known to lie k−j before the head's time."""
        return self.head is not None and self.head[0] == point.variable.name

    def seen(self, point: TimePoint, span: Time | None) -> tuple[Time, Time]:
        """How far behind u and ahead of it `p(X)@T+j` lies, in a time window of this span if there is one."""
        if self.head is not None and self.moves(point):
            distance = Fraction(self.head[1] - point.shift)
            return max(distance, Fraction(0)), max(-distance, Fraction(0))
        if span is None:
            return math.inf, math.inf
        return self.behind + span, self.ahead


def span_of(window: Window) -> Time:
    """How long after a time a time window may still hold it."""
    return window.window.size + (window.window.step or Fraction(0))


def times_of(rule: Rule) -> RuleTimes:
    """The distances that a rule's time variables stand for; all are 0 where it has none."""
    found = [atom for formula in rule.body for atom, _ in atoms(formula)]
    head = head_time(rule)
    shifts = [atom.at.shift for atom in found if atom.at is not None] + [0] + ([head[1]] if head else [])
    added = [added_by(side) for equation in linked_equations(rule) for side in (equation.left, equation.right)]
    spread = Fraction(max(shifts) - min(shifts)) + sum(added, Fraction(0))
    windows = [found for formula in rule.body for found in _windows(formula)]
    width = max((span_of(window) for window, _, _ in windows), default=Fraction(0))
    if head is None:
        return RuleTimes(None, spread, width, Fraction(0), Fraction(0))
    for window, point, negative in windows:
        if point.variable.name == head[0] and not negative:
            distance = Fraction(head[1] - point.shift)
            ahead = max(span_of(window) - distance, Fraction(0))
            return RuleTimes(head, spread, width, max(distance, Fraction(0)), ahead)
    return RuleTimes(head, spread, width, math.inf, math.inf)


def _windows(formula: Formula, negative: bool = False) -> Iterator[tuple[Window, TimePoint, bool]]:
    """The time windows with an `@T`, each with this, and whether it stands inside a negation."""
    if isinstance(formula, Window) and not formula.window.tuples:
        operand = formula.operand
        if isinstance(operand, Atom) and operand.at is not None:
            yield formula, operand.at, negative
    for part in parts(formula):
        yield from _windows(part, negative or isinstance(formula, Negation))


def added_by(expression: Expression) -> Time:
    """How far at most an expression's value lies from those of its variables; infinite where it does more than add."""
    if isinstance(expression, Constant):
        return Fraction(abs(expression.value)) if not isinstance(expression.value, str) else Fraction(0)
    if not isinstance(expression, Arithmetic):
        return Fraction(0)
    if expression.operator not in ("+", "-", "neg"):
        return math.inf
    return sum(map(added_by, expression.operands), Fraction(0))


def takes_times_from_values(rule: Rule) -> bool:
    """Whether the head's time, or that of an atom in the body, is no `@T` of the body but some value."""
    used = set().union(*map(time_variables, (rule.head, *rule.body)))
    return not used <= anchored_variables(rule.body)


def bounds_of_values(rules: list[Rule], rows: list[Row]) -> tuple[Fraction, Fraction] | None:
    """Between which numbers every time lies that the rules compute from values; None where they compute none.

    ValueError where some rule does more than add.
    """
    if not any(map(takes_times_from_values, rules)):
        return None
    formulas = [formula for rule in rules for formula in (rule.head, *rule.body)]
    values = {value for row in rows for value in row}.union(*map(constants, formulas))
    numbers = [Fraction(value) for value in values if isinstance(value, int)]
    added = sum(map(_added_in, formulas), Fraction(0))
    if added == math.inf:
        raise ValueError("the times that the program computes have no bound")
    return min(numbers, default=Fraction(0)) - Fraction(added), max(numbers, default=Fraction(0)) + Fraction(added)


def _added_in(formula: Formula) -> Time:
    expressions: tuple[Expression, ...] = ()
    if isinstance(formula, Comparison):
        expressions = (formula.left, formula.right)
    elif isinstance(formula, Atom):
        expressions = formula.arguments
    return sum(map(added_by, expressions), Fraction(0)) + sum(map(_added_in, parts(formula)), Fraction(0))
