"""Assignments: what `mode(M) := running :- start(M).` stands for.

It says that `mode(M)` is assigned `running`, which is a predicate of its own, `'mode :='`, that holds where the body does.
`none` is assigned as any value is, also by a variable, but never holds. What holds is told by a rule that no text has:

    mode(M, V) :- not 'mode := other'(M, V) since(0,inf) 'mode :='(M, V), V != none.

(on integers `since[1,inf)`), and another value, or none, is assigned to what holds by

    'mode := other'(M, V) :- mode(M, V), 'mode :='(M, W), V != W.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.tree.names import fresh_name
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Comparison,
    Constant,
    Formula,
    Interval,
    Negation,
    Rule,
    Statement,
    Term,
    TimelineDeclaration,
    Variable,
)

_ASSIGNED, _OTHER = " :=", " := other"
NOTHING = "none"
"""Where this is assigned, the key has no value any more."""
_BEFORE = {
    True: Interval(Fraction(1), math.inf, right_open=True),
    False: Interval(Fraction(0), math.inf, left_open=True, right_open=True),
}
"""All that lies before, on an integer timeline and on another."""


def is_of_machine(predicate: str) -> bool:
    """Whether a predicate tells what is assigned: it is no answer by itself."""
    return _ASSIGNED in predicate


def machine_of(predicate: str) -> str:
    """The predicate that is assigned to."""
    return predicate.partition(_ASSIGNED)[0]


def assigned_of(predicate: str) -> str:
    """The predicate that says what is assigned to another."""
    return predicate + _ASSIGNED


def assigning(head: Atom, value: Term, body: tuple[Formula, ...], span: Span) -> Rule:
    """The rule that an assignment is."""
    assigned = Atom(head.predicate + _ASSIGNED, (*head.arguments, value), span=head.span)
    return Rule(assigned, body, span, "value")


def written_head(rule: Rule) -> tuple[Atom, Term]:
    """What stands on both sides of the `:=` of an assignment."""
    head = rule.head
    if not isinstance(head, Atom):
        raise TypeError(f"no assignment: {rule!r}")
    name, value = machine_of(head.predicate), head.arguments[-1]
    if not isinstance(value, Variable | Constant):
        raise TypeError(f"no assignment: {rule!r}")
    return Atom(name, head.arguments[:-1], span=head.span), value


def takes_away(rule: Rule) -> bool:
    """Whether an assignment is one of `none`, by its text."""
    return written_head(rule)[1] == Constant(NOTHING)


def with_machines(statements: Sequence[Statement]) -> tuple[tuple[Statement, ...], list[Diagnostic]]:
    """The statements, and the rules that tell what is assigned; what is wrong with assignments."""
    found: dict[str, list[Rule]] = {}
    for item in statements:
        if isinstance(item, Rule) and item.assigns:
            found.setdefault(written_head(item)[0].predicate, []).append(item)
    timelines = [item for item in statements if isinstance(item, TimelineDeclaration)]
    before = _BEFORE[bool(timelines) and timelines[-1].kind == "integer"]
    made: list[Rule] = []
    problems: list[Diagnostic] = []
    for name, rules in found.items():
        wrong = list(_wrong(name, rules))
        problems += wrong
        if not wrong:
            made += _told(name, rules, before)
    return (*statements, *made), problems


def _wrong(name: str, rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    first = written_head(rules[0])[0]
    for rule in rules[1:]:
        key = written_head(rule)[0]
        if len(key.arguments) != len(first.arguments):
            message = f"`{name}` is assigned to by {len(key.arguments)} arguments here, and by {len(first.arguments)} before"
            yield Diagnostic("arity", message, key.span, notes=(Note(first.span, "here first"),))
            return
    if all(map(takes_away, rules)):
        help = f"give it a value somewhere: `{name}(...) := on :- ...`"
        yield Diagnostic("never-assigned", f"`{name}` is only ever assigned `none`", first.span, help=help)


def _told(name: str, rules: Sequence[Rule], before: Interval) -> Iterator[Rule]:
    """The rules for what holds, and for what ends it."""
    first, span = written_head(rules[0])[0], rules[0].span
    key = _names(first)
    value, other = (fresh_name(letter, {*key, *letters}) for letter, letters in (("V", ()), ("W", ("V",))))
    keys = tuple(map(Variable, key))
    held = Atom(name, (*keys, Variable(value)), span=first.span)
    assigned = Atom(name + _ASSIGNED, held.arguments, span=first.span)
    ended = Atom(name + _OTHER, held.arguments, span=first.span)
    is_value = Comparison("!=", Variable(value), Constant(NOTHING))
    yield Rule(held, (Binary("since", before, Negation(ended), assigned, span), is_value), span, "holds")
    another = Atom(name + _ASSIGNED, (*keys, Variable(other)), span=first.span)
    yield Rule(ended, (held, another, Comparison("!=", Variable(value), Variable(other))), span, "holds")


def keeping(rule: Rule) -> Rule | None:
    """The rule that an operator of its own computes, in place of the one that tells what holds; None for any other."""
    if not isinstance(rule.body[0], Binary) or not isinstance(assigned := rule.body[0].right, Atom):
        return None
    return replace(rule, body=(assigned,), assigns="kept")


def _names(key: Atom) -> list[str]:
    """Names for the arguments of a key: its own variables, where there are such."""
    names: list[str] = []
    for number, term in enumerate(key.arguments, 1):
        is_new = isinstance(term, Variable) and term.name not in names
        names.append(term.name if is_new and isinstance(term, Variable) else fresh_name(f"K{number}", names))
    return names
