"""What mends a finding at a keystroke: the name that was meant, `_` for a variable that joins nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Diagnostic, Span

_MEANT = re.compile(r"did you mean `([^`]+)`\?")
_NAME = re.compile(r"'[^'\n]*'|[\w:]+")


@dataclass(frozen=True, slots=True)
class Mending:
    """One change that mends a finding: its title, the place, and what is to stand there."""

    title: str
    span: Span
    text: str
    finding: Diagnostic


def mendings(text: str, finding: Diagnostic) -> Iterator[Mending]:
    """The changes that a finding's help names."""
    meant = _MEANT.search(finding.help)
    if meant is not None:
        name = _NAME.match(text, finding.span.start, finding.span.end)
        if name is not None:
            new = _written(finding, meant[1])
            yield Mending(f"Write `{new}`", Span(*name.span()), new, finding)
    elif finding.code == "singleton-variable":
        yield Mending("Write `_`", finding.span, "_", finding)


def _written(finding: Diagnostic, name: str) -> str:
    """A name as it is written: a predicate's in quotes where it needs them."""
    is_predicate = finding.code == "unknown-predicate" and not name.startswith("not ")
    return format_predicate(name) if is_predicate else name
