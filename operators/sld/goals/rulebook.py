"""The rules that a query needs, made ready for resolution: by predicate, simplified, their variables known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from tidelog.operators.sld.goals.tables import FactTable, tables_of
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import refuse
from tidelog.plans.normal.sharing.simplify import simplify
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.components import components
from tidelog.plans.tree.names import has_wildcard, head_predicate, name_open, predicates, time_names
from tidelog.plans.tree.syntax import (
    Atom,
    Comparison,
    Constant,
    Formula,
    Negation,
    Rule,
    Time,
    TimelineDeclaration,
    Unary,
    Variable,
    Window,
)
from tidelog.plans.tree.thresholds import mentions
from tidelog.plans.tree.traverse import children, rebuild, spliced


@dataclass(frozen=True, slots=True)
class Clause:
    """A rule that derives `atom` at its own time plus a distance from `low` to `high`, or at the time that the atom bears.

    `variables` are all that it has, those of them that stand for times in `times`. What is decided at once stands first
    in the body, what leads back to the head's predicate last.
    """

    atom: Atom
    low: Time
    high: Time
    body: tuple[Formula, ...]
    variables: tuple[str, ...]
    times: frozenset[str]
    span: Span
    uses: Counter[str] = field(default_factory=Counter, compare=False)

    def shared(self, formula: Formula) -> tuple[str, ...]:
        """The variables of a part of the body that occur outside of it, too."""
        inside = Counter(mentions(formula))
        return tuple(name for name in inside if self.uses[name] > inside[name])


class Rulebook:
    """All that a query's resolution reads: clauses and facts by predicate, and which predicates are what."""

    def __init__(self, question: Question, facts: Iterable[Record]) -> None:
        rules = _simplified(question.rules)
        self.inputs = question.inputs
        self._calendars = question.calendars
        self.tables: Mapping[str, FactTable] = tables_of(facts)
        self.derived = frozenset(name for rule in rules if (name := head_predicate(rule.head)) is not None)
        self.formulas: dict[str, Formula] = {}
        self._component = _components(rules)
        self.clauses: dict[str, list[Clause]] = {}
        self._names = {
            *self.derived,
            *self.inputs,
            *self.tables,
            *self._calendars,
            *(name for r in rules for name in _read(r.body)),
        }
        self._parts: dict[tuple[str, tuple[str, ...], Formula], str] = {}
        for rule in rules:
            self._add(rule)

    def is_stream(self, predicate: str) -> bool:
        """Whether all that holds of a predicate comes with the stream."""
        return predicate in self.inputs and predicate not in self.derived and predicate not in self.tables

    def is_given(self, predicate: str) -> bool:
        """Whether all that holds of a predicate is known before the stream begins."""
        known = (self.inputs, self.derived, self.formulas, self._calendars)
        return not any(predicate in others for others in known)

    def is_calendar(self, predicate: str) -> bool:
        """Whether a calendar decides when it holds: by intervals, as far as anybody looks."""
        return predicate in self._calendars

    def names_each(self, predicate: str) -> bool:
        """Whether a calendar gives each of its intervals a name of its own."""
        found = self._calendars.get(predicate)
        return found is not None and found.calendar.is_named and bool(found.calendar.each) and not found.calendar.excepted

    def lasts(self, formula: Formula) -> bool:
        """Whether it is a calendar at the time at which it stands, so that one interval may do for many times."""
        return isinstance(formula, Atom) and formula.at is None and self.is_calendar(formula.predicate)

    def is_recursive(self, predicate: str) -> bool:
        """Whether a predicate can lead back to itself."""
        return predicate in self._component

    def part_query(self, clause: Clause, formula: Formula) -> Atom:
        """The atom of the auxiliary query that asks for a part of a rule: a predicate of its own, derived by that part."""
        columns = clause.shared(formula)
        base = clause.atom.predicate
        name = self._parts.get((base, columns, formula))
        if name is None:
            name = next(new for k in count(1) if (new := f"{base}.not{k}") not in self._names)
            self._names.add(name)
            self._parts[base, columns, formula] = name
            self.formulas[name] = formula
            head = Atom(name, tuple(map(Variable, columns)), span=formula.span)
            self._add(Rule(head, (formula,), formula.span))
        return Atom(name, tuple(map(Variable, columns)), span=formula.span)

    def _add(self, rule: Rule) -> None:
        atom, low, high = _unboxed(rule.head)
        known = {name for part in (atom, *rule.body) for name in mentions(part)}
        names = (name for k in count(1) if (name := f"_{k}") not in known)
        body = tuple(_named(part, names) for part in spliced(rule.body))
        ordered = sorted(body, key=lambda part: self._rank(atom.predicate, part))
        found = Counter(name for part in (atom, *body) for name in mentions(part))
        times = frozenset(name for part in (atom, *body) for name in time_names(part))
        self.clauses.setdefault(atom.predicate, []).append(
            Clause(atom, low, high, tuple(ordered), tuple(found), times, rule.span, found)
        )

    def _rank(self, head: str, part: Formula) -> int:
        """Assignments first, then facts, so that what follows is narrowed; recursion last, where more is bound."""
        if isinstance(part, Comparison):
            return 0 if part.operator == "=" and isinstance(part.right, Constant) else 2
        if isinstance(part, Atom) and self.is_given(part.predicate):
            return 1
        own = self._component.get(head)
        if own is not None and any(self._component.get(name) == own for name in _positive(part)):
            return 4
        return 3


