"""From what the parser holds of an alarm to its declaration: priority, text, acknowledgement, shelving, inhibition."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, cast, get_args

from lark import Token

from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.drafts import Name, as_formula, cover
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import read_text, read_time, refuse, token_span

PRIORITIES: tuple[str, ...] = get_args(syntax.PriorityName)
_PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a declaration: its word, where it stands, and what it adds."""

    word: str
    span: Span
    add: Callable[[syntax.AlarmDeclaration], syntax.AlarmDeclaration]


def priority_of(items: list[Token]) -> Part:
    """`priority high`."""
    name = items[1].lower()
    if name not in PRIORITIES:
        near = get_close_matches(name, PRIORITIES, n=1)
        known = ", ".join(f"`{each}`" for each in PRIORITIES)
        help = f"did you mean `{near[0]}`?" if near else f"priorities are {known}"
        raise refuse(token_span(items[1]), f"there is no priority `{items[1]}`", help=help)
    return Part("priority", cover(items), lambda alarm: replace(alarm, priority=cast(syntax.PriorityName, name)))


def text_of(items: list[Token]) -> Part:
    """`text "Room {room} is too warm"`, with the names of fields in braces."""
    text, where = read_text(items[1]), token_span(items[1])

    def add(alarm: syntax.AlarmDeclaration) -> syntax.AlarmDeclaration:
        for name in _PLACE.findall(text):
            _field_named(name, alarm, where)
        return replace(alarm, text=text)

    return Part("text", cover(items), add)


def acknowledge_of(items: list[Token]) -> Part:
    """`acknowledge`: it stays until somebody has acknowledged it."""
    return Part("acknowledge", cover(items), lambda alarm: replace(alarm, latched=True))


def shelve_of(items: list[Token]) -> Part:
    """`shelve at most 8 h`."""
    longest, unit = read_time(items[2])
    if longest <= 0 or longest == math.inf:
        help = "such as `shelve at most 8 h`"
        raise refuse(token_span(items[2]), "an alarm is shelved for some time, which ends", help=help)
    return Part("shelve", cover(items), lambda alarm: replace(alarm, longest=longest, longest_unit=unit))


def inhibited_of(items: list[Any]) -> Part:
    """`inhibited by maintenance(room)`: the names of fields stand for what the alarm has there."""
    atom = as_formula(items[2])
    if not isinstance(atom, syntax.Atom) or atom.at is not None:
        raise refuse(atom.span, "`inhibited by` takes a predicate or a calendar, such as `inhibited by maintenance(room)`")

    def add(alarm: syntax.AlarmDeclaration) -> syntax.AlarmDeclaration:
        for term in atom.arguments:
            if isinstance(term, syntax.Variable) or (isinstance(term, syntax.Constant) and isinstance(term.value, str)):
                name = term.name if isinstance(term, syntax.Variable) else str(term.value)
                _field_named(name, alarm, term.span)
            elif not isinstance(term, syntax.Wildcard | syntax.Constant):
                raise refuse(atom.span, "an argument of what inhibits is a field of the alarm, a number, or `_`")
        return replace(alarm, inhibitors=(*alarm.inhibitors, atom))

    return Part("", cover(items), add)


def alarm_of(items: list[Any]) -> syntax.AlarmDeclaration:
    """The declaration of its parts, in any order; raises Refusal for what does not go together."""
    name: Name
    name, fields = items[1]
    if " " in name.text:
        raise refuse(name.span, "the name of an alarm is one word", help="rules made for it have names that begin with it")
    parts = [item for item in items[2:] if isinstance(item, Part)]
    span = cover([items[0], parts[-1] if parts else fields[-1] if fields else name])
    alarm = syntax.AlarmDeclaration(name.text, fields, span=span)
    seen: set[str] = set()
    for part in parts:
        if part.word and part.word in seen:
            raise refuse(part.span, f"`{part.word}` is given twice")
        seen.add(part.word)
        alarm = part.add(alarm)
    return alarm


def _field_named(name: str, alarm: syntax.AlarmDeclaration, where: Span) -> None:
    names = [field.name for field in alarm.fields]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        known = ", ".join(f"`{each}`" for each in names)
        help = f"did you mean `{near[0]}`?" if near else f"its arguments are {known}" if names else ""
        raise refuse(where, f"alarm `{alarm.predicate}` has no argument `{name}`", help=help)
