"""How far rules reach through time: from a derived atom to each atom that its rule reads, and whether `not` is between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.plans.tree.names import time_names
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Constant,
    Expression,
    Formula,
    Interval,
    Negation,
    Rule,
    Time,
    Unary,
    Variable,
    Window,
)
from tidelog.plans.tree.traverse import children, spliced

NOW = ""
"""The variable of the rule's own time; no variable of a program is called so."""
_ZERO = "0"
"""The variable that stands for time 0."""


@dataclass(frozen=True, slots=True)
class TimeEdge:
    """A rule derives `head` from `atom`, which lies `low` … `high` ticks ahead of it (below 0: behind), as far as is known.

    `negated`: a `not` stands before it, perhaps with more. `part` is the body's literal that it stands in.
    """

    head: Atom
    atom: Atom
    low: Time
    high: Time
    negated: bool
    part: Formula
    rule: Rule

    @property
    def is_fixed(self) -> bool:
        """Whether there is one distance alone."""
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.head.predicate} -> {self.atom.predicate}"


@dataclass(frozen=True, slots=True)
class Reading:
    """An atom of a body: its time lies `low` … `high` ticks ahead of the time variable `base`."""

    atom: Atom
    base: str
    low: Time
    high: Time
    negated: bool
    part: Formula


def edges_of(rules: Iterable[Rule]) -> tuple[TimeEdge, ...]:
    """The edges of rules whose times are in ticks (`resolve_times`); constraints have none."""
    return tuple(edge for rule in rules for edge in _edges(rule))


def _edges(rule: Rule) -> Iterator[TimeEdge]:
    derived = head_reading(rule)
    if derived is None:
        return
    distances = Distances(rule)
    for reading in readings(rule):
        low, high = distances.between(derived.base, reading.base)
        yield TimeEdge(
            head=derived.atom,
            atom=reading.atom,
            low=low + reading.low - derived.high,
            high=high + reading.high - derived.low,
            negated=reading.negated,
            part=reading.part,
            rule=rule,
        )


# --- where atoms stand --------------------------------------------------------------------------------------------------


def head_reading(rule: Rule) -> Reading | None:
    """The atom that a rule derives, and when; None for `bottom`."""
    return next(_read(rule.head, 0, 0, False, rule.head), None)


def readings(rule: Rule) -> Iterator[Reading]:
    """The atoms of a rule's body, in order."""
    for part in spliced(rule.body):
        yield from _read(part, 0, 0, False, part)


def _read(formula: Formula, low: Time, high: Time, negated: bool, part: Formula) -> Iterator[Reading]:
    match formula:
        case Atom(at=None):
            yield Reading(formula, NOW, low, high, negated, part)
        case Atom(at=at) if at is not None:
            yield Reading(formula, at.variable.name, at.shift, at.shift, negated, part)
        case Unary(operator, interval):
            before, behind = _reach(interval, operator.endswith("plus"))
            yield from _read(formula.operand, low + before, high + behind, negated, part)
        case Binary():
            yield from _read_pair(formula, low, high, negated, part)
        case Window():
            yield from _read(formula.operand, low - furthest(formula), high, negated, part)
        case Negation():
            yield from _read(formula.operand, low, high, True, part)
        case _:
            for child in children(formula):
                yield from _read(child, low, high, negated, part)


def _read_pair(pair: Binary, low: Time, high: Time, negated: bool, part: Formula) -> Iterator[Reading]:
    """The right side within the interval, the left one strictly between there and here."""
    is_ahead = pair.operator == "until"
    before, behind = _reach(pair.interval, is_ahead)
    if pair.interval.high > 1:
        least, most = (1, behind - 1) if is_ahead else (before + 1, -1)
        yield from _read(pair.left, low + least, high + most, negated, part)
    yield from _read(pair.right, low + before, high + behind, negated, part)


def _reach(interval: Interval, is_ahead: bool) -> tuple[Time, Time]:
    return (interval.low, interval.high) if is_ahead else (-interval.high, -interval.low)


def furthest(window: Window) -> Time:
    """How far back a window reaches at most."""
    size = window.window
    if size.tuples:
        return math.inf
    return size.size if size.step is None else size.size + size.step - 1


# --- how far time variables lie apart -----------------------------------------------------------------------------------


class Distances:
    """What windows and comparisons say of how far a rule's time variables lie apart: difference bounds, closed.

    `_most[a, b]` is the most that b lies ahead of a.
    """

    def __init__(self, rule: Rule) -> None:
        self.names = dict.fromkeys([NOW, _ZERO, *_time_variables(rule)])
        self._most: dict[tuple[str, str], Time] = {(name, name): 0 for name in self.names}
        for part in spliced(rule.body):
            if isinstance(part, Comparison):
                self._compare(part)
            elif isinstance(part, Window) and isinstance(part.operand, Atom) and part.operand.at is not None:
                at = part.operand.at
                self._bound(at.variable.name, NOW, furthest(part) + at.shift)
                self._bound(NOW, at.variable.name, -at.shift)
        self._close()

    def between(self, origin: str, name: str) -> tuple[Time, Time]:
        """The least and the greatest distance from one time variable to another; infinite where nothing bounds it."""
        return -self._most.get((name, origin), math.inf), self._most.get((origin, name), math.inf)

    def _bound(self, origin: str, name: str, most: Time) -> None:
        self._most[origin, name] = min(self._most.get((origin, name), math.inf), most)

    def _compare(self, comparison: Comparison) -> None:
        left, right = _term(comparison.left, self.names), _term(comparison.right, self.names)
        if left is None or right is None or comparison.operator == "!=":
            return
        (a, shift_a), (b, shift_b) = left, right
        strict = 1 if comparison.operator in ("<", ">") else 0
        if comparison.operator in ("=", "<=", "<"):  # a + shift_a <= b + shift_b
            self._bound(b, a, shift_b - shift_a - strict)
        if comparison.operator in ("=", ">=", ">"):
            self._bound(a, b, shift_a - shift_b - strict)

    def _close(self) -> None:
        """Floyd and Warshall's algorithm, with what is known alone."""
        for middle in self.names:
            into = [(a, most) for (a, b), most in self._most.items() if b == middle]
            out = [(b, most) for (a, b), most in self._most.items() if a == middle]
            for a, first in into:
                for b, second in out:
                    self._bound(a, b, first + second)


def _term(expression: Expression, names: Mapping[str, None]) -> tuple[str, int] | None:
    """A time as a variable and what is added to it: `T`, `T + 2`, `T - 2`, `3`."""
    match expression:
        case Variable(name) if name in names:
            return name, 0
        case Constant(int(value)):
            return _ZERO, value
        case Arithmetic("+" | "-" as sign, (Variable(name), Constant(int(value)))) if name in names:
            return name, value if sign == "+" else -value
        case Arithmetic("+", (Constant(int(value)), Variable(name))) if name in names:
            return name, value
        case Arithmetic("neg", (Constant(int(value)),)):
            return _ZERO, -value
    return None


def _time_variables(rule: Rule) -> Iterator[str]:
    for formula in (rule.head, *rule.body):
        yield from time_names(formula)
