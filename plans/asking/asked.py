"""From `ask` to questions: the rules that a query needs, as written but for their units, and what streams bring to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tidelog.plans.asking.asked_thresholds import name_thresholds, reason_against
from tidelog.plans.asking.time_strata import check_time_strata
from tidelog.plans.calendars.ticks import TickCalendar
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.language.printing import format_formula
from tidelog.plans.normal.program import NormalProgram, begin
from tidelog.plans.normal.times.resolve_times import resolve_times
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.declared.machines import written_head
from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Aggregate, Ask, Atom, Latest, Program, Rule
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, statements_of


def questions_of(
    program: Program,
    schema: Schema,
    delays: Mapping[str, int],
    calendars: Mapping[str, TickCalendar],
    depth: int | None = None,
) -> tuple[tuple[Question, ...], tuple[Diagnostic, ...]]:
    """The questions of a checked program, and what keeps them from being answered.

    ProgramError where a time of the program cannot be resolved.
    """
    queries = tuple(dict.fromkeys(ask.query for ask in statements_of(program, Ask)))
    if not queries:
        return (), ()
    resolved = resolve_times(begin(program))
    names: set[str] = set()
    found = tuple(_question(query, names, resolved, schema, delays, calendars, depth) for query in queries)
    wrong: dict[tuple[str, Span], Diagnostic] = {}
    for question in found:
        refused = [*_not_asked(question), *_machines_of(question)]
        for problem in refused or check_time_strata(question):
            wrong.setdefault((problem.code, problem.span), problem)  # the same recursion is told once
    return found, tuple(wrong.values())


def _question(
    query: Atom,
    names: set[str],
    resolved: NormalProgram,
    schema: Schema,
    delays: Mapping[str, int],
    calendars: Mapping[str, TickCalendar],
    depth: int | None,
) -> Question:
    rules = name_thresholds(_needed(query.predicate, resolved))
    read = {query.predicate, *(name for rule in rules for part in rule.body for name in predicates(part))}
    inputs = frozenset(name for name in read if name in schema.predicates and schema.predicates[name].accepts_input)
    name = query.predicate if query.predicate not in names else format_formula(query)
    names.add(name)
    own = {name: delay for name, delay in delays.items() if name in inputs}
    told = {name: calendar for name, calendar in calendars.items() if name in read}
    return Question(name=name, query=query, rules=rules, inputs=inputs, delays=own, depth=depth, calendars=told)


def _held(question: Question) -> Iterator[Aggregate | Latest]:
    for rule in question.rules:
        for part in (each for formula in rule.body for each in subformulas(formula)):
            if isinstance(part, Aggregate | Latest):
                yield part


def _not_asked(question: Question) -> Iterator[Diagnostic]:
    """What no hypothetical answer can be found for: it follows from all facts together, those that may still come too."""
    for part in _held(question):
        asked = format_formula(question.query)
        if isinstance(part, Aggregate):
            message = f"`ask` does not take this aggregate, on which `{asked}` depends: {reason_against(part)}"
        else:
            message = f"`ask` does not take `latest`: `{asked}` depends on one"
        help = "declare what you want as an `output`, and run it"
        yield Diagnostic("not-in-ask", message, part.span, help=help)


def _machines_of(question: Question) -> Iterator[Diagnostic]:
    """What a machine holds rests on the last assignment, however long ago, and on all that did not come since."""
    assigning = [rule for rule in question.rules if rule.assigns == "value"]
    assigned = {written_head(rule)[0].predicate: rule for rule in reversed(assigning)}
    written = (rule for rule in question.rules if rule.assigns != "holds")
    for atom in (question.query, *(atom for rule in written for atom in atoms(*rule.body))):
        if atom.predicate in assigned:
            name, asked = atom.predicate, format_formula(question.query)
            what = "is" if atom is question.query else f"depends on `{name}`, which is"
            message = (
                f"`ask` does not follow assignments: `{asked}` {what} assigned by `:=`, and holds until the next assignment"
            )
            help = (
                f"declare `{name}` as an `output`, and run it; or ask for what leads to an assignment, in a rule of its own"
            )
            notes = (Note(assigned[name].span, "assigned here"),)
            yield Diagnostic("not-in-ask", message, atom.span, notes=notes, help=help)
            return


def _needed(predicate: str, resolved: NormalProgram) -> tuple[Rule, ...]:
    """The rules that a predicate depends on, in the program's order."""
    heads = [head_predicate(rule.head) for rule in resolved.rules]
    reads: dict[str, list[str]] = {}
    for head, rule in zip(heads, resolved.rules, strict=True):
        if head is not None:
            reads.setdefault(head, []).extend(name for part in rule.body for name in predicates(part))
    needed = reachable([predicate], lambda name: reads.get(name, ()))
    return tuple(rule for head, rule in zip(heads, resolved.rules, strict=True) if head in needed)


def asked_arities(program: Program) -> dict[str, int]:
    """The predicates of a program that asks, which its normal form need not mention, and how many arguments each takes."""
    asks = statements_of(program, Ask)
    return {atom.predicate: len(atom.arguments) for atom in _mentioned(program, asks)} if asks else {}


def _mentioned(program: Program, asks: tuple[Ask, ...]) -> Iterator[Atom]:
    for rule in statements_of(program, Rule):
        yield from atoms(rule.head, *rule.body)
    for ask in asks:
        yield ask.query


def delays_of(normal: NormalProgram, timeline: Timeline) -> dict[str, int]:
    """How far behind the watermark facts of the inputs may begin, encoded, for those that say so."""
    declared = {item.predicate: Fraction(item.delay) for item in normal.declarations if item.delay}
    return {name: timeline.encode_point(delay) for name, delay in declared.items()}
