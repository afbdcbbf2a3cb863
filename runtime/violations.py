"""Constraints: rules whose head is `bottom`. Where one holds, the data contradict the program, and it says with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.operator import shift
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
    """Tells of each violation once: when it begins, not at every time at which it goes on.

    Where a constraint announces what goes on violating it (`operators/open_rows.py`), nothing is done in between.
    """

    def __init__(self, plan: Plan | BatchPlan) -> None:
        self._timeline = plan.timeline
        self._rules: Mapping[str, Rule] = plan.constraints
        announced = plan.announcing if isinstance(plan, Plan) else {}
        self._violated = {name: _Violated(announced[name].beyond if name in announced else 0) for name in plan.constraints}
        self.count = 0

    def receive(self, constraint: str, facts: Sequence[Fact], frontier: int) -> list[Violation]:
        """Take new coverage of a constraint; returns the violations that begin with it."""
        begun = self._violated[constraint].take(facts, frontier)
        self.count += len(begun)
        return [self._describe(constraint, *fact) for fact in begun]

    def snapshot(self) -> dict[str, Any]:
        """What is violated at this moment, and how many violations there were, as plain data."""
        return {"known": {name: violated.snapshot() for name, violated in self._violated.items()}, "count": self.count}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        for name, stored in data["known"].items():
            self._violated[name].restore(stored)
        self.count = data["count"]

    def _describe(self, constraint: str, row: Row, lo: int, hi: int) -> Violation:
        rule = self._rules[constraint]
        binding = dict(zip(bound(*rule.body), row, strict=True))
        facts = tuple(format_formula(_bind(part, binding)) for part in rule.body)
        return Violation(format_statement(rule), facts, self._timeline.format_range(lo, hi), lo, hi)


class _Violated:
    """When the rows of one constraint violate it: near the frontier as coverage, and since when those that go on."""

    __slots__ = ("_beyond", "_known", "_open")

    def __init__(self, beyond: int) -> None:
        self._beyond = beyond
        self._known = Coverage()
        self._open: dict[Row, int] = {}

    def take(self, facts: Sequence[Fact], frontier: int) -> list[Fact]:
        """Take new coverage, and the frontier behind it; returns what begins, as far as it is known."""
        known, reach = self._known, shift(frontier, self._beyond)
        begun: list[Fact] = []
        for row, lo, hi in facts:
            if hi == SHUT:
                known.insert([(row, lo, lo)])  # what was told to begin there comes as facts now
                del self._open[row]
        for row, lo, hi in sorted(facts, key=itemgetter(1)):  # one that leads up to another comes first
            if hi == SHUT:
                continue
            fact = (row, lo, max(lo, reach) if hi == OPEN else hi)
            if not self._goes_on(*fact):
                begun.append(fact)
            if hi == OPEN:
                self._open[row] = lo
            else:
                known.insert([fact])
        known.forget(frontier - 1)
        return begun

    def _goes_on(self, row: Row, lo: int, hi: int) -> bool:
        """Whether some of it was told, or touches what was."""
        if row in self._open and self._open[row] - 1 <= hi:
            return True
        return next(overlapping(self._known.rows.get(row, []), lo - 1, hi + 1), None) is not None

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        return {"known": self._known.snapshot(), "open": [[list(row), since] for row, since in self._open.items()]}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._known.restore(data["known"])
        self._open = {tuple(row): since for row, since in data["open"]}


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
