"""The rules of a program as proofs read them: times in the program's unit, heads as atoms with a reach, names made new."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

from tidelog.plans.normal.program import begin
from tidelog.plans.normal.times.resolve_times import resolve_times
from tidelog.plans.proving.case import FLEXIBLE
from tidelog.plans.tree.names import has_wildcard, variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Expression,
    FieldType,
    Formula,
    Interval,
    Latest,
    Negation,
    Program,
    Rule,
    Time,
    Truth,
    Unary,
    Value,
    Variable,
    Wildcard,
)
from tidelog.plans.tree.traverse import rebuild, substitute

MOST_FACTS = 60
"""A predicate with more facts than these is taken to hold whatever it is asked for."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One rule: `head` holds at t + d for each d of the reach, where the body holds at t. `number` is its place in the text.

    A head `p(X)@T` holds at T, whenever the body does.
    """

    number: int
    head: Atom
    low: Time
    high: Time
    left_open: bool
    right_open: bool
    body: tuple[Formula, ...]
    rule: Rule
    """The rule as it was written."""

    @property
    def is_plain(self) -> bool:
        """Whether the head holds when the body does, and at no other time by it."""
        return self.low == self.high == 0 and self.head.at is None

    @property
    def is_told_by_head(self) -> bool:
        """Whether its body speaks of values of the head alone. Others may be others at each time, `_` among them, unless it
        says that something is absent for all values."""
        present = [item for item in self.body if not (isinstance(item, Negation) and isinstance(item.operand, Atom))]
        return set(variables(*self.body)) <= set(variables(self.head)) and not any(map(has_wildcard, present))

    @property
    def nearest(self) -> Time:
        """A distance of its reach: 0 where that is one."""
        if (
            self.low <= 0 <= self.high
            and not (self.low == 0 and self.left_open)
            and not (self.high == 0 and self.right_open)
        ):
            return Fraction(0)
        ends = [(self.low, self.left_open), (self.high, self.right_open)]
        closed = [end for end, is_open in ends if not is_open and abs(end) != math.inf]
        if closed:
            return min(closed, key=lambda end: max(end, -end))
        finite = [end for end, _ in ends if abs(end) != math.inf]
        return sum(finite, Fraction(0)) / 2 if len(finite) == 2 else finite[0] + (1 if self.high == math.inf else -1)


@dataclass(frozen=True)
class Rulebook:
    """A program for proofs. `without` are the numbers of rules that are left out."""

    clauses: Mapping[str, tuple[Clause, ...]]
    facts: Mapping[str, tuple[tuple[tuple[Value, ...], Interval | None], ...]]
    given: frozenset[str]
    """The predicates whose facts may come in a stream, and calendars, of whose times nothing is said."""
    open: frozenset[str]
    """Those, and all others of which it is not said how they may hold."""
    types: Mapping[str, tuple[FieldType, ...]]
    is_integer: bool
    program: Program
    without: frozenset[int] = frozenset()
    empty: frozenset[str] = frozenset()
    """The predicates that are known never to hold."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def of(self, predicate: str) -> tuple[Clause, ...]:
        """The rules of a predicate."""
        found = self.clauses.get(predicate, ())
        return tuple(each for each in found if each.number not in self.without) if self.without else found

    def leaving_out(self, *numbers: int) -> Rulebook:
        """The same program without some rules."""
        return replace(self, without=self.without.union(numbers))

    def fresh(self, stem: str = "", *, flexible: bool = False) -> str:
        """A name that no variable has yet."""
        return f"{FLEXIBLE if flexible else ''}{stem}#{next(self._numbers)}"

    def new(self, *, flexible: bool = False) -> Variable:
        """A variable that is new."""
        return Variable(self.fresh("_", flexible=flexible))

    def renamed(self, clause: Clause, *, flexible: bool = False) -> Clause:
        """A rule with variables of its own."""
        names: dict[str, Variable] = {}

        def change(term: Expression) -> Expression:
            return substitute(term, lambda name: names.setdefault(name.name, self._named(name.name, flexible)))

        head, *body = (with_names(part, change) for part in (clause.head, *clause.body))
        if not isinstance(head, Atom):
            raise TypeError(f"no head: {head!r}")
        return replace(clause, head=head, body=tuple(body))

    def _named(self, name: str, flexible: bool) -> Variable:
        return Variable(self.fresh(name, flexible=flexible))

    def opened(self, formula: Formula, *, flexible: bool = False) -> Formula:
        """A formula with a variable in place of each `_`."""

        def change(term: Expression) -> Expression:
            return self.new(flexible=flexible) if isinstance(term, Wildcard) else term

        return with_names(formula, change)


