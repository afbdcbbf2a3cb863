"""Answers as JSON lines: a fact is `{"predicate":"temp","args":["s1",21.5],"time":17}`."""

from __future__ import annotations

import msgspec

from tidelog.connectors.formats.fact_lines import FactLines
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.json.hypothetical import HypotheticalEncoder
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.data.timeline import NEG, POS


class JsonEncoder(FactLines):
    """Writes one object a line: a single time as `time`, anything else as `interval`.

    A time that is no integer is text, as `"5/2"`, so that it stays exact; with `iso`, times are ISO-8601 in UTC. Where the
    program asks, hypothetical answers are written as `HypotheticalEncoder` does.

    A change has `begins`, and, once it has ended, `ends`: times as above; an open end is text, `"(3"` and `"7)"`, and what
    began at no finite time has `null`. One that takes another back has `"retracted":true`, too.
    """

    def __init__(self, schema: Schema, *, iso: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        super().__init__(HypotheticalEncoder(schema, self._times) if schema.questions else None, asks=bool(schema.questions))

    def _atom(self, key: tuple[str, Row]) -> bytes:
        predicate, row = key
        return msgspec.json.encode({"predicate": predicate, "args": row})[:-1] + b","

    def _changed(self, change: Record) -> bytes:
        """A change, with what it follows from where it is explained: null where that is not known any more."""
        predicate, row, lo, hi = change
        line = self._atoms[predicate, row] + self._changes[lo, hi]
        if change.__class__ is ChangeRecord:
            return line
        if isinstance(change, RetractedChange):
            return line.removesuffix(b"}\n") + b',"retracted":true}\n'
        because = msgspec.json.encode(getattr(change, "because", None))
        return b"".join((line.removesuffix(b"}\n"), b',"because":', because, b"}\n"))

    def _range(self, key: tuple[int, int]) -> bytes:
        lo, hi = key
        if not self._times.is_point(lo, hi):
            return f'"interval":"{self._times.range(lo, hi)}"}}\n'.encode()
        return f'"time":{_time(self._times.point(lo))}}}\n'.encode()

    def _change(self, key: tuple[int, int]) -> bytes:
        lo, hi = key
        begin = "null" if lo <= NEG else _time(self._times.begin(lo).removeprefix("["))
        end = "" if hi >= POS else f',"ends":{_time(self._times.end(hi).removesuffix("]"))}'
        return f'"begins":{begin}{end}}}\n'.encode()


def _time(text: str) -> str:
    """A time as JSON: a whole number as a number, any other time as text."""
    return text if text.removeprefix("-").isdigit() else f'"{text}"'
