"""Facts from a Parquet file, whose rows are those of one predicate."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import anyio.lowlevel

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.plans.diagnostics.errors import ConnectorError, DataError, SnapshotError
from tidelog.runtime.frames.arrow import BATCH_ROWS, pa, pq
from tidelog.runtime.frames.layout import Layout, layout_of
from tidelog.runtime.frames.reading import FrameReader
from tidelog.runtime.ports.interfaces import Batch


class _Position(Saved):
    """Where a file stands: how many rows were read, and what tells the file from another."""

    row: Natural
    file: str


class ParquetSource:
    """Reads a Parquet file once, in the order of its rows. Entered again, it goes on where it was.

    The columns are those that a frame has (`runtime/frames/layout.py`), read as the `dialect` says. `size` is the file's
    length in bytes, `position` the part of it that has been read. `parts`, from `?by=FIELD`, says where a fact's part stands
    in its row. In a later run it can go on from where a batch ended (`resume`). `receive` raises DataError where the columns
    are not the predicate's.
    """

    is_recorded = True
    is_replayable = True

    def __init__(
        self,
        path: str,
        schema: Schema,
        predicate: str,
        parts: Mapping[str, int] | None = None,
        dialect: Dialect = OURS,
    ) -> None:
        self.name = path
        self.size: int | None = None
        self.position = 0
        self._schema, self._predicate, self._dialect = schema, predicate, dialect
        self._part = None if parts is None else parts.get(predicate)
        self._row = 0
        self._file: Any = None
        self._batches: Iterator[Batch] | None = None

    async def __aenter__(self) -> ParquetSource:
        self._file, self.size = open_parquet(self.name), os.stat(self.name).st_size
        self._batches = self._read()
        return self

    def _read(self) -> Iterator[Batch]:
        layout = layout_of_file(self._file, self._schema, self._predicate, self.name, self._dialect)
        reader = FrameReader(self._schema, self._predicate, layout)
        for batch, numbers in batches_of_file(self._file, layout, self.name, BATCH_ROWS):
            begin = max(0, self._row - numbers.start)
            if begin < len(numbers):
                yield reader.read(batch.slice(begin), self.name, numbers[begin:])

    async def __aexit__(self, *exc: object) -> None:
        self._batches = None
        if self._file is not None:
            self._file.close()
            self._file = None

    async def receive(self) -> Batch | None:
        """The facts of the next rows."""
        if self._batches is None:
            raise ValueError("a source is used within `async with`")
        await anyio.lowlevel.checkpoint()
        batch = next(self._batches, None)
        if batch is None:
            return None
        self._row += len(batch.records) + len(batch.rejected)
        self.position = (self.size or 0) * self._row // max(1, self._file.metadata.num_rows)
        if self._part is not None:
            batch.parts = [row[self._part] for _, row, _, _ in batch.records]
        batch.position = {"row": self._row, "file": _mark(self.name)}
        return batch

    def resume(self, position: dict[str, Any]) -> None:
        """Go on where a batch of an earlier run ended; SnapshotError where the file holds something else by now."""
        saved = read_saved(position, _Position)
        try:
            mark = _mark(self.name)
        except OSError as error:
            raise SnapshotError(f"`{self.name}` cannot be read again: {error.strerror}") from error
        if mark != saved.file:
            raise SnapshotError(f"`{self.name}` is not what was read before")
        self._row = saved.row


def open_parquet(path: str, encoded: Sequence[str] = ()) -> Any:
    """A Parquet file; ConnectorError where it is none, or cannot be read. Columns of texts that are `encoded` come so."""
    try:
        return pq.ParquetFile(path, read_dictionary=list(encoded))
    except (pa.ArrowInvalid, OSError) as error:
        raise ConnectorError(f"cannot read `{path}`: {first_line(error)}") from error


def layout_of_file(file: Any, schema: Schema, predicate: str, name: str, dialect: Dialect) -> Layout:
    """What the columns of a Parquet file are; DataError where they are not those of the predicate."""
    try:
        return layout_of(file.schema_arrow, predicate, schema, dialect)
    except DataError as error:
        raise DataError(error.reason, name) from None


def batches_of_file(file: Any, layout: Layout, name: str, rows: int) -> Iterator[tuple[Any, range]]:
    """The rows of a Parquet file, as batches of Arrow of at most so many, with the columns of the layout, and their numbers.

    ConnectorError where the file is damaged.
    """
    first = 0
    try:
        for batch in file.iter_batches(rows, columns=list(layout.columns)):
            yield batch, range(first, first + batch.num_rows)
            first += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        raise ConnectorError(f"cannot read `{name}` from row {first} on: {first_line(error)}") from error


def _mark(path: str) -> str:
    """What tells a file from another: its length, and a digest of its end, where the place and the sum of all rows stand."""
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        file.seek(max(0, size - (1 << 16)))
        return f"{size}:{hashlib.sha256(file.read()).hexdigest()}"


def first_line(error: BaseException) -> str:
    """What an error of Arrow says, in one line."""
    text = (str(error).splitlines() or [""])[0].rstrip(".")
    return text[:1].lower() + text[1:]
