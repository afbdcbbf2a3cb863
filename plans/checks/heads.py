"""Check: a head is an atom, boxes over an atom, or `bottom`."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.tree import syntax
from tidelog.plans.tree.walk import statements_of


def check_heads(program: syntax.Program) -> Iterator[Diagnostic]:
    """A rule derives one atom, at times that its body fixes: no choice, no negation, no second atom."""
    for rule in statements_of(program, syntax.Rule):
        if isinstance(rule.head, syntax.Truth) and not rule.head.value:
            continue
        wrong = rule.head
        while isinstance(wrong, syntax.Unary) and wrong.operator.startswith("box"):
            wrong = wrong.operand
        if isinstance(wrong, syntax.Atom) and wrong.at is not None and wrong is not rule.head:
            message = "a head cannot be a box over an atom with a time of its own"
            help = "write the box over the atom alone, or `@T` without the box"
            yield Diagnostic("bad-head", message, wrong.at.span, help=help)
        if not isinstance(wrong, syntax.Atom):
            what, help = _explain(wrong, wrong is rule.head)
            yield Diagnostic("bad-head", f"a head cannot be {what}", wrong.span, help=help)


def _explain(formula: syntax.Formula, is_whole: bool) -> tuple[str, str]:
    """What stands in the head, and what to write in its place."""
    match formula:
        case syntax.Truth(value=True):
            return "`top`, which always holds", "take the rule away"
        case syntax.Truth():
            return "`bottom` below an operator", "write `bottom` alone, and the operator in the body"
        case syntax.Unary():
            return f"`{formula.operator}`, which leaves open when it holds", "use a box, or move it into the body"
        case syntax.Conjunction():
            return "a conjunction", "write one rule for each atom"
        case syntax.Comparison():
            return "a comparison", "write `bottom :- ...` with the opposite comparison in the body"
        case syntax.Negation():
            return "a negation", "write `bottom :- ...` with the atom in the body"
        case syntax.Binary():
            return f"`{formula.operator}`", "move it into the body"
    return "a window", "move it into the body" if is_whole else "use a box over an atom"
