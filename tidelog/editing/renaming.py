"""Renaming: a predicate everywhere in a program, a variable everywhere in its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.editing.names import Mention, Names
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.parser import parse_what_reads
from tidelog.plans.tree.walk import written as as_written

_VARIABLE = re.compile(r"(?:[A-Z]|_[A-Za-z0-9_])\w*\Z", re.ASCII)


class RenameError(Exception):
    """A name cannot be changed so; its text says why."""


def rename(names: Names, mention: Mention, new: str) -> list[tuple[Span, str]]:
    """The places to change, each with what has to stand there; RenameError where the program would mean something else."""
    if not names.is_whole:
        raise RenameError("the program has statements that cannot be read: mend them first")
    written = _variable(names, mention, new) if mention.role == "variable" else _predicate(names, mention, new)
    edits = [(item.span, written) for item in names.same(mention)]
    edits += _parts_of_alarm(names, mention, written)
    _require_readable(names, edits, mention)
    return edits


def _parts_of_alarm(names: Names, mention: Mention, written: str) -> Iterator[tuple[Span, str]]:
    """Its state, and what else an alarm of this name stands for, goes by its name."""
    name = written[1:-1] if written.startswith("'") else written
    if mention.role == "variable" or all(alarm.name != mention.name for alarm in names.alarms):
        return
    for item in names.mentions:
        alarm = names.alarm_of(item.name) if item.role != "variable" else None
        if alarm is not None and alarm.name == mention.name:
            yield item.span, format_predicate(name + item.name.removeprefix(alarm.name))


def _variable(names: Names, mention: Mention, new: str) -> str:
    if not _VARIABLE.match(new):
        raise RenameError(f"`{new}` is no variable: it starts upper-case, such as `X`")
    others = {item.name for item in names.mentions if item.statement == mention.statement and item.role == "variable"}
    if new in others and new != mention.name:
        raise RenameError(f"the rule has a variable `{new}` already")
    return new


def _predicate(names: Names, mention: Mention, new: str) -> str:
    if (alarm := names.alarm_of(mention.name)) is not None:
        raise RenameError(f"`{mention.name}` goes by the name of the alarm `{alarm.name}`: rename that")
    name = new[1:-1] if len(new) > 2 and new[0] == new[-1] == "'" else new
    if not name or "'" in name or not name.isprintable():
        raise RenameError(f"`{new}` is no predicate's name: it is one line without quotes")
    if name in names.predicates() and name != mention.name:
        raise RenameError(f"the program has a predicate `{name}` already")
    return format_predicate(name)


def _require_readable(names: Names, edits: list[tuple[Span, str]], mention: Mention) -> None:
    """RenameError unless what was changed reads as before, such as a name that is no keyword where it stands."""
    text = "".join(_changed(names.text, edits))
    program, problems = parse_what_reads(text)
    if problems or len(as_written(program)) != len(names.statements):
        raise RenameError(f"`{mention.name}` cannot have this name where it stands")


def _changed(text: str, edits: list[tuple[Span, str]]) -> Iterator[str]:
    at = 0
    for span, new in sorted(edits):
        yield text[at : span.start] + new
        at = span.end
    yield text[at:]
