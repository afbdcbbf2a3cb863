"""Facts as text: `p(a,21.5)@[1,5/2)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache
from tidelog.connectors.formats.formatting import TimeFormatter, are_changes
from tidelog.connectors.formats.text.hypothetical import HypotheticalSentences
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record, Row, Schema, format_atom
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer


class TextEncoder:
    """Writes one fact a line, as `format_record` of `plans/data/facts.py` does; with `iso`, times as ISO-8601 in UTC.

    Of changes, what begins is written as `p(a)@[1..`, and what has ended as the fact; one that takes another back has
    `retract ` before it. Hypothetical answers are left out: they are no facts. With `sentences`, they are told in words
    beside the facts.
    """

    def __init__(self, schema: Schema, *, iso: bool = False, sentences: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        self._asks = bool(schema.questions)
        self._sentences = HypotheticalSentences(schema, self._times) if sentences and schema.questions else None
        self._atoms: BoundedCache[tuple[str, Row], str] = BoundedCache(_atom, _size)
        self._ranges: BoundedCache[tuple[int, int], str] = BoundedCache(self._range, _size, MAX_TIMES)
        self._changes: BoundedCache[tuple[int, int], str] = BoundedCache(self._change, _size, MAX_TIMES)

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        if self._sentences is not None:
            return self._encode_both(self._sentences, answers)
        facts = [answer for answer in answers if isinstance(answer, tuple)] if self._asks else answers
        atoms, ranges = self._atoms, self._ranges
        records = cast("Sequence[Record]", facts)  # a program that does not ask has no others
        if are_changes(facts):
            return "".join(map(self._changed, records)).encode()
        return "".join([atoms[predicate, row] + ranges[lo, hi] for predicate, row, lo, hi in records]).encode()

    def _encode_both(self, sentences: HypotheticalSentences, answers: Sequence[AnyAnswer]) -> bytes:
        lines = []
        for answer in answers:
            if isinstance(answer, HypotheticalAnswer):
                lines.append(sentences.encode(answer))
            else:
                predicate, row, lo, hi = answer
                is_change = isinstance(answer, ChangeRecord)
                text = self._changed(answer) if is_change else self._atoms[predicate, row] + self._ranges[lo, hi]
                lines.append(text.encode())
        return b"".join(lines)

    def _changed(self, change: Record) -> str:
        predicate, row, lo, hi = change
        line = self._atoms[predicate, row] + self._changes[lo, hi]
        return f"retract {line}" if isinstance(change, RetractedChange) else line

    def _range(self, key: tuple[int, int]) -> str:
        lo, hi = key
        return self._times.at(lo, hi) + "\n"

    def _change(self, key: tuple[int, int]) -> str:
        lo, hi = key
        return f"{self._times.begin(lo)}..\n" if hi >= POS else self._range(key)


def _atom(key: tuple[str, Row]) -> str:
    return format_atom(*key) + "@"


def _size(_: object, text: str) -> int:
    return len(text)
