"""Check: what has a meaning on integer timelines only is refused on others."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import statements_of

Found = tuple[str, Span]
"""What integer timelines alone have, and where."""


def check_supported(program: syntax.Program) -> Iterator[Diagnostic]:
    """`ask`, aggregates, tuple windows, stepped windows and `@T`, which mean nothing on a rational timeline."""
    timelines = statements_of(program, syntax.TimelineDeclaration)
    is_integer = bool(timelines) and timelines[0].kind == "integer"
    for what, span in () if is_integer else _discrete(program):
        message = f"{what} needs `timeline integer`"
        yield Diagnostic("needs-integer-timeline", message, span, help="declare `timeline integer`")


def _discrete(program: syntax.Program) -> Iterator[Found]:
    """What means something on integer timelines alone."""
    for rule in statements_of(program, syntax.Rule):
        for formula in (rule.head, *rule.body):
            yield from _in_formula(formula)
    for ask in statements_of(program, syntax.Ask):
        yield "`ask`", ask.span


def _in_formula(formula: syntax.Formula) -> Iterator[Found]:
    inside_window: set[int] = set()
    for part in subformulas(formula):
        if isinstance(part, syntax.Window):
            found = _in_window(part)
            if found is not None:
                inside_window.add(id(part.operand))  # one report is enough for `p(X)@T in [5]`
                yield found
        elif isinstance(part, syntax.Aggregate):
            yield "an aggregate", part.span
        elif isinstance(part, syntax.Latest) and part.window.step is not None:
            yield "a stepped window `in [n step d]`", part.window.span
        elif isinstance(part, syntax.Atom) and part.at is not None and id(part) not in inside_window:
            shown = part.at.variable.name
            yield f"`@{shown}`", part.at.span


def _in_window(part: syntax.Window) -> Found | None:
    window = part.window
    if window.tuples:
        return "a tuple window `in [#n]`", window.span
    if window.step is not None:
        return "a stepped window `in [n step d]`", window.span
    if part.mode == "at":
        return "`@T` in a window", part.span
    return None