# --- reading rules ------------------------------------------------------------------------------------------------------


def _read(body: Iterable[Formula]) -> Iterator[str]:
    for part in body:
        yield from predicates(part)


def _positive(formula: Formula) -> Iterator[str]:
    """The predicates that a formula reads, but for those that it negates."""
    if isinstance(formula, Atom):
        yield formula.predicate
    if not isinstance(formula, Negation):
        for child in children(formula):
            yield from _positive(child)


def _named(formula: Formula, names: Iterator[str]) -> Formula:
    """The formula with its wildcards named, but for those under `not`, where each stands for any value."""
    if isinstance(formula, Atom):
        return name_open(formula, names)
    if isinstance(formula, Negation) or not has_wildcard(formula):
        return formula
    return rebuild(formula, lambda part: _named(part, names))


def _unboxed(head: Formula) -> tuple[Atom, Time, Time]:
    """The atom of a head, and how far behind the rule's time it holds, from the least to the greatest distance."""
    low: Time = 0
    high: Time = 0
    while isinstance(head, Unary):
        near, far = head.interval.low, head.interval.high
        low, high = (low + near, high + far) if head.operator == "boxplus" else (low - far, high - near)
        head = head.operand
    if not isinstance(head, Atom):
        raise refuse("a rule that an `ask` needs derives an atom", head.span)
    return head, low, high


def _simplified(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules with what is trivial in them gone, and nested operators of one kind added up."""
    for rule in rules:
        _refuse_tuple_windows(rule.body)
    return simplify(NormalProgram(rules, rules, timeline=TimelineDeclaration("integer"))).rules


def _refuse_tuple_windows(parts: Iterable[Formula]) -> None:
    for part in parts:
        if isinstance(part, Window) and part.window.tuples:
            message = "`ask` cannot look into a tuple window: how many facts come is not known before"
            raise refuse(message, part.window.span, "use a window of time, such as `in [5]`")
        _refuse_tuple_windows(children(part))


def _components(rules: Iterable[Rule]) -> dict[str, int]:
    """The predicates that can lead back to themselves without a `not`, by the number of their component."""
    reads: dict[str, dict[str, None]] = {}
    for rule in rules:
        name = head_predicate(rule.head)
        if name is not None:
            reads.setdefault(name, {}).update((read, None) for part in rule.body for read in _positive(part))
    graph = {name: [read for read in found if read in reads] for name, found in reads.items()}
    loops = [group for group in components(graph) if len(group) > 1 or group[0] in graph[group[0]]]
    return {name: number for number, group in enumerate(loops) for name in group}


def is_unbounded(time: Time) -> bool:
    """Whether an interval's or a window's end is infinite."""
    return math.isinf(time)
