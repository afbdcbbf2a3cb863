"""Parameters: constants that a program names, `parameter LIMIT = 80.`, so that a run may give them other values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import Constant, Expression, Formula, Parameter, Rule, Statement, Value, Variable
from tidelog.plans.tree.traverse import substitute, with_terms


def with_parameters(statements: Sequence[Statement], values: Mapping[str, Value], text: str = "") -> tuple[Statement, ...]:
    """The statements with a constant in place of each parameter, in rules; those named in `values` have these values.

    ValueError for a name that is not declared, and for a value that is a text where the program has a number, or the other
    way round: comparisons of the two hold never, and would say nothing. `text` is the program's, for the place.
    """
    declared = {item.name: item for item in statements if isinstance(item, Parameter)}
    for name in values:
        if name not in declared:
            there = ", ".join(map("`{}`".format, declared)) or "none"
            raise ValueError(f"the program declares no parameter `{name}` (it declares: {there})")
        _check_fits(declared[name], values[name], text)
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


def _check_fits(parameter: Parameter, value: Value, text: str) -> None:
    """ValueError for a value that the rules cannot compare with what they compare the parameter's own with."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"the value of parameter `{parameter.name}` is no number: {value}")
    if isinstance(value, str) == isinstance(parameter.value, str):
        return
    kinds = ("a number", "a text")
    given, wanted = kinds[isinstance(value, str)], kinds[isinstance(parameter.value, str)]
    line = text.count("\n", 0, parameter.span.start) + 1
    shown = shorten(str(value))
    raise ValueError(f"line {line}: parameter `{parameter.name}` is {wanted}, and `{shown}`, its value here, is {given}")
