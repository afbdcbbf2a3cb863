"""The names in formulas: the predicates that are read, the variables that occur, and names that are not taken yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.plans.tree.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Formula,
    Rule,
    Truth,
    Unary,
    Variable,
    Visits,
    Wildcard,
)
from tidelog.plans.tree.traverse import children


def head_predicate(head: Formula) -> str | None:
    """The predicate that a head derives, below its boxes; None for `bottom`."""
    while isinstance(head, Unary):
        head = head.operand
    return head.predicate if isinstance(head, Atom) else None


def predicates(formula: Formula) -> Iterator[str]:
    """Every predicate that a formula mentions, in order, as often as it does."""
    if isinstance(formula, Atom):
        yield formula.predicate
    elif isinstance(formula, Visits):
        yield formula.atom.predicate
    for child in children(formula):
        yield from predicates(child)


def variables(*formulas: Formula) -> tuple[str, ...]:
    """The named variables of formulas, each once, in order of occurrence."""
    return tuple(dict.fromkeys(name for formula in formulas for name in _occurrences(formula)))


def _occurrences(formula: Formula) -> Iterator[str]:
    if isinstance(formula, Atom):
        for argument in formula.arguments:
            yield from expression_variables(argument)
    elif isinstance(formula, Comparison):
        yield from expression_variables(formula.left)
        yield from expression_variables(formula.right)
    elif isinstance(formula, Visits):
        yield from _occurrences(formula.atom)
        yield from (item.name for item in (formula.time, formula.visit) if item is not None)
    elif isinstance(formula, Aggregate):  # its other variables are its own
        yield from (item.name for item in formula.by)
        if formula.threshold is None:
            yield formula.result.name
        return
    for child in children(formula):
        yield from _occurrences(child)


def time_names(formula: Formula) -> Iterator[str]:
    """The variables after an `@` in a formula, as often as they occur."""
    if isinstance(formula, Atom) and formula.at is not None:
        yield formula.at.variable.name
    for child in children(formula):
        yield from time_names(child)


def expression_variables(expression: Expression) -> Iterator[str]:
    """The named variables of a term or an expression, in order, as often as they occur."""
    if isinstance(expression, Variable):
        yield expression.name
    elif isinstance(expression, Arithmetic):
        for operand in expression.operands:
            yield from expression_variables(operand)


def atom(predicate: str, columns: Iterable[str]) -> Atom:
    """The atom of a predicate over these variables."""
    return Atom(predicate, tuple(Variable(column) for column in columns))


class FreshNames:
    """Hands out predicates that no one has used: `alarm.1`, `alarm.2` for the rules of `alarm`.

    `made` holds each name handed out, with the rule of the program's text that it serves.
    """

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)
        self._count: dict[str, int] = {}
        self.made: dict[str, Rule] = {}

    def name(self, source: Rule) -> str:
        """The next name after the head of `source`; the same calls give the same names."""
        head = source.head
        while isinstance(head, Unary):
            head = head.operand
        base = "bottom" if isinstance(head, Truth) else head_predicate(head)
        number = self._count.get(base or "", 0)
        while (name := f"{base}.{(number := number + 1)}") in self._used:
            pass
        self._count[base or ""] = number
        self._used.add(name)
        self.made[name] = source
        return name


def has_wildcard(formula: Formula) -> bool:
    """Whether `_` occurs in a formula."""
    if isinstance(formula, Atom) and any(isinstance(argument, Wildcard) for argument in formula.arguments):
        return True
    return any(map(has_wildcard, children(formula)))
