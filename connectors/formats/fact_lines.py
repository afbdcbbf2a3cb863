"""Answers as lines, an atom and behind it its time: what repeats on a stream is written once, and remembered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, cast

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache
from tidelog.connectors.formats.formatting import are_changes
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Row
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
        self._atoms: BoundedCache[tuple[str, Row], bytes] = BoundedCache(self._atom, _size)
        self._ranges: BoundedCache[tuple[int, int], bytes] = BoundedCache(self._range, _size, MAX_TIMES)
        self._changes: BoundedCache[tuple[int, int], bytes] = BoundedCache(self._change, _size, MAX_TIMES)

    @abstractmethod
    def _atom(self, key: tuple[str, Row]) -> bytes:
        """How a line begins."""

    @abstractmethod
    def _range(self, key: tuple[int, int]) -> bytes:
        """How the line of a fact ends."""

    @abstractmethod
    def _change(self, key: tuple[int, int]) -> bytes:
        """How the line of a change ends."""

    @abstractmethod
    def _changed(self, change: Record) -> bytes:
        """The line of a change."""

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        """These answers as lines."""
        if self._hypothetical is not None:
            return self._encode_both(self._hypothetical, answers)
        facts = [answer for answer in answers if isinstance(answer, tuple)] if self._asks else answers
        atoms, ranges = self._atoms, self._ranges
        records = cast("Sequence[Record]", facts)  # a program that does not ask has no others
        if are_changes(facts):
            return b"".join(map(self._changed, records))
        return b"".join([atoms[predicate, row] + ranges[lo, hi] for predicate, row, lo, hi in records])

    def _encode_both(self, hypothetical: HypotheticalLines, answers: Sequence[AnyAnswer]) -> bytes:
        lines = []
        for answer in answers:
            if isinstance(answer, HypotheticalAnswer):
                lines.append(hypothetical.encode(answer))
            else:
                predicate, row, lo, hi = answer
                is_change = isinstance(answer, ChangeRecord)
                lines.append(self._changed(answer) if is_change else self._atoms[predicate, row] + self._ranges[lo, hi])
        return b"".join(lines)


def _size(_: object, line: bytes) -> int:
    return len(line)
