"""Check: an `ask` asks at a time, for a predicate that there is."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree import syntax
from tidelog.plans.tree.walk import atoms, derived, statements_of


def check_asks(program: syntax.Program) -> Iterator[Diagnostic]:
    """A query has a time, since an answer holds at one, and asks for a predicate that is derived, or at least read or given.

    Where inputs are declared, an unknown predicate is another check's.
    """
    is_strict = bool(statements_of(program, syntax.Input))
    known = {*derived(program), *_given(program)}
    for ask in statements_of(program, syntax.Ask):
        query = ask.query
        if query.at is None:
            help = f"write `{format_formula(query)}@T`"
            yield Diagnostic("ask-without-time", "a query asks at a time: `@T` is missing", query.span, help=help)
        if query.predicate not in known and not is_strict:
            message = f"predicate `{query.predicate}` is asked for, but nothing derives it"
            help = "write a rule for it, or ask for another"
            yield Diagnostic("unknown-query", message, query.span, help=help)


def _given(program: syntax.Program) -> Iterator[str]:
    """The predicates that are known besides derived ones: inputs, facts, backgrounds, and those that any body reads."""
    for statement in program.statements:
        match statement:
            case syntax.Input() | syntax.Background() | syntax.CalendarDeclaration():
                yield statement.predicate
            case syntax.FactStatement():
                yield statement.atom.predicate
            case syntax.Rule():
                yield from (atom.predicate for atom in atoms(*statement.body))
