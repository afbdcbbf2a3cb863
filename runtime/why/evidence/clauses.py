"""A program's rules, made ready to be looked at backwards: as they are written, with times as the timeline has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from tidelog.plans.diagnostics.source import Source
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.program import begin
from tidelog.plans.normal.times.resolve_times import resolve_times
from tidelog.plans.tree.names import name_open, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Conjunction,
    Formula,
    Latest,
    Negation,
    Program,
    Rule,
    TimePoint,
    Unary,
    UnaryOperator,
    Variable,
)
from tidelog.plans.tree.thresholds import mark_thresholds
from tidelog.plans.tree.traverse import children, rebuild

_BACK: Mapping[str, UnaryOperator] = {"boxplus": "diamondminus", "boxminus": "diamondplus"}


@dataclass(frozen=True, eq=False, slots=True)
class Clause:
    """A rule `head :- body` with an atom for its head.

    `reason` holds wherever the rule says that the head's atom holds: it is the conjunction `body` below a diamond for each
    box of the head. With a `point`, `p(X)@T+k`, it is when `body` holds at any time that the head holds at T+k. `text` is
    the rule as written; wildcards have become variables whose names begin with `_`. `line` is where it stands, 0 if there
    is no text; `tells_machine` marks the rule that no text has, which tells what holds of what is assigned.
    """

    text: str
    head: Atom
    reason: Formula
    body: tuple[Formula, ...]
    point: TimePoint | None
    line: int = 0
    tells_machine: bool = False


@dataclass(frozen=True, slots=True)
class Clauses:
    """The rules of a program by the predicate that they derive."""

    by_head: Mapping[str, tuple[Clause, ...]]

    def of(self, predicate: str) -> tuple[Clause, ...]:
        """The rules that derive a predicate, in the order of the text."""
        return self.by_head.get(predicate, ())


def clauses_of(program: Program) -> Clauses:
    """The rules of a program that compiles; constraints are left out."""
    found: dict[str, tuple[Clause, ...]] = {}
    source = Source(program.text)
    for rule, written in _resolved(program):
        line = source.position(written.span.start)[0] if program.text else 0
        clause = _clause(rule, written, line)
        if clause is not None:
            found[clause.head.predicate] = (*found.get(clause.head.predicate, ()), clause)
    return Clauses(found)


def _resolved(program: Program) -> Iterator[tuple[Rule, Rule]]:
    """Each rule with its times in the program's unit, and as it was written."""
    normal = resolve_times(begin(program))
    return zip(normal.rules, normal.sources, strict=True)


def _clause(rule: Rule, written: Rule, line: int) -> Clause | None:
    names = (f"_{number}" for number in count())
    body = tuple(_named(part, names) for part in mark_thresholds(rule).body)
    reason: Formula = Conjunction(body)
    head = rule.head
    while isinstance(head, Unary):
        reason = Unary(_BACK[head.operator], head.interval, reason)
        head = head.operand
    if not isinstance(head, Atom):
        return None
    told = format_statement(written)
    return Clause(told, replace(head, at=None), reason, body, head.at, line, written.assigns == "holds")


def _named(formula: Formula, names: Iterator[str]) -> Formula:
    if isinstance(formula, Atom):
        return name_open(formula, names)
    if isinstance(formula, Latest):  # of what is held, `_` is no part
        return formula
    return rebuild(formula, lambda part: _named(part, names))


def variables_of(formula: Formula, *, negated: bool = True) -> set[str]:
    """The names of the variables in atoms of a formula; without `negated`, outside negations alone."""
    if isinstance(formula, Negation) and not negated:
        return set()
    names: set[str] = set()
    if isinstance(formula, Aggregate):  # its other variables are its own
        return set(variables(formula))
    if isinstance(formula, Atom):
        names = {term.name for term in formula.arguments if isinstance(term, Variable)}
        if formula.at is not None:
            names.add(formula.at.variable.name)
    return names.union(*(variables_of(part, negated=negated) for part in children(formula)))
