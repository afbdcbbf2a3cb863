"""Facts as lines, sorted: written by the workers as text, put in order by Spark, and taken from it piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import StorageLevel

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.formats import make_encoder
from tidelog.connectors.spark.running.parcels import facts_of
from tidelog.connectors.transport.terminals import write_all
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Row, Schema, format_atom
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.interfaces import StageMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART_BYTES = 16_000_000
"""How many bytes of facts, about, the driver holds at once."""
_PIECE_BYTES = 500_000
"""How many bytes of lines a worker puts into one row."""
_LINES = pa.schema([("first", pa.int64()), ("second", pa.int64()), ("atom", pa.string()), ("line", pa.binary())])
_LINE_COLUMNS = "first bigint, second bigint, atom string, line binary"
_PIECES = pa.schema([("piece", pa.binary())])


def sorted_lines(
    facts: DataFrame, size: int, schema: Schema, kind: str, *, emit: StageMode = "intervals", iso: bool
) -> Iterator[bytes]:
    """The lines of these parcels of facts, which have about `size` bytes, in a format, by end, begin and text; those of
    changes by when they happen, what begins first.

    They come in pieces of many lines, each with its newline.
    """

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _encoded(batches, schema, kind, emit, iso)

    parts = 1 + size // PART_BYTES
    lines = facts.select("row").mapInArrow(encode, _LINE_COLUMNS)
    if parts > 1:  # what is split into ranges is read twice
        lines = lines.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        order = ("first", "second", "atom")
        parted = lines.repartitionByRange(parts, *order).sortWithinPartitions(*order)
        for row in parted.select("line").mapInArrow(_joined, "piece binary").toLocalIterator():
            yield bytes(row.piece)
    finally:
        lines.unpersist()


def lines_here(
    packs: Sequence[bytes], schema: Schema, kind: str, *, emit: StageMode = "intervals", iso: bool
) -> Iterator[bytes]:
    """The same of packs that are here."""
    rows = _Encoder(schema, kind, emit, iso).rows(packs)
    return _pieces(line for *_, line in sorted(rows))


def _encoded(
    batches: Iterable[pa.RecordBatch], schema: Schema, kind: str, emit: StageMode, iso: bool
) -> Iterator[pa.RecordBatch]:
    encoder = _Encoder(schema, kind, emit, iso)
    for batch in batches:
        columns = tuple(zip(*encoder.rows(batch.column("row").to_pylist()), strict=True)) or ((),) * len(_LINES)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _LINES, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_LINES)


class _Encoder:
    """Makes lines of facts, and what they are sorted by."""

    def __init__(self, schema: Schema, kind: str, emit: StageMode, iso: bool) -> None:
        self._atoms: BoundedCache[tuple[str, Row], str] = BoundedCache(
            lambda key: format_atom(*key), lambda _, text: len(text)
        )
        self._encode = make_encoder(kind, schema, iso).encode
        self._emit = emit

    def rows(self, packs: Iterable[bytes]) -> list[tuple[int, int, str, bytes]]:
        """What each line is sorted by, its numbers and its text; and the line."""
        facts, encode = facts_of(packs), self._encode
        records: list[Record] = [ChangeRecord(*fact) for fact in facts] if self._emit == "changes" else facts
        return [(*_order(each), self._atoms[each[0], each[1]], encode([each])) for each in records]


def _order(record: Record) -> tuple[int, int]:
    return record.order if isinstance(record, ChangeRecord) else (record[3], record[2])


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines as pieces of many."""
    for piece in _pieces(line for batch in batches for line in batch.column("line").to_pylist()):
        yield pa.RecordBatch.from_arrays([pa.array([piece], pa.binary())], schema=_PIECES)


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


@contextmanager
def writing(path: str) -> Iterator[Callable[[bytes], None]]:
    """What writes all of some bytes to a file, new or emptied, or to standard output, where the path is empty.

    ConnectorError where that cannot be; of a BrokenPipeError, where nobody reads any more.
    """
    name = f"`{path}`" if path else "to standard output"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) if path else 1
    except OSError as error:
        raise ConnectorError(f"cannot write {name}: {error.strerror}") from error
    try:
        yield lambda data: _write(descriptor, data, name)
    finally:
        if path:
            os.close(descriptor)


def _write(descriptor: int, data: bytes, name: str) -> None:
    try:
        write_all(descriptor, data)
    except OSError as error:
        raise ConnectorError(f"cannot write {name}: {error.strerror}") from error
