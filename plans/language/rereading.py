"""A text that is read again and again, as an editor does: what has not changed is not parsed again.

A statement is known by its text. Where it stands elsewhere than before, its tree is made anew with the places moved, by the
template that the tree itself is: a template without free words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.language.statements import RawStatement, StatementKind
from tidelog.plans.language.templates import Template, template_of
from tidelog.plans.tree import syntax

Parsed = syntax.Statement | tuple[Diagnostic, ...]
"""The tree of a statement, or why it has none."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The tree of a statement that begins at a place, and what makes it for any other."""

    start: int
    tree: syntax.Statement
    template: Template


class Rereader:
    """The statements of the last text that was read, and no others; `pieces` are those that can be read, in order."""

    def __init__(self) -> None:
        self.pieces: list[RawStatement] = []
        self._known: dict[tuple[StatementKind, str], _Known] = {}
        self._before: dict[tuple[StatementKind, str], _Known] = {}

    def begin(self) -> None:
        """Another text follows: what the text before the last one had is forgotten."""
        self.pieces = []
        self._known, self._before = {}, self._known

    def statement(self, text: str, raw: RawStatement, parse: Callable[[], Parsed]) -> Parsed:
        """A statement of the text: known, or parsed now."""
        key = raw.kind, text[raw.start : raw.end]
        known = self._known.get(key) or self._before.get(key)
        parsed: Parsed = parse() if known is None else known.tree
        if isinstance(parsed, tuple):
            return parsed
        if known is not None and known.start != raw.start:
            parsed = known.template.make(raw.start, ())
        template = template_of(parsed, raw) if known is None else known.template
        if template is not None:
            self._known[key] = _Known(raw.start, parsed, template)
        self.pieces.append(raw)
        return parsed
