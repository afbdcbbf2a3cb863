"""A program that is checked again and again, as an editor does: what has not changed is not checked again.

What a rule or a fact has wrong with it by itself follows from its text, from the declarations, and from which predicates
have facts. So those that are new are checked together, in a program of their own beside these. What is found of the others
moves with them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidelog.plans.checks.check import CHECKS_OF_STATEMENTS, run_checks
from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.language.statements import RawStatement
from tidelog.plans.tree.syntax import FactStatement, Program, Rule
from tidelog.plans.tree.walk import Check

_Finding = tuple[Check, Diagnostic]


@dataclass(frozen=True, slots=True)
class _Checked:
    """What was found of a statement that begins at a place."""

    start: int
    found: tuple[_Finding, ...]

    def at(self, start: int) -> Iterator[_Finding]:
        by = start - self.start
        for check, item in self.found:
            yield check, _moved(item, by) if by else item


class Rechecker:
    """What was found of the rules and the facts of the last program, and of no others."""

    def __init__(self) -> None:
        self._context: tuple[object, ...] = ()
        self._checked: dict[str, _Checked] = {}

    def run(self, program: Program, checks: Sequence[Check], pieces: Sequence[RawStatement]) -> list[Diagnostic]:
        """What `run_checks` finds; `pieces` are the texts of the program's statements.

        Where assignments have made rules that no text has, all is checked again.
        """
        if len(pieces) != len(program.statements):
            return run_checks(program, checks)
        of_statements = self._of_statements(program, pieces)
        return [
            *(item for check, item in of_statements if check in checks),
            *run_checks(program, [check for check in checks if check not in CHECKS_OF_STATEMENTS]),
        ]

    def _of_statements(self, program: Program, pieces: Sequence[RawStatement]) -> list[_Finding]:
        texts = [program.text[raw.start : raw.end] for raw in pieces]
        own = [isinstance(statement, Rule | FactStatement) for statement in program.statements]
        given: dict[str, int] = {}
        for number, statement in enumerate(program.statements):
            if isinstance(statement, FactStatement):
                given.setdefault(statement.atom.predicate, number)
        context = (frozenset(given), *(text for text, is_own in zip(texts, own, strict=True) if not is_own))
        before = self._checked if context == self._context else {}
        new = [is_own and text not in before for text, is_own in zip(texts, own, strict=True)]
        givers = set(given.values())
        needed = [number for number in range(len(texts)) if new[number] or not own[number] or number in givers]
        found = self._found(program, pieces, needed)
        self._context = context
        self._checked = {
            text: _Checked(raw.start, tuple(found[number])) if new[number] else before[text]
            for number, (text, raw) in enumerate(zip(texts, pieces, strict=True))
            if own[number]
        }
        moved = [
            self._checked[text].at(raw.start) if is_own else found[number]
            for number, (text, raw, is_own) in enumerate(zip(texts, pieces, own, strict=True))
        ]
        return [finding for findings in moved for finding in findings]

    @staticmethod
    def _found(program: Program, pieces: Sequence[RawStatement], numbers: Sequence[int]) -> dict[int, list[_Finding]]:
        """What is found of some statements, by their numbers."""
        found: dict[int, list[_Finding]] = {number: [] for number in numbers}
        part = replace(program, statements=tuple(program.statements[number] for number in numbers))
        starts = [pieces[number].start for number in numbers]
        for check in CHECKS_OF_STATEMENTS:
            for item in check(part):
                found[numbers[bisect_right(starts, item.span.start) - 1]].append((check, item))
        return found


def _moved(item: Diagnostic, by: int) -> Diagnostic:
    notes = tuple(replace(note, span=_span(note.span, by)) for note in item.notes)
    return replace(item, span=_span(item.span, by), notes=notes)


def _span(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)
