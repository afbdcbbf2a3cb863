"""Which rows of a predicate the rules of a program need, by the constants and comparisons in their bodies alone.

A row that no atom of the rules matches, or that a comparison beside each such atom rules out, changes nothing, wherever the
atom stands: in a rule's instance every variable has one value, and it has to pass the rule's comparisons. Two things look at
rows that their atoms do not match: windows over the last facts count them, and `latest` is ended by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.data.facts import Row
from tidelog.plans.tree.arithmetic import COMPARE, MIRRORED
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    ComparisonOperator,
    Constant,
    Latest,
    Output,
    Program,
    Rule,
    Value,
    Variable,
    Window,
)
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, head_atom, statements_of


@dataclass(frozen=True, slots=True)
class Condition:
    """The argument at a place (from 0), compared with a constant."""

    place: int
    operator: ComparisonOperator
    value: Value

    def passes(self, row: Row) -> bool:
        """Whether a row does."""
        return self.holds_of(row[self.place])

    def holds_of(self, value: Value) -> bool:
        """Whether an argument passes; text and numbers have no order between them, so a rule does not fire."""
        try:
            return COMPARE[self.operator](value, self.value)
        except TypeError:
            return False


@dataclass(frozen=True, slots=True)
class Needed:
    """The rows of a predicate that a program needs: those that pass all conditions of one of the `cases`. Plain data."""

    cases: tuple[tuple[Condition, ...], ...]

    def __call__(self, row: Row) -> bool:
        """Whether a row is needed."""
        return any(all(condition.passes(row) for condition in case) for case in self.cases)


def needed_rows(program: Program, predicate: str) -> Needed | None:
    """Which of a predicate's rows the rules need; None where they may need all.

    >>> from tidelog.plans.language.parser import parse
    >>> needed = needed_rows(parse("hot(X) :- temp(X, C), C >= 30. cold(X) :- temp(X, low)."), "temp")
    >>> needed(("a", 31)), needed(("a", 7)), needed(("a", "low"))
    (True, False, True)
    """
    rules = statements_of(program, Rule)
    shown = {name for item in statements_of(program, Output) for name in item.predicates}
    derived = {head.predicate for rule in rules if (head := head_atom(rule)) is not None}
    if predicate in shown | derived or any(map(_looks_at_others, rules)):
        return None
    cases = tuple(dict.fromkeys(case for rule in rules for case in _cases(rule, predicate)))
    return Needed(cases) if cases and all(cases) else None


def _looks_at_others(rule: Rule) -> bool:
    parts = [part for formula in rule.body for part in subformulas(formula)]
    return any(isinstance(part, Latest) or (isinstance(part, Window) and part.window.tuples) for part in parts)


def _cases(rule: Rule, predicate: str) -> Iterator[tuple[Condition, ...]]:
    """For each atom of the predicate in a rule's body the condition that a row has to meet to match it."""
    is_local = any(isinstance(part, Aggregate) for formula in rule.body for part in subformulas(formula))
    # the variables of an aggregate are its own
    bounds = [] if is_local else [found for part in rule.body if (found := _bound(part)) is not None]
    for atom in atoms(*rule.body):
        if atom.predicate == predicate:
            yield tuple(_conditions(atom, bounds))


def _bound(part: object) -> tuple[str, ComparisonOperator, Value] | None:
    """A variable's comparison with a constant."""
    if not isinstance(part, Comparison):
        return None
    left, right = part.left, part.right
    if isinstance(left, Variable) and isinstance(right, Constant):
        return left.name, part.operator, right.value
    if isinstance(left, Constant) and isinstance(right, Variable):
        return right.name, MIRRORED[part.operator], left.value
    return None


def _conditions(atom: Atom, bounds: list[tuple[str, ComparisonOperator, Value]]) -> Iterator[Condition]:
    for place, argument in enumerate(atom.arguments):
        if isinstance(argument, Constant):
            yield Condition(place, "=", argument.value)
        elif isinstance(argument, Variable):
            yield from (Condition(place, operator, value) for name, operator, value in bounds if name == argument.name)
