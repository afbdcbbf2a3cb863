"""What stands behind a `not`, where it is more than an atom, as text with the values that are known."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.plans.language.printing import format_formula
from tidelog.plans.plan.questions import Open
from tidelog.plans.tree.syntax import Atom, Conjunction, Constant, Expression, Formula, Value, Variable
from tidelog.plans.tree.traverse import substitute, with_terms


def text_of(formula: Formula, columns: Sequence[str], terms: Sequence[Value | Open]) -> str:
    """A formula with terms in place of its variables `columns`; a conjunction without its parentheses."""
    values: dict[str, Expression] = {
        column: Variable(str(term)) if isinstance(term, Open) else Constant(term)
        for column, term in zip(columns, terms, strict=True)
    }
    shown = with_terms(formula, lambda term: substitute(term, lambda variable: values.get(variable.name, variable)))
    text = format_formula(shown)
    return text[1:-1] if isinstance(formula, Conjunction) else text


def arguments_of(atom: Atom, columns: Sequence[str], terms: Sequence[Value | Open]) -> tuple[Value | Open, ...]:
    """The arguments of an atom with terms in place of its variables; `_` stays open."""
    values = dict(zip(columns, terms, strict=True))
    return tuple(
        values[term.name] if isinstance(term, Variable) else term.value if isinstance(term, Constant) else Open("_")
        for term in atom.arguments
    )
