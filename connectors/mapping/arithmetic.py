"""Arithmetic in a gateway's file, `(X - 32) * 5 / 9`: the expressions of rules, with one variable."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.arithmetic import COMPUTE
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Arithmetic, Atom, Comparison, Constant, Expression, Rule, Variable

Number = int | float
Convert = Callable[[Number], Number]

_HEAD = "converted(Y) :- given(X), Y = "


def read_conversion(text: str) -> Convert:
    """What computes the expression; it raises DataError where there is no result. SpecError for what is no expression.

    >>> read_conversion("(X - 32) * 5 / 9")(212)
    100
    """
    compute = _compile(_expression(text), text)

    def convert(given: Number) -> Number:
        try:
            return canonical(compute(given))
        except (ArithmeticError, ValueError) as error:
            raise DataError(f"`{text}` has no result for {given!r}: {error}") from None

    return convert


def _expression(text: str) -> Expression:
    """The expression, parsed as the rest of a rule that could hold nothing else."""
    try:
        statements = parse(f"{_HEAD}{text}.").statements
    except ProgramError as error:
        raise SpecError(f"`{text}` is no arithmetic over X: {error.diagnostics[0].message}") from None
    rule = statements[0] if len(statements) == 1 else None
    if isinstance(rule, Rule) and len(rule.body) == 2:
        given, found = rule.body
        if isinstance(given, Atom) and isinstance(found, Comparison) and found.operator == "=":
            return found.right
    raise SpecError(f"`{text}` is no arithmetic over X, such as `(X - 32) * 5 / 9`")


def _compile(expression: Expression, text: str) -> Callable[[Number], Number]:
    if isinstance(expression, Variable) and expression.name == "X":
        return lambda given: given
    if isinstance(expression, Constant) and not isinstance(expression.value, str):
        value = expression.value
        return lambda given: value
    if isinstance(expression, Arithmetic):
        apply = COMPUTE[expression.operator]
        parts = [_compile(operand, text) for operand in expression.operands]
        if len(parts) == 2:
            left, right = parts
            return lambda given: apply(left(given), right(given))
        return lambda given: apply(*[part(given) for part in parts])
    raise SpecError(f"`{text}`: arithmetic has numbers and X, and nothing else")
