"""Answers as lines, one for each: what the encoders of facts and changes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, cast

from tidelog.connectors.formats.formatting import are_changes
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer


class HypotheticalLines(Protocol):
    """Writes hypothetical answers."""

    def encode(self, answer: HypotheticalAnswer) -> bytes:
        """An answer as a line, with its newline."""


class FactLines(ABC):
    """An encoder of one line for each answer. Where the program `asks`, hypothetical answers come, too: `hypothetical`
    writes them; without it they are left out.
    """

    def __init__(self, hypothetical: HypotheticalLines | None, *, asks: bool) -> None:
        self._hypothetical = hypothetical
        self._asks = asks

    @abstractmethod
    def _facts(self, facts: Sequence[Record]) -> bytes:
        """The lines of facts."""

    @abstractmethod
    def _changes(self, changes: Sequence[Record]) -> bytes:
        """The lines of changes."""

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        """These answers as lines."""
        if self._hypothetical is not None:
            return self._encode_both(self._hypothetical, answers)
        facts = [answer for answer in answers if isinstance(answer, tuple)] if self._asks else answers
        records = cast("Sequence[Record]", facts)  # a program that does not ask has no others
        return self._changes(records) if are_changes(facts) else self._facts(records)

    def _encode_both(self, hypothetical: HypotheticalLines, answers: Sequence[AnyAnswer]) -> bytes:
        lines = []
        for answer in answers:
            if isinstance(answer, HypotheticalAnswer):
                lines.append(hypothetical.encode(answer))
            else:
                lines.append(self._changes([answer]) if isinstance(answer, ChangeRecord) else self._facts([answer]))
        return b"".join(lines)
