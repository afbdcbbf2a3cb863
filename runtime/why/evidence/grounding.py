"""Formulas with values for their variables, as texts show them and absences name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from tidelog.plans.tree.traverse import rebuild, subformulas, substitute

OTHER: Value = "\0other"
"""The constant that occurs nowhere: it stands for all those that no fact has."""

Binding = Mapping[str, Value]


def grounded(formula: Formula, binding: Binding) -> Formula:
    """The formula with values for its variables, and wildcards for those that have none.

    What is local to an aggregate keeps its name, and so does the result of one that has no value. What `latest` holds keeps
    its name too, with its value beside it, for a constant in its atom would say of what it is the last.
    """
    kept = {part.result.name for part in subformulas(formula) if isinstance(part, Aggregate)}

    def value(variable: Variable) -> Expression:
        found = binding.get(variable.name, OTHER)
        if found == OTHER:
            return variable if variable.name in kept else Wildcard()
        return Constant(found)

    return _with_terms(formula, value, binding)


def _with_terms(formula: Formula, value: Callable[[Variable], Expression], binding: Binding) -> Formula:
    """The formula with something in place of each variable, but for what is local to aggregates, and what is held."""
    match formula:
        case Atom():
            return replace(formula, arguments=tuple(substitute(term, value) for term in formula.arguments))
        case Comparison():
            return replace(formula, left=substitute(formula.left, value), right=substitute(formula.right, value))
        case Aggregate():
            group, by = _grouped(formula, binding)
            argument = None if formula.argument is None else substitute(formula.argument, _of_group(group))
            inside = _with_terms(formula.operand, _of_group(group), group)
            found = replace(formula, operand=inside, by=by, argument=argument)
            return _with_values(found, (formula.result.name,) if formula.threshold is None else (), binding)
        case Latest():
            group, by = _grouped(formula, binding)
            terms = tuple(substitute(term, _of_group(group)) for term in formula.atom.arguments)
            atom = replace(formula.atom, arguments=terms)
            return _with_values(replace(formula, atom=atom, by=by), variables(atom), binding)
    return rebuild(formula, lambda part: _with_terms(part, value, binding))


def _grouped(part: Aggregate | Latest, binding: Binding) -> tuple[Binding, tuple[Variable, ...]]:
    """The values of what `by` lists, and what of it has none."""
    group = {each.name: binding[each.name] for each in part.by if binding.get(each.name, OTHER) != OTHER}
    return group, tuple(each for each in part.by if each.name not in group)


def any_held(formula: Latest, binding: Binding) -> Formula:
    """The atom of a `latest` for its group, whatever it holds: `_` for each variable that stands there once."""
    group = {each.name: binding[each.name] for each in formula.by}
    terms = [substitute(term, _of_group(group)) for term in formula.atom.arguments]
    once = {term for term in terms if terms.count(term) == 1}
    open_ = tuple(Wildcard() if isinstance(term, Variable) and term in once else term for term in terms)
    return replace(formula.atom, arguments=open_)


def _with_values(formula: Formula, names: tuple[str, ...], binding: Binding) -> Formula:
    """The formula with an equation for each of some variables that have a value."""
    values = [
        Comparison("=", Variable(name), Constant(binding[name])) for name in names if binding.get(name, OTHER) != OTHER
    ]
    return Conjunction((formula, *values)) if values else formula


def _of_group(group: Binding) -> Callable[[Variable], Expression]:
    """What a variable is inside an aggregate: a value of the group, a wildcard again, or itself."""

    def value(variable: Variable) -> Expression:
        if variable.name in group:
            return Constant(group[variable.name])
        return Wildcard() if is_wildcard(variable.name) else variable

    return value


def is_wildcard(name: str) -> bool:
    """Whether a variable is one that a `_` of the text has become."""
    return name[:1] == "_" and name[1:].isdigit()
