"""Constraints: rules whose head is `bottom`. Where one holds, the data contradict the program, and it says with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.plans.batch import BatchPlan
from tidelog.plans.facts import Fact, Row
from tidelog.plans.normal.scopes import bound
from tidelog.plans.normal.traverse import rebuild
from tidelog.plans.plan import Plan
from tidelog.plans.printing import format_formula, format_statement
from tidelog.plans.syntax import Arithmetic, Atom, Comparison, Constant, Expression, Formula, Rule, Value, Variable


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint holds from some time on: its rule, its body with the constants that violate it, and when.

    `during` is the range `lo … hi` (encoded) as text.
    """

    rule: str
    facts: tuple[str, ...]
    during: str
    lo: int
    hi: int

    def __str__(self) -> str:
        return self.told(self.during)

    def told(self, during: str) -> str:
        """The violation as text, its range written in another way."""
        return f"constraint violated at {during}: {', '.join(self.facts)} (rule: {self.rule})"


class Violations:
    """Tells of each violation once: when it begins, not at every time at which it goes on."""

    def __init__(self, plan: Plan | BatchPlan) -> None:
        self._timeline = plan.timeline
        self._rules: Mapping[str, Rule] = plan.constraints
        self._known = {name: Coverage() for name in plan.constraints}
        self.count = 0

    def receive(self, constraint: str, facts: Sequence[Fact], frontier: int) -> list[Violation]:
        """Take new coverage of a constraint; returns the violations that begin with it."""
        known = self._known[constraint]
        found: list[Violation] = []
        for row, lo, hi in facts:
            if next(overlapping(known.rows.get(row, []), lo - 1, hi + 1), None) is None:
                found.append(self._describe(constraint, row, lo, hi))
            known.insert([(row, lo, hi)])
        known.forget(frontier - 1)
        self.count += len(found)
        return found

    def snapshot(self) -> dict[str, Any]:
        """What is violated at this moment, and how many violations there were, as plain data."""
        return {"known": {name: store.snapshot() for name, store in self._known.items()}, "count": self.count}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        for name, stored in data["known"].items():
            self._known[name].restore(stored)
        self.count = data["count"]

    def _describe(self, constraint: str, row: Row, lo: int, hi: int) -> Violation:
        rule = self._rules[constraint]
        binding = dict(zip(bound(*rule.body), row, strict=True))
        facts = tuple(format_formula(_bind(part, binding)) for part in rule.body)
        return Violation(format_statement(rule), facts, self._timeline.format_range(lo, hi), lo, hi)


def _bind(formula: Formula, binding: Mapping[str, Value]) -> Formula:
    """The formula with its variables replaced by the constants they stand for."""
    if isinstance(formula, Atom):
        return replace(formula, arguments=tuple(_value(term, binding) for term in formula.arguments))
    if isinstance(formula, Comparison):
        return replace(formula, left=_value(formula.left, binding), right=_value(formula.right, binding))
    return rebuild(formula, lambda part: _bind(part, binding))


def _value(expression: Expression, binding: Mapping[str, Value]) -> Expression:
    if isinstance(expression, Variable) and expression.name in binding:
        return Constant(binding[expression.name])
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(_value(operand, binding) for operand in expression.operands))
    return expression
