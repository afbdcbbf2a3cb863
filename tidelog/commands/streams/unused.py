"""What is said of facts whose predicates the program does not use: how many there were, of which, and what was meant."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.commands.outcome import count
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten

MOST_SHOWN = 5
"""How many predicates are named; the others are counted together."""


def unused_note(total: int, names: Mapping[str, int], schema: Schema) -> str:
    """The note on so many facts, `names` being those predicates among them that were counted by name; nothing where there is
    none to speak of: what people do with an alarm whose state nobody asks for is no mistake.

    >>> from tidelog.plans.data.facts import PredicateSchema
    >>> from tidelog.plans.data.timeline import Timeline
    >>> unused_note(3, {"temps": 2, "door": 1}, Schema(Timeline(), {"temp": PredicateSchema("temp", 1)}))
    '3 facts have predicates that the program does not use: `temps` (2; did you mean `temp`?), `door` (1)'
    """
    actions = {name for alarm in schema.alarms.values() for name in alarm.actions.values()}
    total -= sum(number for name, number in names.items() if name in actions)
    names = {name: number for name, number in names.items() if name not in actions}
    if not total:
        return ""
    shown = sorted(names.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHOWN]
    parts = [_named(name, number, schema) for name, number in shown]
    rest = total - sum(number for _, number in shown)
    if rest and parts:
        parts.append(f"others ({rest})")
    have = "has a predicate" if total == 1 else "have predicates"
    told = f": {', '.join(parts)}" if parts else ""
    return f"{count(total, 'fact')} {have} that the program does not use{told}"


def _named(name: str, number: int, schema: Schema) -> str:
    readable = [known.name for known in schema.predicates.values() if known.accepts_input]
    near = "" if name in schema.predicates else suggest(name, readable)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shorten(name))
    return f"`{text}` ({number}{near})"
