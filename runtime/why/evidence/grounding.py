"""Formulas with values for their variables, as texts show them and absences name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.plans.tree.names import variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Latest,
    Value,
    Variable,
    Wildcard,
)
from tidelog.plans.tree.traverse import children, rebuild

OTHER: Value = "\0other"
"""The constant that occurs nowhere: it stands for all those that no fact has."""

Binding = Mapping[str, Value]


def grounded(formula: Formula, binding: Binding) -> Formula:
    """The formula with values for its variables, and wildcards for those that have none.

    What is local to an aggregate keeps its name, and so does the result of one that has no value. What `latest` holds keeps
    its name too, with its value beside it, for a constant in its atom would say of what it is the last.
    """
    return _grounded(formula, binding, _results(formula))


def _grounded(formula: Formula, binding: Binding, kept: set[str]) -> Formula:
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(_term(term, binding, kept) for term in formula.arguments))
        case Comparison():
            left, right = _term(formula.left, binding, kept), _term(formula.right, binding, kept)
            return replace(formula, left=left, right=right)
        case Aggregate():
            return _aggregate(formula, binding)
        case Latest():
            return _latest(formula, binding)
    return rebuild(formula, lambda part: _grounded(part, binding, kept))


def _aggregate(formula: Aggregate, binding: Binding) -> Formula:
    group = {each.name: binding[each.name] for each in formula.by if binding.get(each.name, OTHER) != OTHER}
    by = tuple(each for each in formula.by if each.name not in group)
    argument = None if formula.argument is None else _inside_term(formula.argument, group)
    found = replace(formula, operand=_inside(formula.operand, group), by=by, argument=argument)
    return _with_values(found, (formula.result.name,) if formula.threshold is None else (), binding)


def _latest(formula: Latest, binding: Binding) -> Formula:
    group = {each.name: binding[each.name] for each in formula.by if binding.get(each.name, OTHER) != OTHER}
    by = tuple(each for each in formula.by if each.name not in group)
    atom = replace(formula.atom, arguments=tuple(_inside_term(term, group) for term in formula.atom.arguments))
    return _with_values(replace(formula, atom=atom, by=by), variables(atom), binding)


def any_held(formula: Latest, binding: Binding) -> Formula:
    """The atom of a `latest` for its group, whatever it holds: `_` for each variable that stands there once."""
    group = {each.name: binding[each.name] for each in formula.by}
    terms = [_inside_term(term, group) for term in formula.atom.arguments]
    once = {term for term in terms if terms.count(term) == 1}
    open_ = tuple(Wildcard() if isinstance(term, Variable) and term in once else term for term in terms)
    return replace(formula.atom, arguments=open_)


def _with_values(formula: Formula, names: tuple[str, ...], binding: Binding) -> Formula:
    """The formula with an equation for each of some variables that have a value."""
    values = [
        Comparison("=", Variable(name), Constant(binding[name])) for name in names if binding.get(name, OTHER) != OTHER
    ]
    return Conjunction((formula, *values)) if values else formula


def _inside(formula: Formula, group: Binding) -> Formula:
    """What an aggregate is over, with the values of its group; all other variables keep their names."""
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(_inside_term(term, group) for term in formula.arguments))
        case Comparison():
            return replace(formula, left=_inside_term(formula.left, group), right=_inside_term(formula.right, group))
        case Aggregate():
            return _aggregate(formula, group)
        case Latest():
            return _latest(formula, group)
    return rebuild(formula, lambda part: _inside(part, group))


def _inside_term(term: Expression, group: Binding) -> Expression:
    if isinstance(term, Variable):
        if term.name in group:
            return Constant(group[term.name])
        return Wildcard() if is_wildcard(term.name) else term
    if isinstance(term, Constant | Wildcard):
        return term
    return replace(term, operands=tuple(_inside_term(each, group) for each in term.operands))


def _term(term: Expression, binding: Binding, kept: set[str]) -> Expression:
    if isinstance(term, Variable):
        value = binding.get(term.name, OTHER)
        if value == OTHER:
            return term if term.name in kept else Wildcard()
        return Constant(value)
    if isinstance(term, Constant | Wildcard):
        return term
    return replace(term, operands=tuple(_term(each, binding, kept) for each in term.operands))


def is_wildcard(name: str) -> bool:
    """Whether a variable is one that a `_` of the text has become."""
    return name[:1] == "_" and name[1:].isdigit()


def _results(formula: Formula) -> set[str]:
    own = {formula.result.name} if isinstance(formula, Aggregate) else set()
    return own.union(*map(_results, children(formula)))
