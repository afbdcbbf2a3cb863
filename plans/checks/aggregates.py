"""Check: aggregates and held values are over something, by variables of it, and keep their other variables to themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.language.printing import format_function
from tidelog.plans.tree import syntax
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.traverse import children, subformulas
from tidelog.plans.tree.walk import atoms, leaves, occurrences, statements_of

Held = syntax.Aggregate | syntax.Latest


def check_aggregates(program: syntax.Program) -> Iterator[Diagnostic]:
    """What `by` lists, what an aggregate is of, its window, `@T` in it, and its local variables elsewhere."""
    for rule in statements_of(program, syntax.Rule):
        yield from _check_locals(rule.body, [rule.head])
        for part in (each for formula in rule.body for each in subformulas(formula)):
            if isinstance(part, syntax.Aggregate):
                yield from _check_aggregate(part)
            elif isinstance(part, syntax.Latest):
                yield from _check_latest(part)


def _check_aggregate(part: syntax.Aggregate) -> Iterator[Diagnostic]:
    known = set(bound(part.operand))
    yield from _check_by(part, known, part.operand)
    used = [] if part.argument is None else [leaf for leaf in leaves(part.argument) if isinstance(leaf, syntax.Variable)]
    for variable in used:
        if variable.name not in known:
            message = f"`{format_function(part)}` is of a variable that the formula behind `over` does not have"
            yield Diagnostic("unsafe-variable", message, variable.span, "unbound", help=_has(known))
    yield from _check_window(part, "an aggregate")


def _check_latest(part: syntax.Latest) -> Iterator[Diagnostic]:
    known = set(variables(part.atom))
    yield from _check_by(part, known, part.atom)
    yield from _check_window(part, "`latest`")
    fixed = {variable.name for variable in part.by}
    free = [term for term in part.atom.arguments if not isinstance(term, syntax.Constant)]
    if part.atom.arguments and not any(isinstance(t, syntax.Wildcard) or t.name not in fixed for t in leaves(*free)):
        message = "`latest` is over an atom that leaves nothing open, so it is the same as `sometime`"
        help = "write a variable for what is held, such as `latest mode(S, M) by S in [5], M = on`"
        yield Diagnostic("nothing-held", message, part.span, help=help, severity="warning")
    names = [term.name for term in part.atom.arguments if isinstance(term, syntax.Variable)]
    if not part.by and len(names) > 1:
        message = f"`latest` without `by` is one group: of all `{part.atom.predicate}` together the last is held"
        help = f"for the last of each, write `by {names[0]}` behind it; name what is not wanted `_` if one group is meant"
        yield Diagnostic("one-group", message, part.span, help=help, severity="warning")


def _check_by(part: Held, known: set[str], operand: syntax.Formula) -> Iterator[Diagnostic]:
    for place, variable in enumerate(part.by):
        if variable in part.by[:place]:
            yield Diagnostic("repeated-by", f"`by` lists `{variable.name}` twice", variable.span, help="once is enough")
        if variable.name not in known:
            what = "formula behind `over`" if isinstance(part, syntax.Aggregate) else "atom"
            message = f"`by` lists `{variable.name}`, but the {what} has no such variable"
            notes = (Note(operand.span, "this is grouped"),)
            yield Diagnostic("unknown-by", message, variable.span, "not in it", notes, _has(known))


def _has(known: set[str]) -> str:
    return f"it has {', '.join(f'`{name}`' for name in sorted(known))}" if known else "it has no variables"


def _check_window(part: Held, what: str) -> Iterator[Diagnostic]:
    window = part.window
    if isinstance(window, syntax.Period):
        pass
    elif window.tuples:
        message = f"{what} goes over a time: a window of the last {window.size} facts, `[#{window.size}]`, is not supported"
        yield Diagnostic("bad-window", message, window.span, help="write a length of time, such as `in [10]`")
    elif isinstance(part, syntax.Aggregate) and window.size == math.inf:
        message = "an aggregate goes over a finite time"
        yield Diagnostic("bad-window", message, window.span, help="write how long, such as `in [10]`")
    for atom in atoms(part.operand if isinstance(part, syntax.Aggregate) else part.atom):
        if atom.at is not None:
            message = f"`@{atom.at.variable.name}` cannot stand in {what}: there, each time point counts by itself"
            yield Diagnostic("bad-window", message, atom.at.span, help="give this part a rule of its own")


def _check_locals(parts: Iterable[syntax.Formula], outside: Iterable[syntax.Formula]) -> Iterator[Diagnostic]:
    """The variables of an aggregate's formula, but for those of `by`, are no one's outside; one of that name is another."""
    parts = list(parts)
    found = [part for formula in parts for part in _outermost(formula)]
    if not found:
        return
    around = list(outside)
    binding = set(bound(*parts))
    for part in found:
        own = {variable.name for variable in part.by}
        local = set(variables(part.operand)) - own
        elsewhere = [item for formula in (*around, *parts) for item in occurrences(formula)]
        names = [item.variable for item in elsewhere if isinstance(item.variable, syntax.Variable)]
        used = next((variable for variable in names if variable.name in local), None)
        if used is not None:
            yield _shadowed(part, used) if used.name in binding else _local(part, used)
        yield from _check_locals([part.operand], [])


def _outermost(formula: syntax.Formula) -> Iterator[syntax.Aggregate]:
    if isinstance(formula, syntax.Aggregate):
        yield formula
        return
    for child in children(formula):
        yield from _outermost(child)


def _shadowed(part: syntax.Aggregate, used: syntax.Variable) -> Diagnostic:
    name = used.name
    message = f"variable `{name}` here is another than `{name}` in `{format_function(part)} over …`, where it is local"
    notes = (Note(part.operand.span, "counted over here"),)
    help = f"write `by {name}` if they are to be the same; otherwise give one of the two another name"
    return Diagnostic("shadowed-variable", message, used.span, "used outside", notes, help, severity="warning")


def _local(part: syntax.Aggregate, used: syntax.Variable) -> Diagnostic:
    name = used.name
    message = f"variable `{name}` is local to `{format_function(part)} over …`: outside of it, it has no value"
    notes = (Note(part.operand.span, "counted over here"),)
    listed = ", ".join((*(variable.name for variable in part.by), name))
    by = f"by ({listed})" if part.by else f"by {name}"
    help = f"write `{by}` if there is to be a value for each `{name}`; otherwise give one of the two another name"
    return Diagnostic("local-variable", message, used.span, "used outside", notes, help)
