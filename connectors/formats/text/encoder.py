"""Facts as text: `p(a,21.5)@[1,5/2)`."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache
from tidelog.connectors.formats.fact_lines import FactLines
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.text.hypothetical import HypotheticalSentences
from tidelog.plans.data.changes import RetractedChange
from tidelog.plans.data.facts import Record, Row, Schema, format_atom
from tidelog.plans.data.timeline import POS


class TextEncoder(FactLines):
    """Writes one fact a line, as `format_record` of `plans/data/facts.py` does; with `iso`, times as ISO-8601 in UTC.

    What repeats on a stream, an atom or a time, is written once, and remembered.

    Of changes, what begins is written as `p(a)@[1..`, and what has ended as the fact; one that takes another back has
    `retract ` before it. Hypothetical answers are left out: they are no facts. With `sentences`, they are told in words
    beside the facts.
    """

    def __init__(self, schema: Schema, *, iso: bool = False, sentences: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        asks = bool(schema.questions)
        self._atoms: BoundedCache[tuple[str, Row], bytes] = BoundedCache(self._atom, _size)
        self._ranges: BoundedCache[tuple[int, int], bytes] = BoundedCache(self._range, _size, MAX_TIMES)
        self._begun: BoundedCache[tuple[int, int], bytes] = BoundedCache(self._begin, _size, MAX_TIMES)
        super().__init__(HypotheticalSentences(schema, self._times) if sentences and asks else None, asks=asks)

    def _facts(self, facts: Sequence[Record]) -> bytes:
        atoms, ranges = self._atoms, self._ranges
        return b"".join([atoms[predicate, row] + ranges[lo, hi] for predicate, row, lo, hi in facts])

    def _changes(self, changes: Sequence[Record]) -> bytes:
        return b"".join(map(self._change, changes))

    def _change(self, change: Record) -> bytes:
        predicate, row, lo, hi = change
        line = self._atoms[predicate, row] + self._begun[lo, hi]
        return b"retract " + line if isinstance(change, RetractedChange) else line

    def _atom(self, key: tuple[str, Row]) -> bytes:
        return f"{format_atom(*key)}@".encode()

    def _range(self, key: tuple[int, int]) -> bytes:
        return f"{self._times.at(*key)}\n".encode()

    def _begin(self, key: tuple[int, int]) -> bytes:
        """How the line of a change ends."""
        lo, hi = key
        return f"{self._times.begin(lo)}..\n".encode() if hi >= POS else self._range(key)


def _size(_: object, line: bytes) -> int:
    return len(line)
