"""What an editor shows between the words of a program: how late each output is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.editing.document import Findings
from tidelog.editing.names import Names
from tidelog.plans.data.timeline import format_time
from tidelog.plans.tree import syntax
from tidelog.plans.tree.walk import head_atom


@dataclass(frozen=True, slots=True)
class Inlay:
    """A label behind a place, and why it says so."""

    offset: int
    label: str
    why: str


def inlays(names: Names, findings: Findings | None) -> Iterator[Inlay]:
    """The delay of each output, behind the first head that derives it."""
    waiting = dict(findings.delays) if findings is not None else {}
    for raw, reading in zip(names.raws, names.readings, strict=True):
        rule = reading.statement if reading is not None else None
        head = head_atom(rule) if isinstance(rule, syntax.Rule) else None
        if isinstance(rule, syntax.Rule) and head is not None and head.predicate in waiting:
            delay = waiting.pop(head.predicate)
            yield Inlay(raw.start + rule.head.span.end, f"delay {format_time(delay.delay)}", delay.why)
