"""Facts as text: `p(a,21.5)@[1,5/2)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidelog.connectors.cache import BoundedCache
from tidelog.connectors.formatting import TimeFormatter
from tidelog.connectors.text_hypothetical import HypotheticalSentences
from tidelog.plans.facts import Record, Row, Schema, format_atom
from tidelog.plans.questions import HypotheticalAnswer
from tidelog.runtime.interfaces import AnyAnswer


class TextEncoder:
    """Writes one fact a line, as `plans.facts.format_record` does; with `iso`, times as ISO-8601 in UTC.

    Hypothetical answers are left out: they are no facts. With `sentences`, they are told in words beside the facts.
    """

    def __init__(self, schema: Schema, *, iso: bool = False, sentences: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        self._asks = bool(schema.questions)
        self._sentences = HypotheticalSentences(schema, self._times) if sentences and schema.questions else None
        self._atoms: BoundedCache[tuple[str, Row], str] = BoundedCache(_atom, _size)
        self._ranges: BoundedCache[tuple[int, int], str] = BoundedCache(self._range, _size)

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        if self._sentences is not None:
            return self._encode_both(self._sentences, answers)
        atoms, ranges = self._atoms, self._ranges
        facts = [answer for answer in answers if isinstance(answer, tuple)] if self._asks else answers
        records = cast("Sequence[Record]", facts)  # a program that does not ask has no others
        return "".join([atoms[predicate, row] + ranges[lo, hi] for predicate, row, lo, hi in records]).encode()

    def _encode_both(self, sentences: HypotheticalSentences, answers: Sequence[AnyAnswer]) -> bytes:
        lines = []
        for answer in answers:
            if isinstance(answer, HypotheticalAnswer):
                lines.append(sentences.encode(answer))
            else:
                predicate, row, lo, hi = answer
                lines.append((self._atoms[predicate, row] + self._ranges[lo, hi]).encode())
        return b"".join(lines)

    def _range(self, key: tuple[int, int]) -> str:
        lo, hi = key
        return self._times.at(lo, hi) + "\n"


def _atom(key: tuple[str, Row]) -> str:
    return format_atom(*key) + "@"


def _size(_: object, text: str) -> int:
    return len(text)
