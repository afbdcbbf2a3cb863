"""Rows of Arrow tables to facts, many at once. A row that is no fact costs no other row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.arrow import batches_of, pc, plain, stream_of, value_of, values_of
from tidelog.runtime.frames.layout import OPEN_COLUMNS, Layout, layout_of
from tidelog.runtime.frames.times import ExactTimes, PointReader
from tidelog.runtime.frames.values import Problems, ValueReader, nulls, read_json
from tidelog.runtime.ports.interfaces import Batch, Rejected

RAW_LIMIT = 500
"""How many bytes of a rejected row are kept."""


class RowPlaces(Sequence[str]):
    """The places of facts, `NAME row 17`, each written only when asked for. Rows count from 0, as data frames count them."""

    __slots__ = ("_kept", "_name")

    def __init__(self, name: str, kept: Sequence[int]) -> None:
        self._name, self._kept = name, kept

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [row_place(self._name, row) for row in self._kept[index]]
        return row_place(self._name, self._kept[index])


def row_place(name: str, row: int) -> str:
    return f"{name} row {row}"


class TableReader:
    """What reads the rows of one layout as facts of one predicate, whatever it makes of them."""

    def __init__(self, schema: Schema, predicate: str, layout: Layout) -> None:
        self._schema, self._predicate, self._layout = schema, predicate, layout
        self._count = 1 if layout.values is None else len(layout.values)
        names = layout.names
        self._values = [
            ValueReader(predicate, name, kind, type_)
            for name, kind, type_ in zip(names, layout.values or (), layout.types, strict=False)
        ]
        self._points = [
            PointReader(schema.timeline, name, kind, endless, layout.dialect)
            for name, kind, endless in zip(names[self._count :], layout.times, self._endless(), strict=False)
        ]
        self._stored = ExactTimes(schema.timeline)

    def _endless(self) -> tuple[int | None, ...]:
        return (NEG, POS) if len(self._layout.times) == 2 else (None,)

    def _columns_of(self, batch: Any) -> tuple[list[Any], list[Any]]:
        """The columns of arguments, and those of times."""
        columns = [_column(batch, path) for path in self._layout.paths]
        return columns[: self._count], columns[self._count :]

    def _rows_of_texts(self, column: Any, problems: Problems) -> list[Row]:
        rows: list[Row] = []
        for i, texts in enumerate(values_of(plain(column))):
            try:
                if texts is None or None in texts:
                    raise DataError("`arguments` is null" if texts is None else "an argument is null")
                rows.append(self._schema.check(self._predicate, tuple(map(read_json, texts))))
            except DataError as error:
                problems.setdefault(i, error.reason)
                rows.append(())
        return rows

    def _exact(self, columns: Sequence[Any], problems: Problems) -> tuple[list[int], list[int]]:
        """Ranges of stored facts, whose times are exact numbers as text."""
        begins, ends = [], []
        for i, values in enumerate(zip(*map(values_of, columns), strict=True)):
            try:
                lo, hi = self._stored.read(*values)
            except DataError as error:
                problems.setdefault(i, error.reason)
                lo, hi = 0, 0
            begins.append(lo)
            ends.append(hi)
        return begins, ends

    def _refuse_null_times(self, columns: Sequence[Any], problems: Problems) -> None:
        """A time that is null is told, unless other columns can say that there is none."""
        if not self._layout.tells_open:
            for column, name in zip(columns, self._layout.names[self._count :], strict=True):
                refuse_nulls(column, name, problems)

    def _refuse_empty(self, i: int, columns: Sequence[Any], problems: Problems) -> None:
        """The interval of this row is empty."""
        if i not in problems:
            problems[i] = f"the interval from {_shown(columns[0], i)} to {_shown(columns[1], i)} is empty"

    def _reject(self, batch: Any, place: str, i: int, reason: str) -> Rejected:
        values = {name: value_of(batch.column(name)[i]) for name in batch.schema.names}
        return Rejected(place, reason, msgspec.json.encode(values, enc_hook=str)[:RAW_LIMIT])


class FrameReader(TableReader):
    """Makes facts of one predicate of rows of one layout."""

    def begins(self, table: Any) -> Sequence[int]:
        """When the rows of a table begin; anything for a row that is no fact."""
        return self._ranges_of(self._columns_of(table)[1], {})[0]

    def read(self, batch: Any, name: str, numbers: Sequence[int] | None) -> Batch:
        """The facts of a batch of Arrow, or a table, and what is none.

        `numbers` are those of its rows, for their places; without, all of them have the place `name`.
        """
        problems: Problems = {}
        arguments, times = self._columns_of(batch)
        rows = self._rows(arguments, batch.num_rows, problems)
        begins, ends = self._ranges_of(times, problems)
        records = [
            (self._predicate, row, lo, hi)
            for row, lo, hi in zip(rows, begins, begins if ends is None else ends, strict=True)
        ]
        places = [name] * len(records) if numbers is None else RowPlaces(name, numbers)
        if not problems:
            return Batch(records, places=places)
        kept = [i for i in range(len(records)) if i not in problems]
        rejected = [self._reject(batch, places[i], i, problems[i]) for i in sorted(problems)]
        left = None if numbers is None else RowPlaces(name, [numbers[i] for i in kept])
        return Batch([records[i] for i in kept], rejected, places=left)

    def _rows(self, columns: Sequence[Any], count: int, problems: Problems) -> Sequence[Row]:
        if self._layout.values is None:
            return self._rows_of_texts(columns[0], problems)
        read = [reader.read(column, problems) for reader, column in zip(self._values, columns, strict=True)]
        return list(zip(*read, strict=True)) if read else [()] * count

    def _ranges_of(self, columns: Sequence[Any], problems: Problems) -> tuple[Sequence[int], Sequence[int] | None]:
        """The begins and the ends of the facts; None for the ends where they are the begins."""
        if not self._layout.times:
            return self._exact(columns, problems)
        self._refuse_null_times(columns, problems)
        points = [reader.read(column, problems) for reader, column in zip(self._points, columns, strict=False)]
        if len(points) == 1:
            return points[0], None
        lows, highs = points
        if self._layout.tells_open:
            lows, highs = self._opened(points, columns, problems)
        for i, (lo, hi) in enumerate(zip(lows, highs, strict=True)):
            if lo > hi:
                self._refuse_empty(i, columns, problems)
        return lows, highs

    def _opened(self, points: Sequence[list[int]], columns: Sequence[Any], problems: Problems) -> list[list[int]]:
        """Begins and ends without what the interval leaves out; a null is no end on its side."""
        found = []
        for side, endless, step in ((0, NEG, 1), (1, POS, -1)):
            times, opens = columns[side], columns[side + 2]
            refuse_nulls(opens, OPEN_COLUMNS[side], problems)
            ends = [
                end + step if is_open and end != endless else end
                for end, is_open in zip(points[side], opens.to_pylist(), strict=True)
            ]
            for i in nulls(times):
                ends[i] = endless
            found.append(ends)
        return found


def refuse_nulls(column: Any, name: str, problems: Problems) -> None:
    for i in nulls(column):
        problems.setdefault(i, f"`{name}` is null")


def _shown(column: Any, i: int) -> str:
    value = value_of(column[i])
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _column(batch: Any, path: Sequence[str]) -> Any:
    column = plain(batch.column(path[0]))
    return column if len(path) == 1 else pc.struct_field(column, path[1])


def reader_of(schema: Schema, predicate: str, stream: Any, dialect: Dialect = OURS) -> FrameReader:
    """What reads a stream of Arrow; DataError where a column is missing, or of a type that it cannot have."""
    return FrameReader(schema, predicate, layout_of(stream.schema, predicate, schema, dialect))


def read_stream(reader: FrameReader, stream: Any, name: str) -> Iterator[Batch]:
    """The facts of a stream of Arrow in the order of its rows, and what is none, batch by batch."""
    first = 0
    for batch in batches_of(stream):
        yield reader.read(batch, name, range(first, first + batch.num_rows))
        first += batch.num_rows


def read_records(schema: Schema, predicate: str, frame: Any, dialect: Dialect = OURS) -> list[Record]:
    """All facts of a frame; DataError with its place for the first row that is none."""
    stream = stream_of(frame)
    records: list[Record] = []
    for batch in read_stream(reader_of(schema, predicate, stream, dialect), stream, predicate):
        for rejected in batch.rejected:
            raise DataError(rejected.reason, rejected.place)
        records += batch.records
    return records
