"""The names in formulas: the predicates that are read, the variables that occur, and names that are not taken yet."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import count

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
from tidelog.plans.tree.traverse import children, subformulas


def head_predicate(head: Formula) -> str | None:
    """The predicate that a head derives, below its boxes; None for `bottom`."""
    while isinstance(head, Unary):
        head = head.operand
    return head.predicate if isinstance(head, Atom) else None


def predicates(formula: Formula) -> Iterator[str]:
    """Every predicate that a formula mentions, in order, as often as it does."""
    if isinstance(formula, Atom):  # as most are
        yield formula.predicate
        return
    for part in subformulas(formula):
        if isinstance(part, Atom):
            yield part.predicate
        elif isinstance(part, Visits):
            yield part.atom.predicate


def variables(*formulas: Formula) -> tuple[str, ...]:
    """The named variables of formulas, each once, in order of occurrence."""
    found: dict[str, None] = {}
    for formula in formulas:
        if isinstance(formula, Atom):  # most are
            for argument in formula.arguments:
                if isinstance(argument, Variable):
                    found[argument.name] = None
                elif isinstance(argument, Arithmetic):
                    found.update(dict.fromkeys(expression_variables(argument)))
        else:
            found.update(dict.fromkeys(_occurrences(formula)))
    return tuple(found)


def _occurrences(formula: Formula) -> Iterator[str]:
    if isinstance(formula, Atom):
        yield from expression_variables(*formula.arguments)
        return
    if isinstance(formula, Comparison):
        yield from expression_variables(formula.left, formula.right)
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
    return (part.at.variable.name for part in subformulas(formula) if isinstance(part, Atom) and part.at is not None)


def expression_variables(*expressions: Expression) -> Iterator[str]:
    """The named variables of terms and expressions, in order, as often as they occur."""
    for expression in expressions:
        if isinstance(expression, Variable):
            yield expression.name
        elif isinstance(expression, Arithmetic):
            yield from expression_variables(*expression.operands)


def atom(predicate: str, columns: Iterable[str]) -> Atom:
    """The atom of a predicate over these variables."""
    return Atom(predicate, tuple(Variable(column) for column in columns))


def name_open(atom: Atom, names: Iterator[str]) -> Atom:
    """The atom with a variable, of the next of some names, in place of each `_`."""
    terms = (Variable(next(names), term.span) if isinstance(term, Wildcard) else term for term in atom.arguments)
    return replace(atom, arguments=tuple(terms))


def fresh_name(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken: the first from 2 on that makes a new one."""
    return next(new for number in count(1) if (new := name if number == 1 else f"{name}{number}") not in taken)


class FreshNames:
    """Hands out predicates that no one has used: `alarm.1`, `alarm.2` for the rules of `alarm`.

    `made` holds each name handed out, with the rule of the program's text that it serves.
    """

    def __init__(self, used: Iterable[str]) -> None:
        self._given = used
        self._used: set[str] | None = None  # looked through when the first name is wanted
        self._count: dict[str, int] = {}
        self.made: dict[str, Rule] = {}

    def name(self, source: Rule) -> str:
        """The next name after the head of `source`; the same calls give the same names."""
        head = source.head
        while isinstance(head, Unary):
            head = head.operand
        base = "bottom" if isinstance(head, Truth) else head_predicate(head)
        if self._used is None:
            self._used = set(self._given)
        number = self._count.get(base or "", 0)
        while (name := f"{base}.{(number := number + 1)}") in self._used:
            pass
        self._count[base or ""] = number
        self._used.add(name)
        self.made[name] = source
        return name


def has_wildcard(formula: Formula) -> bool:
    """Whether `_` occurs in a formula."""
    atoms = (part for part in subformulas(formula) if isinstance(part, Atom))
    return any(isinstance(term, Wildcard) for each in atoms for term in each.arguments)
