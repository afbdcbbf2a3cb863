"""What the checks share: the statements of one kind, the atoms and the variables of a rule, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.machines import is_of_machine
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.traverse import children, subformulas

Check = Callable[[syntax.Program], Iterable[Diagnostic]]
"""One check: a program to what is wrong with it. It raises nothing."""

Role = Literal["positive", "negated", "left", "compared", "grouped"]
"""How a variable occurs: bound here, under `not`, on the left of since or until, in a comparison, or by an aggregate."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One variable, or `_`, where it stands in a formula; `operator` is the since or until that it is left of."""

    variable: syntax.Variable | syntax.Wildcard
    role: Role
    operator: str = ""


def statements_of(program: syntax.Program, kind: type[_T]) -> tuple[_T, ...]:
    """The statements of one kind, in order."""
    return tuple(statement for statement in program.statements if isinstance(statement, kind))


def written(program: syntax.Program) -> tuple[syntax.Statement, ...]:
    """The statements that the text has, without those that assignments and alarms stand for."""
    alarms = {item.span for item in statements_of(program, syntax.AlarmDeclaration)}
    return tuple(
        item
        for item in program.statements
        if not (isinstance(item, syntax.Rule) and item.assigns == "holds")
        and (item.span not in alarms or isinstance(item, syntax.AlarmDeclaration))
        and not (isinstance(item, syntax.Output) and item.is_silent)
    )


def supplied(program: syntax.Program) -> tuple[syntax.Background | syntax.CalendarDeclaration, ...]:
    """The statements that bring facts of their own: backgrounds and calendars."""
    return (*statements_of(program, syntax.Background), *statements_of(program, syntax.CalendarDeclaration))


def name_span(program: syntax.Program, within: Span, name: str) -> Span:
    """Where a name stands in a statement that keeps it as plain text; the whole stretch if it is not found."""
    found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(program.text, within.start, within.end)
    return Span(*found.span()) if found else within


def atoms(*formulas: syntax.Formula) -> Iterator[syntax.Atom]:
    """Every atom in formulas, in order."""
    waiting = list(formulas[::-1])
    while waiting:
        formula = waiting.pop()
        if isinstance(formula, syntax.Atom):
            yield formula
        elif not isinstance(formula, syntax.Comparison):
            waiting += children(formula)[::-1]


def head_atom(rule: syntax.Rule) -> syntax.Atom | None:
    """The atom that a rule derives, below its boxes; None for `bottom` and for what is no head."""
    head = rule.head
    while isinstance(head, syntax.Unary):
        head = head.operand
    return head if isinstance(head, syntax.Atom) else None


def periods(program: syntax.Program) -> Iterator[syntax.Period]:
    """The periods of aggregates, `per day`, in order."""
    for rule in statements_of(program, syntax.Rule):
        for part in (each for formula in rule.body for each in subformulas(formula)):
            if isinstance(part, syntax.Aggregate) and isinstance(part.window, syntax.Period):
                yield part.window


def is_constraint(statement: syntax.Statement) -> bool:
    """Whether it is a rule that derives `bottom`."""
    return isinstance(statement, syntax.Rule) and head_atom(statement) is None


def derived(program: syntax.Program) -> dict[str, syntax.Atom]:
    """The predicates that rules derive, each with its first head."""
    found: dict[str, syntax.Atom] = {}
    for rule in statements_of(program, syntax.Rule):
        head = head_atom(rule)
        if head is not None:
            found.setdefault(head.predicate, head)
    return found


def needed_for(wanted: Iterable[str], rules: Iterable[syntax.Rule]) -> set[str]:
    """Some predicates, what constraints read, and all that these are derived from."""
    waiting = list(wanted)
    reads: dict[str, set[str]] = {}
    for rule in rules:
        head = head_atom(rule)
        names = {atom.predicate for atom in atoms(*rule.body)}
        if head is None:
            waiting += names
        else:
            reads.setdefault(head.predicate, set()).update(names)
    return reachable(waiting, lambda name: reads.get(name, ()))


def forward_part(program: syntax.Program, keep: Iterable[str] | None = None) -> syntax.Program:
    """A program without the rules that only `ask` needs; all of it where it asks nothing.

    `keep` names the predicates that are wanted in place of the outputs.
    """
    if keep is None and not statements_of(program, syntax.Ask):
        return program
    declared = [name for output in statements_of(program, syntax.Output) for name in output.predicates]
    waiting = (declared or [name for name in derived(program) if not is_of_machine(name)]) if keep is None else list(keep)
    needed = needed_for(waiting, statements_of(program, syntax.Rule))
    kept = tuple(item for item in program.statements if not isinstance(item, syntax.Rule) or _derives(item, needed))
    return replace(program, statements=kept)


def _derives(rule: syntax.Rule, needed: set[str]) -> bool:
    head = head_atom(rule)
    return head is None or head.predicate in needed


def named_outputs(program: syntax.Program) -> dict[str, tuple[syntax.Field, ...]]:
    """The outputs whose arguments have names, with their fields."""
    return {name: fields for output in statements_of(program, syntax.Output) for name, fields in output.named}


def leaves(*expressions: syntax.Expression) -> Iterator[syntax.Variable | syntax.Wildcard]:
    """The variables and wildcards of terms and expressions."""
    for expression in expressions:
        if isinstance(expression, syntax.Variable | syntax.Wildcard):
            yield expression
        elif isinstance(expression, syntax.Arithmetic):
            yield from leaves(*expression.operands)


def atom_leaves(atom: syntax.Atom) -> Iterator[syntax.Variable | syntax.Wildcard]:
    """The variables of an atom's arguments, then of its `@T`."""
    yield from leaves(*atom.arguments)
    if atom.at is not None:
        yield atom.at.variable


def occurrences(formula: syntax.Formula, role: Role = "positive", operator: str = "") -> Iterator[Occurrence]:
    """Every variable of a formula with its role; what is under `not` or left of since stays so further down."""
    match formula:
        case syntax.Atom():
            for leaf in atom_leaves(formula):
                yield Occurrence(leaf, role, operator)
        case syntax.Comparison():
            for leaf in leaves(formula.left, formula.right):
                yield Occurrence(leaf, "compared" if role == "positive" else role, operator)
        case syntax.Aggregate():  # its other variables are its own
            for leaf in (*formula.by, formula.result):
                yield Occurrence(leaf, "grouped" if role == "positive" else role, operator)
        case syntax.Negation():
            yield from occurrences(formula.operand, "negated")
        case syntax.Binary():
            side: Role = "left" if role == "positive" else role
            yield from occurrences(formula.left, side, operator or formula.operator)
            yield from occurrences(formula.right, role, operator)
        case _:
            for child in children(formula):
                yield from occurrences(child, role, operator)
