"""Check: a tuple window counts the stream's own facts, so it holds one atom over an input."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import derived, name_span, statements_of


def check_tuple_windows(program: syntax.Program) -> Iterator[Diagnostic]:
    """What stands in `[#n]`, and what `[#n of p, q]` names (Bazoobandi et al. 2017, section 2.1, on derived atoms)."""
    others = _others(program)
    for rule in statements_of(program, syntax.Rule):
        for part in (each for formula in rule.body for each in subformulas(formula)):
            if isinstance(part, syntax.Window) and part.window.tuples:
                yield from _check_operand(part, others)
                yield from _check_named(program, part.window, others)


def _others(program: syntax.Program) -> dict[str, str]:
    """The predicates that are no inputs, and where their facts come from."""
    inputs = {item.predicate for item in statements_of(program, syntax.Input)}
    found = {fact.atom.predicate: "stated by the program" for fact in statements_of(program, syntax.FactStatement)}
    found |= {item.predicate: "a background" for item in statements_of(program, syntax.Background)}
    found |= {item.predicate: "a calendar" for item in statements_of(program, syntax.CalendarDeclaration)}
    found = {name: what for name, what in found.items() if name not in inputs}
    return found | dict.fromkeys(derived(program), "derived by a rule")


def _check_operand(window: syntax.Window, others: dict[str, str]) -> Iterator[Diagnostic]:
    atom = window.operand
    if not isinstance(atom, syntax.Atom):
        message = "a tuple window holds one atom, not a formula"
        yield Diagnostic("bad-window", message, atom.span, help="write a window for each atom, such as `p(X) in [#3]`")
        return
    if atom.at is not None and window.mode != "at":
        message = f"`{window.mode}` and `@{atom.at.variable.name}` do not go together in a tuple window"
        yield Diagnostic("bad-window", message, window.span, help=f"take `{window.mode}` away, or the time")
    if atom.predicate in others:
        message = f"a tuple window counts input facts, but `{atom.predicate}` is {others[atom.predicate]}"
        help = "put an input into it, or use a time window, such as `in [5]`"
        yield Diagnostic("bad-window", message, atom.span, help=help)
    elif window.window.of and atom.predicate not in window.window.of:
        names = ", ".join(map(format_predicate, (*window.window.of, atom.predicate)))
        message = f"the window does not count `{atom.predicate}`, so it never holds it"
        size = f"[#{window.window.size} of {names}]"
        yield Diagnostic("bad-window", message, atom.span, help=f"write `{size}`")


def _check_named(program: syntax.Program, window: syntax.WindowSize, others: dict[str, str]) -> Iterator[Diagnostic]:
    for name in window.of:
        if name in others:
            message = f"a tuple window counts input facts, but `{name}` is {others[name]}"
            yield Diagnostic("bad-window", message, name_span(program, window.span, name), help="name inputs alone")
