"""Parcels: the rows that pass between the stages of a program on Spark, each addressed to a stage and to a bucket in it.

A parcel is a fact, or something else that has to come out in the end: a record that could not be used, a constraint that is
violated, a count. What is addressed to stage `OUT` is for users; stages pass it on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any
from zlib import crc32

import msgspec
import pyarrow as pa

from tidelog.connectors.cache import BoundedCache
from tidelog.plans.analysis.stages import Stage
from tidelog.plans.facts import Record, Row
from tidelog.plans.syntax import Value
from tidelog.runtime.interfaces import Rejected, Told

OUT = 0
"""The address of what is for users; stages are numbered from 1."""

FACT, LETTER, VIOLATION, COUNT, NOTE, SPAN, WAKE = range(7)
"""Kinds of parcels. A span tells the first and the last begin of some facts of the stream, read by a stage or not; to wake
is to let a bucket's session begin, though no fact may ever come."""

SCHEMA = pa.schema(
    [
        pa.field("stage", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("row", pa.binary(), nullable=False),
        pa.field("lo", pa.int64(), nullable=False),
        pa.field("hi", pa.int64(), nullable=False),
        pa.field("place", pa.binary()),
    ]
)
COLUMNS = "stage int, bucket int, kind int, name string, row binary, lo bigint, hi bigint, place binary"
"""The same for Spark.

`name` and `row` are a fact's predicate and arguments, `lo … hi` (encoded) is when it holds, and `place` sorts facts that
begin at the same time by their arrival, where that matters. A letter's row holds its place, its reason and what it said;
that of a violation its rule and its facts; a count is in `lo`, and what is counted in `name`, as is the text of a note; the
`name` of a span is the number of its input.
"""

_encode = msgspec.msgpack.Encoder().encode
_decode_row: Callable[[bytes], Row] = msgspec.msgpack.Decoder(tuple[str | int | float, ...]).decode
_decode_letter = msgspec.msgpack.Decoder(tuple[str, str, bytes]).decode
_decode_violation = msgspec.msgpack.Decoder(tuple[str, tuple[str, ...], str]).decode


def bucket_of(value: Value, buckets: int) -> int:
    """The bucket of a key; the same for the same value, in every process."""
    text = f"t{value}" if isinstance(value, str) else f"n{value!r}"
    return crc32(text.encode()) % buckets


class RowCache(BoundedCache[bytes, Row]):
    """The rows of encoded rows, remembered."""

    def __init__(self) -> None:
        super().__init__(_decode_row, lambda key, _: len(key))


class Parcels:
    """Parcels to be sent: columns that grow, taken as Arrow batches."""

    def __init__(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in SCHEMA]

    def __len__(self) -> int:
        return len(self._columns[0])

    def fact(self, stage: int, bucket: int, record: Record, place: bytes | None = None) -> None:
        """A fact for a stage, or for users."""
        name, row, lo, hi = record
        self._add(stage, bucket, FACT, name, _encode(row), lo, hi, place)

    def facts(self, columns: Sequence[Sequence[Any]]) -> None:
        """Facts: their stages, buckets, names, encoded rows, begins, ends and places."""
        stages, buckets, names, rows, los, his, places = columns
        kinds = repeat(FACT, len(stages))
        for column, more in zip(self._columns, (stages, buckets, kinds, names, rows, los, his, places), strict=True):
            column.extend(more)

    def letters(self, rejected: Iterable[Rejected]) -> None:
        """Records that cannot be used."""
        for item in rejected:
            self._add(OUT, 0, LETTER, "", _encode((item.place, item.reason, item.raw)), 0, 0, None)

    def violations(self, violations: Iterable[Told]) -> None:
        """Constraints that are violated."""
        for rule, facts, during, lo, hi in violations:
            self._add(OUT, 0, VIOLATION, "", _encode((rule, facts, during)), lo, hi, None)

    def count(self, name: str, number: int) -> None:
        """So many of something."""
        if number:
            self._add(OUT, 0, COUNT, name, b"", number, 0, None)

    def notes(self, lines: Iterable[str]) -> None:
        """What users should know."""
        for line in lines:
            self._add(OUT, 0, NOTE, line, b"", 0, 0, None)

    def span(self, number: int, first: int, last: int) -> None:
        """Facts of the input with this number begin between these times."""
        self._add(OUT, 0, SPAN, str(number), b"", first, last, None)

    def take(self) -> pa.RecordBatch:
        """What was added since the last call."""
        arrays = [pa.array(column, field.type) for column, field in zip(self._columns, SCHEMA, strict=True)]
        self._columns = [[] for _ in SCHEMA]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    def _add(self, *parcel: Any) -> None:
        stages, buckets, kinds, names, rows, los, his, places = self._columns  # a loop over them takes twice as long
        stage, bucket, kind, name, row, lo, hi, place = parcel
        stages.append(stage)
        buckets.append(bucket)
        kinds.append(kind)
        names.append(name)
        rows.append(row)
        los.append(lo)
        his.append(hi)
        places.append(place)


class Routes:
    """Where facts go: from the stream, or from a stage, to those stages that read them."""

    def __init__(self, stages: Sequence[Stage], buckets: int) -> None:
        self._bucket: BoundedCache[Value, int] = BoundedCache(lambda value: bucket_of(value, buckets), _size)
        self._routes: dict[int | None, dict[str, list[tuple[int, str, int | None]]]] = {}
        for stage in stages:
            for item in stage.inputs:
                route = (stage.number, item.name, item.position)
                self._routes.setdefault(item.source, {}).setdefault(item.predicate, []).append(route)

    def send(self, source: int | None, record: Record, parcels: Parcels, place: bytes | None = None) -> bool:
        """Address a fact of the stream (`source` is None) or of a stage; False where no stage reads it."""
        return not self.send_all(source, [record], parcels, [place])

    def send_all(
        self, source: int | None, records: Sequence[Record], parcels: Parcels, places: Iterable[bytes | None] = repeat(None)
    ) -> list[str]:
        """Address facts, as `send` does; the predicates of those that no stage reads."""
        routes, bucket = self._routes.get(source, {}), self._bucket
        columns: list[list[Any]] = [[] for _ in range(7)]
        stages, buckets, names, rows, los, his, marks = columns
        unread = []
        for (predicate, row, lo, hi), place in zip(records, places, strict=False):
            if predicate not in routes:
                unread.append(predicate)
                continue
            encoded = _encode(row)
            for stage, name, position in routes[predicate]:
                stages.append(stage)
                buckets.append(0 if position is None else bucket[row[position]])
                names.append(name)
                rows.append(encoded)
                los.append(lo)
                his.append(hi)
                marks.append(place)
        parcels.facts(columns)
        return unread


def _size(value: Value, _: object) -> int:
    return len(value) if isinstance(value, str) else 1


def letter_of(row: bytes) -> Rejected:
    """The record that could not be used, from its parcel's row."""
    return Rejected(*_decode_letter(row))


def violation_of(row: bytes, lo: int, hi: int) -> Told:
    """The violation, from its parcel."""
    return *_decode_violation(row), lo, hi


def record_of(name: str, row: bytes, lo: int, hi: int) -> Record:
    """The fact, from its parcel."""
    return name, _decode_row(row), lo, hi
