"""Check: what a program says but cannot need, told as warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tidelog.plans.diagnostics.errors import NOWHERE, Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.walk import (
    atoms,
    derived,
    head_atom,
    name_span,
    needed_for,
    occurrences,
    periods,
    statements_of,
    written,
)


def check_usage(program: syntax.Program) -> Iterator[Diagnostic]:
    """No rules at all, rules that no output needs, outputs that nothing derives, backgrounds that no rule reads."""
    rules = statements_of(program, syntax.Rule)
    if not rules:
        span = program.statements[0].span if program.statements else NOWHERE
        help = "write one, such as `alarm(X) :- hot(X)`"
        yield _warning("no-rules", "the program has no rules: it derives nothing", span, help)
    outputs = statements_of(program, syntax.Output)
    read = {atom.predicate for rule in rules for atom in atoms(*rule.body)}
    if outputs:
        yield from _unused_rules(program, rules)
    known = read | {item.predicate for item in statements_of(program, syntax.Input)}
    produced = {*derived(program), *(fact.atom.predicate for fact in statements_of(program, syntax.FactStatement))}
    calendars = {item.predicate for item in statements_of(program, syntax.CalendarDeclaration)}
    for output in outputs:
        for name in output.predicates:
            if name in known and name not in produced and name not in calendars:  # an unknown name is an error of its own
                help = "write a rule for it, or take it out of the outputs"
                span = name_span(program, output.span, name)
                yield _warning("never-derived", f"output `{name}` is derived by no rule", span, help)
    for background in statements_of(program, syntax.Background):
        if background.predicate not in read:
            message = f"no rule reads the background `{background.predicate}`"
            yield _warning("unused-background", message, background.span, "read it in a body, or take it away")
    yield from _unused_calendars(program, read)


def _unused_calendars(program: syntax.Program, read: set[str]) -> Iterator[Diagnostic]:
    calendars = statements_of(program, syntax.CalendarDeclaration)
    used = read | {name for output in statements_of(program, syntax.Output) for name in output.predicates}
    used |= {name for calendar in calendars for name in calendar.excepted}
    used |= {period.name for period in periods(program)}
    for calendar in calendars:
        if calendar.predicate not in used:
            message = f"no rule reads the calendar `{calendar.predicate}`"
            yield _warning("unused-calendar", message, calendar.span, "read it in a body, or take it away")


def _unused_rules(program: syntax.Program, rules: tuple[syntax.Rule, ...]) -> Iterator[Diagnostic]:
    needed = _needed(program, rules)
    for rule in (item for item in written(program) if isinstance(item, syntax.Rule)):
        head = head_atom(rule)
        if head is not None and head.predicate not in needed:
            help = "declare it as an `output`, or take the rule away"
            yield _warning("unused-rule", f"no output needs `{head.predicate}`", head.span, help)


def _needed(program: syntax.Program, rules: tuple[syntax.Rule, ...]) -> set[str]:
    """The outputs, the queries, what constraints read or inhibits alarms, and all that these are derived from."""
    wanted = [name for output in statements_of(program, syntax.Output) for name in output.predicates]
    wanted += [atom.predicate for alarm in statements_of(program, syntax.AlarmDeclaration) for atom in alarm.inhibitors]
    return needed_for([*wanted, *(ask.query.predicate for ask in statements_of(program, syntax.Ask))], rules)


def check_singletons(program: syntax.Program) -> Iterator[Diagnostic]:
    """A variable that occurs once joins nothing: perhaps it is misspelt."""
    for rule in (item for item in written(program) if isinstance(item, syntax.Rule)):
        inside = [item for part in rule.body for item in occurrences(part)]
        found = [*occurrences(rule.head), *inside]
        count = Counter([item.variable.name for item in found if isinstance(item.variable, syntax.Variable)])
        if 1 not in count.values():
            continue
        times = {atom.at.variable.name for atom in atoms(rule.head, *rule.body) if atom.at is not None}
        for item in inside:
            variable = item.variable
            if not isinstance(variable, syntax.Variable) or item.role not in ("positive", "left"):
                continue
            if count[variable.name] == 1 and variable.name not in times and not variable.name.startswith("_"):
                message = f"variable `{variable.name}` occurs only once"
                yield _warning("singleton-variable", message, variable.span, "write `_` if any value will do")


def _warning(code: str, message: str, span: Span, help: str) -> Diagnostic:
    return Diagnostic(code, message, span, help=help, severity="warning")
