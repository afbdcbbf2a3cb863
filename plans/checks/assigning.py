"""Check: two rules that assign different values whenever one of them assigns any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.language.printing import format_term
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.machines import takes_away, written_head
from tidelog.plans.tree.traverse import substitute, with_terms
from tidelog.plans.tree.walk import statements_of


def check_assigning(program: syntax.Program) -> Iterator[Diagnostic]:
    """Where all that one rule asks for is asked for by another, both assign at one time: both values hold then."""
    rules: dict[str, list[syntax.Rule]] = {}
    for rule in statements_of(program, syntax.Rule):
        if rule.assigns == "value" and not takes_away(rule):
            rules.setdefault(written_head(rule)[0].predicate, []).append(rule)
    for name, own in rules.items():
        for first, second in combinations(own, 2):
            values = [written_head(rule)[1] for rule in (first, second)]
            if (
                all(isinstance(value, syntax.Constant) for value in values)
                and values[0] != values[1]
                and _meet(first, second)
            ):
                shown = " and ".join(f"`{format_term(value)}`" for value in values)
                message = f"`{name}` is assigned {shown} at one time, and both hold until the next assignment"
                help = "let one of the rules ask for what the other one excludes"
                notes = (Note(first.span, "by this rule, too"),)
                yield Diagnostic("assigned-twice", message, second.span, "assigned here", notes, help, "warning")


def _meet(first: syntax.Rule, second: syntax.Rule) -> bool:
    one, other = _asked(first), _asked(second)
    return one is not None and other is not None and (one <= other or other <= one)


def _asked(rule: syntax.Rule) -> set[syntax.Formula] | None:
    """What a body asks for, with the key's variables by their places; None where the key is no list of variables."""
    names: dict[str, str] = {}
    for number, term in enumerate(written_head(rule)[0].arguments):
        if not isinstance(term, syntax.Variable) or term.name in names:
            return None
        names[term.name] = f"K{number}'"

    def renamed(expression: syntax.Expression) -> syntax.Expression:
        return substitute(expression, lambda variable: replace(variable, name=names.get(variable.name, variable.name)))

    return {with_terms(part, renamed) for part in rule.body}