def with_names(formula: Formula, change: Callable[[Expression], Any]) -> Formula:
    """A formula with all its terms changed, those of aggregates and times as well; of a time, a variable has to come."""
    match formula:
        case Atom():
            when = formula.at
            if when is not None:
                when = replace(when, variable=change(when.variable))
            return replace(formula, arguments=tuple(map(change, formula.arguments)), at=when)
        case Aggregate():
            inner = with_names(formula.operand, change)
            argument = None if formula.argument is None else change(formula.argument)
            by = tuple(change(name) for name in formula.by)
            return replace(formula, operand=inner, argument=argument, by=by, result=change(formula.result))
        case Latest():
            held = with_names(formula.atom, change)
            return (
                replace(formula, atom=held, by=tuple(change(name) for name in formula.by))
                if isinstance(held, Atom)
                else formula
            )
        case Comparison():
            return replace(formula, left=change(formula.left), right=change(formula.right))
    return rebuild(formula, lambda part: with_names(part, change))


def rulebook(
    program: Program,
    given: Iterable[str],
    facts: Iterable[tuple[str, Sequence[Value], Interval | None]] = (),
    relaxed: Iterable[str] = (),
) -> Rulebook:
    """A checked program for proofs. `given` are the predicates that data may bring, `facts` those of the program and of its
    backgrounds; of what is `relaxed`, nothing is said but that it is derived where a rule does so."""
    normal = resolve_times(begin(program))
    clauses: dict[str, list[Clause]] = {}
    for number, (rule, source) in enumerate(zip(normal.rules, normal.sources, strict=True)):
        clause = _clause(number, rule, source)
        if clause is not None:
            clauses.setdefault(clause.head.predicate, []).append(clause)
    known: dict[str, list[tuple[tuple[Value, ...], Interval | None]]] = {}
    for predicate, row, interval in facts:
        known.setdefault(predicate, []).append((tuple(row), interval))
    brought = {*given, *normal.inputs, *(item.predicate for item in normal.calendars)}
    many = {name for name, rows in known.items() if len(rows) > MOST_FACTS}
    types = {item.predicate: tuple(each.type for each in item.fields) for item in normal.declarations}
    return Rulebook(
        {name: tuple(found) for name, found in clauses.items()},
        {name: tuple(rows) for name, rows in known.items()},
        frozenset(brought),
        frozenset({*brought, *many, *relaxed}),
        types,
        normal.timeline.kind == "integer",
        program,
    )


def _clause(number: int, rule: Rule, source: Rule) -> Clause | None:
    """A rule as a clause; None for a constraint."""
    head, low, high = rule.head, Fraction(0), Fraction(0)
    reach: list[Time] = [low, high]
    left_open = right_open = False
    while isinstance(head, Unary):
        interval = head.interval
        if head.operator == "boxplus":
            reach = [reach[0] + interval.low, reach[1] + interval.high]
            left_open, right_open = left_open or interval.left_open, right_open or interval.right_open
        else:
            reach = [reach[0] - interval.high, reach[1] - interval.low]
            left_open, right_open = left_open or interval.right_open, right_open or interval.left_open
        head = head.operand
    if isinstance(head, Truth) or not isinstance(head, Atom):
        return None
    return Clause(number, head, reach[0], reach[1], left_open, right_open, rule.body, source)
