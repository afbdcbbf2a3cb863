"""Constraints: rules whose head is `bottom`. Where one holds, the data contradict the program, and it says with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.operators.operator import shift
from tidelog.operators.stores.coverage import Bounds, Coverage, merge, overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.syntax import Constant, Expression, Formula, Rule, Value, Variable
from tidelog.plans.tree.traverse import substitute, with_terms

if TYPE_CHECKING:
    from tidelog.plans.compiling.batch import BatchPlan

Range = tuple[int, int]


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

    What goes on violating a constraint comes as notices (`operators/stores/notices.py`): nothing is done in between.
    """

    def __init__(self, plan: Plan | BatchPlan) -> None:
        self._timeline = plan.timeline
        self._rules: Mapping[str, Rule] = plan.constraints
        announced = plan.announcing if isinstance(plan, Plan) else {}
        self._violated = {name: _Violated(announced[name].beyond if name in announced else 0) for name in plan.constraints}
        self.count = 0

    def receive(
        self, constraint: str, facts: Sequence[Fact], frontier: int, notices: Notices | None = None
    ) -> list[Violation]:
        """Take new coverage of a constraint; returns the violations that begin with it."""
        begun = self._violated[constraint].take(facts, frontier, notices or Notices())
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
    """When the rows of one constraint violate it: near the frontier as coverage, and since when those that go on.

    What comes behind the reach of a row that goes on is part of that, unless that turns out to end before: it waits so long.
    """

    __slots__ = ("_beyond", "_known", "_standing", "_waiting")

    def __init__(self, beyond: int) -> None:
        self._beyond = beyond
        self._known = Coverage()
        self._standing: dict[Row, int] = {}
        self._waiting: dict[Row, Bounds] = {}

    def take(self, facts: Sequence[Fact], frontier: int, notices: Notices) -> list[Fact]:
        """Take new coverage, and the frontier behind it; returns what begins, as far as it is known."""
        reach = shift(frontier, self._beyond)
        new: dict[Row, list[Range]] = {}
        for row, lo, hi in notices.ended:
            self._known.insert([(row, lo, max(lo, hi))])  # it was told to begin there
            new.setdefault(row, []).extend(_ranges(self._waiting.pop(row, [])))
            del self._standing[row]
        for row, lo in notices.begun.items():
            new.setdefault(row, [])
            self._standing[row] = lo
        for row, lo, hi in facts:
            new.setdefault(row, []).append((lo, hi))
        begun = [(row, *found) for row, ranges in new.items() for found in self._judge(row, ranges, reach)]
        self._known.forget(frontier - 1)
        return begun

    def _judge(self, row: Row, ranges: list[Range], reach: int) -> Iterator[Range]:
        """Which ranges of a row begin a violation: nothing that was told, or that comes before, leads up to them."""
        since, reach_of_row = self._standing.get(row), POS
        if since is not None:
            reach_of_row = max(since, reach)
            ranges += [(since, reach_of_row), *self._come_near(row, reach_of_row)]
        known = self._known.rows
        for lo, hi in sorted(ranges):
            if lo - 1 > reach_of_row:
                merge(self._waiting.setdefault(row, []), lo, hi, 1, row, [])
                continue
            if next(overlapping(known.get(row, []), lo - 1, hi + 1), None) is None:
                yield lo, hi
            self._known.insert([(row, lo, hi)])

    def _come_near(self, row: Row, reach: int) -> list[Range]:
        """What has waited, and is one with what is known by now."""
        waiting = self._waiting.get(row, [])
        count = 0
        while count < len(waiting) and waiting[count] - 1 <= reach:
            count += 2
        found = _ranges(waiting[:count])
        del waiting[:count]
        if row in self._waiting and not waiting:
            del self._waiting[row]
        return found

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        opened = [[list(row), since] for row, since in self._standing.items()]
        waiting = [[list(row), list(bounds)] for row, bounds in self._waiting.items()]
        return {"known": self._known.snapshot(), "open": opened, "waiting": waiting}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._known.restore(data["known"])
        self._standing = {tuple(row): since for row, since in data["open"]}
        self._waiting = {tuple(row): list(bounds) for row, bounds in data["waiting"]}


def _ranges(bounds: Bounds) -> list[Range]:
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _bind(formula: Formula, binding: Mapping[str, Value]) -> Formula:
    """The formula with its variables replaced by the constants they stand for."""

    def value(variable: Variable) -> Expression:
        return Constant(binding[variable.name]) if variable.name in binding else variable

    return with_terms(formula, lambda term: substitute(term, value))
