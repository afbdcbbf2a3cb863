"""The numbers that a program's rules compare a predicate's arguments with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeVar

from tidelog.plans.pictures.lanes import Threshold
from tidelog.plans.tree.arithmetic import MIRRORED
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Constant, Expression, Program, Rule, Variable

T = TypeVar("T")

Place = tuple[str, int]
"""A predicate, and which of its arguments."""


def thresholds_of(program: Program) -> dict[Place, list[Threshold]]:
    """For each argument that a rule compares with a number, these comparisons.

    >>> from tidelog.plans.language.parser import parse
    >>> thresholds_of(parse("hot(S) :- temp(S, V), V >= 80."))
    {('temp', 1): [Threshold(value=80, text='>= 80')]}
    """
    found: dict[Place, dict[Threshold, None]] = {}
    for rule in program.statements:
        if not isinstance(rule, Rule):
            continue
        places = _places(rule)
        for comparison in _all(rule.body, Comparison):
            for name, threshold in _read(comparison):
                for place in places.get(name, ()):
                    found.setdefault(place, {})[threshold] = None
    return {place: list(thresholds) for place, thresholds in found.items()}


def _places(rule: Rule) -> dict[str, list[Place]]:
    """Where each variable of a rule's body stands."""
    places: dict[str, list[Place]] = {}
    for atom in _all(rule.body, Atom):
        for i, argument in enumerate(atom.arguments):
            if isinstance(argument, Variable):
                places.setdefault(argument.name, []).append((atom.predicate, i))
    return places


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
