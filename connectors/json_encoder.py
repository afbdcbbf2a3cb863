"""Facts as JSON lines: `{"predicate":"temp","args":["s1",21.5],"time":17}`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidelog.connectors.cache import BoundedCache
from tidelog.connectors.formatting import TimeFormatter
from tidelog.plans.facts import Record, Row, Schema


class JsonEncoder:
    """Writes one object a line: a single time as `time`, anything else as `interval`.

    A time that is no integer is text, as `"5/2"`, so that it stays exact; with `iso`, times are ISO-8601 in UTC.
    """

    def __init__(self, schema: Schema, *, iso: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        self._atoms: BoundedCache[tuple[str, Row], bytes] = BoundedCache(_atom, _size)
        self._ranges: BoundedCache[tuple[int, int], bytes] = BoundedCache(self._range, _size)

    def encode(self, answers: Sequence[Record]) -> bytes:
        atoms, ranges = self._atoms, self._ranges
        return b"".join([atoms[predicate, row] + ranges[lo, hi] for predicate, row, lo, hi in answers])

    def _range(self, key: tuple[int, int]) -> bytes:
        lo, hi = key
        if not self._times.is_point(lo, hi):
            return f'"interval":"{self._times.range(lo, hi)}"}}\n'.encode()
        text = self._times.point(lo)
        is_number = text.removeprefix("-").isdigit()
        return f'"time":{text}}}\n'.encode() if is_number else f'"time":"{text}"}}\n'.encode()


def _atom(key: tuple[str, Row]) -> bytes:
    predicate, row = key
    return msgspec.json.encode({"predicate": predicate, "args": row})[:-1] + b","


def _size(_: object, line: bytes) -> int:
    return len(line)
