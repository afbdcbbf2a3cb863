"""What a program's rules do with a predicate's arguments: which they reckon with, and which numbers they compare them to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeVar

from tidelog.plans.pictures.lanes import Threshold
from tidelog.plans.tree.arithmetic import MIRRORED
from tidelog.plans.tree.names import expression_variables, head_predicate
from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Expression,
    Program,
    Rule,
    Value,
    Variable,
)

T = TypeVar("T")

Place = tuple[str, int]
"""A predicate, and which of its arguments."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that a rule compares an argument with, of rows that have these constants at these other arguments."""

    threshold: Threshold
    where: tuple[tuple[int, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What rules do with arguments: their `limits`; `measured` are those that they reckon with, and order by size.

    `derived` are the predicates that they derive.
    """

    limits: Mapping[Place, list[Limit]] = field(default_factory=dict)
    measured: frozenset[Place] = frozenset()
    derived: frozenset[str] = frozenset()


def usage_of(program: Program) -> Usage:
    """What the rules of a program do with arguments.

    >>> from tidelog.plans.language.parser import parse
    >>> usage = usage_of(parse("hot(S) :- reading(S, temp, V), V >= 80."))
    >>> usage.limits
    {('reading', 2): [Limit(threshold=Threshold(value=80, text='>= 80'), where=((1, 'temp'),))]}
    >>> usage.measured, usage.derived
    (frozenset({('reading', 2)}), frozenset({'hot'}))
    """
    limits: dict[Place, dict[Limit, None]] = {}
    measured: set[Place] = set()
    derived: set[str] = set()
    for rule in program.statements:
        if not isinstance(rule, Rule):
            continue
        derived.add(head_predicate(rule.head) or "")
        places = _places(rule)
        for name in _reckoned(rule):
            measured |= {(atom.predicate, i) for atom, i in places.get(name, ())}
        for comparison in _all(rule.body, Comparison):
            for name, threshold in _read(comparison):
                for atom, i in places.get(name, ()):
                    limits.setdefault((atom.predicate, i), {})[Limit(threshold, _constants(atom))] = None
    return Usage({place: list(found) for place, found in limits.items()}, frozenset(measured), frozenset(derived - {""}))


def _places(rule: Rule) -> dict[str, list[tuple[Atom, int]]]:
    """Where each variable of a rule's body stands."""
    places: dict[str, list[tuple[Atom, int]]] = {}
    for atom in _all(rule.body, Atom):
        for i, argument in enumerate(atom.arguments):
            if isinstance(argument, Variable):
                places.setdefault(argument.name, []).append((atom, i))
    return places


def _constants(atom: Atom) -> tuple[tuple[int, Value], ...]:
    return tuple((i, term.value) for i, term in enumerate(atom.arguments) if isinstance(term, Constant))


def _reckoned(rule: Rule) -> Iterator[str]:
    """The variables that a rule orders by size, reckons with or aggregates."""
    for comparison in _all(rule.body, Comparison):
        for side in (comparison.left, comparison.right):
            if isinstance(side, Arithmetic) or comparison.operator not in ("=", "!="):
                yield from expression_variables(side)
    for aggregate in _all(rule.body, Aggregate):
        if aggregate.argument is not None:
            yield from expression_variables(aggregate.argument)


def _read(comparison: Comparison) -> Iterator[tuple[str, Threshold]]:
    left, right, operator = comparison.left, comparison.right, comparison.operator
    for one, other, shown in ((left, right, operator), (right, left, MIRRORED[operator])):
        value = _number(other)
        if isinstance(one, Variable) and value is not None:
            yield one.name, Threshold(value, f"{shown} {value:g}")


def _number(expression: Expression) -> float | int | None:
    if isinstance(expression, Arithmetic) and expression.operator == "neg":
        value = _number(expression.operands[0])
        return None if value is None else -value
    if isinstance(expression, Constant) and not isinstance(expression.value, str):
        return expression.value
    return None


def _all(node: object, kind: type[T]) -> Iterator[T]:
    """Every part of a syntax tree that is of this kind."""
    if isinstance(node, kind):
        yield node
    if isinstance(node, tuple):
        for part in node:
            yield from _all(part, kind)
    elif is_dataclass(node):
        for each in fields(node):
            yield from _all(getattr(node, each.name), kind)
