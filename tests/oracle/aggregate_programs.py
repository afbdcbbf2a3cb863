"""What drawn programs have of aggregates: their functions, and formulas with other names for what is local to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import get_args

from hypothesis import strategies as st

from oracle.grounding import bound_variables
from tidelog.plans.tree.syntax import (
    Aggregate,
    AggregateFunction,
    Atom,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Latest,
    Negation,
    Variable,
    Window,
    WindowSize,
)

FUNCTIONS: tuple[AggregateFunction, ...] = get_args(AggregateFunction)
_OPERATORS: tuple[ComparisonOperator, ...] = ("=", "!=", "<", "<=", ">", ">=")


@st.composite
def groups(draw: st.DrawFn, names: list[str]) -> tuple[Variable, ...]:
    """What `by` lists of some variables."""
    by = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    return tuple(map(Variable, by))


@st.composite
def aggregates(draw: st.DrawFn, parts: list[Formula], size: WindowSize, results: str = "AB") -> list[Formula]:
    """An aggregate over a conjunction, now and then with a comparison of its result; its local variables are its own."""
    names = sorted(bound_variables(parts))
    by = draw(groups(names))
    local = {name: f"L{name}" for name in names if Variable(name) not in by}
    operand = renamed(parts[0] if len(parts) == 1 else Conjunction(tuple(parts)), local)
    values = sorted(bound_variables([operand]))
    function = draw(st.sampled_from(FUNCTIONS if values else ("count",)))
    argument = None if function == "count" else Variable(draw(st.sampled_from(values)))
    fraction = Fraction(draw(st.sampled_from(("0", "0.25", "0.5", "0.9", "1")))) if function == "quantile" else None
    result = Variable(draw(st.sampled_from(results)))
    literal = Aggregate(result, function, argument, operand, size, by, fraction)
    if draw(st.booleans()):
        return [literal]
    return [literal, Comparison(draw(st.sampled_from(_OPERATORS)), result, Constant(draw(st.integers(0, 4))))]


@st.composite
def thresholds(draw: st.DrawFn, atom: Atom, size: WindowSize) -> list[Formula]:
    """A count of an atom's time points that more of them can only raise, for each of its rows."""
    by = tuple(argument for argument in atom.arguments if isinstance(argument, Variable))
    counted = Aggregate(Variable("N"), "count", None, atom, size, by)
    return [counted, Comparison(">=", counted.result, Constant(draw(st.integers(1, 3))))]


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other names for some variables."""

    def term(argument: Expression) -> Expression:
        return Variable(names.get(argument.name, argument.name)) if isinstance(argument, Variable) else argument

    match formula:
        case Atom():
            return replace(formula, arguments=tuple(map(term, formula.arguments)))
        case Comparison():
            return replace(formula, left=term(formula.left), right=term(formula.right))
        case Conjunction():
            return Conjunction(tuple(renamed(part, names) for part in formula.parts))
        case Latest():
            atom = renamed(formula.atom, names)
            assert isinstance(atom, Atom)
            return replace(formula, atom=atom, by=tuple(Variable(names.get(v.name, v.name)) for v in formula.by))
        case Negation() | Window():
            return replace(formula, operand=renamed(formula.operand, names))
    raise TypeError(f"not drawn below an aggregate: {formula}")
