"""Parameters: constants that a program names, `parameter LIMIT = 80.`, so that a run may give them other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.plans.tree.syntax import Constant, Expression, Formula, Parameter, Rule, Statement, Value, Variable
from tidelog.plans.tree.traverse import substitute, with_terms


def with_parameters(statements: Sequence[Statement], values: Mapping[str, Value]) -> tuple[Statement, ...]:
    """The statements with a constant in place of each parameter, in rules; those named in `values` have these values.

    ValueError for a name that is not declared.
    """
    declared = {item.name: item for item in statements if isinstance(item, Parameter)}
    for name in values:
        if name not in declared:
            there = ", ".join(map("`{}`".format, declared)) or "none"
            raise ValueError(f"the program declares no parameter `{name}` (it declares: {there})")
    if not declared:
        return tuple(statements)
    given = {name: values.get(name, item.value) for name, item in declared.items()}

    def constant(variable: Variable) -> Expression:
        return Constant(given[variable.name], variable.span) if variable.name in given else variable

    def change(formula: Formula) -> Formula:
        return with_terms(formula, lambda expression: substitute(expression, constant))

    return tuple(
        replace(item, head=change(item.head), body=tuple(map(change, item.body)))
        if isinstance(item, Rule)
        else replace(item, value=given[item.name])
        if isinstance(item, Parameter)
        else item
        for item in statements
    )
