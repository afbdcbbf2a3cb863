"""Rows of Parquet and of tables, and how a worker makes facts of them. A row that is no fact costs no other row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import msgspec
import pyarrow as pa

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.decoding import Admission, as_text
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals, runs
from tidelog.connectors.spark.running.inputs.blocks import plain_path
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.job import Job
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import read_number, shorten
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.ports.interfaces import Rejected

EXACT = ("start", "end", "start_open", "end_open")
"""The columns in which the exact interval of a stored fact stands."""

ValueKind = Literal["plain", "decimal", "json"]
"""How an argument is read: as it is, as a number, or as what a text of JSON says."""
TimeKind = Literal["text", "number", "micros", "days"]
"""How a time is read: as data writes it, by its value, or as microseconds or days since 1970."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - Spark's microseconds are those of UTC, and so are times without an offset
_DAY = 86_400_000_000

_decode_json = msgspec.json.Decoder(str | int | float | bool).decode


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a row are. Plain data: it is sent to Spark's workers.

    First come the arguments, or one column with an array of JSON texts where `values` is None; then one time or two, the
    closed interval between them, or, where `times` is empty, the columns `EXACT`. `names` are for messages.
    """

    names: tuple[str, ...]
    values: tuple[ValueKind, ...] | None
    times: tuple[TimeKind, ...]


class RowsOfTask:
    """What a worker does with rows of a layout, columns `c0`, `c1` …, and of where they are from."""

    def __init__(self, item: Input, job: Job, layout: Layout) -> None:
        self._is_table = item.format in ("table", "tidelog")
        self._layout = layout
        self._reader = RowReader(job.plan.schema, item.predicate or "", layout)
        self._arrivals = Arrivals(job, item.number)
        self._key: tuple[str, int] | None = None
        self._place = ""

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of these rows."""
        for batch in batches:
            columns = [_as_list(batch.column(f"c{i}")) for i in range(len(self._layout.names))]
            for begin, end in runs(batch):
                self._enter(*[batch.column(name)[begin].as_py() for name in ("file_path", "file_block_start")])
                yield from self._arrivals.take(*self._reader.read([column[begin:end] for column in columns], self._place))
        yield from self._arrivals.finish()

    def _enter(self, path: str, start: int) -> None:
        if self._key != (path, start):
            self._key = path, start
            self._place = path if self._is_table else plain_path(path)
            self._arrivals.begin(self._place, start)


class RowReader:
    """Makes facts of one predicate of rows of one layout."""

    def __init__(self, schema: Schema, predicate: str, layout: Layout) -> None:
        self._schema = schema
        self._predicate = predicate
        self._names = layout.names
        self._kinds = layout.values
        self._time_kinds = layout.times
        self._count = 1 if layout.values is None else len(layout.values)
        self._admission = Admission(schema)
        self._rows: BoundedCache[tuple[object, ...], Row] = BoundedCache(self._read_row, _length)
        times = Times(schema.timeline)
        self._points = [BoundedCache(times.reader(kind), lambda *_: 1) for kind in layout.times]
        self._times = times

    def read(self, columns: Sequence[list[Any]], place: str) -> tuple[list[Record], list[Rejected]]:
        """The facts of rows, given by columns, and what is none."""
        records: list[Record] = []
        rejected: list[Rejected] = []
        count, rows, predicate = self._count, self._rows, self._predicate
        read_range = self._range
        for values in zip(*columns, strict=True):
            try:
                row = rows[values[:count]] if self._kinds is not None else self._row_of_array(values[0])
                lo, hi = read_range(values[count:])
            except DataError as error:
                rejected.append(Rejected(place, error.reason, self._raw(values)))
            else:
                records.append((predicate, row, lo, hi))
        return records, rejected

    def _row_of_array(self, texts: list[object] | None) -> Row:
        if texts is None:
            raise DataError("`arguments` is NULL")
        return self._rows[tuple(texts)]

    def _read_row(self, values: tuple[object, ...]) -> Row:
        if None in values:
            name = "an argument" if self._kinds is None else f"`{self._names[values.index(None)]}`"
            raise DataError(f"{name} is NULL")
        if self._kinds is None:
            return self._admission.row(self._predicate, tuple(map(read_json, values)))
        read = [_read_value(kind, value) for kind, value in zip(self._kinds, values, strict=True)]
        return self._admission.row(self._predicate, tuple(read))

    def _range(self, values: tuple[Any, ...]) -> tuple[int, int]:
        if len(values) == 4:
            return self._times.exact(*values)
        if None in values:
            raise DataError(f"`{self._names[self._count + values.index(None)]}` is NULL")
        if len(values) == 1:
            point = self._points[0][values[0]]
            return point, point
        low, high = values
        lo = NEG if _is_infinite(low, "-inf") else self._points[0][low]
        hi = POS if _is_infinite(high, "inf") else self._points[1][high]
        if lo > hi:
            timeline = self._schema.timeline
            return timeline.encode_interval(Interval(timeline.decode_point(lo), timeline.decode_point(hi)))
        return lo, hi

    def _raw(self, values: tuple[Any, ...]) -> bytes:
        """The row as JSON."""
        shown = list(values)
        for place, kind in enumerate(self._time_kinds, self._count):
            if kind in ("micros", "days") and shown[place] is not None:
                shown[place] = _iso(shown[place] * (_DAY if kind == "days" else 1)) or shown[place]
        return msgspec.json.encode(dict(zip(self._names, shown, strict=True)))[:RAW_LIMIT]


class Times:
    """The times of columns, as points of one timeline; every method raises DataError for what it cannot read.

    A unit in which times of stored facts are counted is `scale` of the timeline's units.
    """

    def __init__(self, timeline: Timeline, scale: Fraction = Fraction(1)) -> None:
        self._timeline = timeline
        self._scale = scale
        self._reader = TimeReader(timeline)
        resolution = Fraction(1) if timeline.is_integer else timeline.resolution
        self._ticks = Fraction(1, 1_000_000) / (timeline.unit or 1) / resolution
        self._ranges: BoundedCache[tuple[Any, ...], tuple[int, int]] = BoundedCache(self._read_exact, _length)

    def reader(self, kind: TimeKind) -> Callable[[Any], int]:
        """What reads the points of a column."""
        if kind == "micros":
            return self.micros
        if kind == "days":
            return lambda days: self.micros(days * _DAY)
        return self._text if kind == "text" else self._number

    def micros(self, micros: int) -> int:
        """The point so many microseconds after the beginning of 1970.

        >>> Times(Timeline("integer", unit=Fraction(60))).micros(120_000_000)
        2
        """
        ticks, rest = divmod(micros * self._ticks.numerator, self._ticks.denominator)
        point = ticks if self._timeline.is_integer else 2 * ticks
        if rest == 0 and -LIMIT <= point <= LIMIT:
            return point
        text = _iso(micros)
        if text is not None:
            return self._reader.read_point(text)
        return self._reader.encode(Fraction(micros, 1_000_000) / (self._timeline.unit or 1))

    def exact(self, start: str | None, end: str | None, start_open: bool | None, end_open: bool | None) -> tuple[int, int]:
        """The range of a stored fact."""
        return self._ranges[start, end, start_open, end_open]

    def _read_exact(self, values: tuple[Any, ...]) -> tuple[int, int]:
        start, end, start_open, end_open = values
        if start_open is None or end_open is None:
            raise DataError(f"`{'start_open' if start_open is None else 'end_open'}` is NULL")
        low = "-inf" if start is None else self._scaled(start)
        high = "inf" if end is None else self._scaled(end)
        return self._reader.read_interval(f"{'(' if start_open else '['}{low},{high}{')' if end_open else ']'}")

    def _scaled(self, text: str) -> str:
        return text if self._scale == 1 else str(Fraction(text) * self._scale)

    def _text(self, value: str | bytes) -> int:
        return self._reader.read_point(as_text(value) if isinstance(value, bytes) else value)

    def _number(self, value: int | float | Decimal) -> int:
        return self._reader.read_point(str(value)) if isinstance(value, int) else self._reader.point(value)


def _read_value(kind: ValueKind, value: Any) -> object:
    if isinstance(value, bytes):
        return as_text(value)
    if kind == "plain":
        return value
    if kind == "decimal":
        return read_number(str(value))
    try:
        return read_json(value)
    except DataError:
        return value  # of a field of type `text`, which the program does not tell from `any`


def read_json(text: Any) -> str | int | float | bool:
    """What a text of JSON says; DataError where that is no argument."""
    if isinstance(text, bytes):
        text = as_text(text)
    try:
        value: str | int | float | bool = _decode_json(text)
    except msgspec.MsgspecError:
        raise DataError(f"`{shorten(text)}` is no argument in JSON") from None
    return value


def _is_infinite(value: object, text: str) -> bool:
    if isinstance(value, str):
        return value.strip().lower().removeprefix("+") == text
    return isinstance(value, float) and value == float(text) and math.isinf(value)


def _iso(micros: int) -> str | None:
    """A time of day as text; None beyond the years 1 to 9999."""
    try:
        return (_EPOCH + timedelta(microseconds=micros)).isoformat()
    except OverflowError:
        return None


def _as_list(column: pa.Array) -> list[Any]:
    """A column's values: dates and timestamps as numbers of days or microseconds, and as bytes what should be UTF-8."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # Spark does not look whether text is text
        raw = pa.list_(pa.binary()) if pa.types.is_list(column.type) else pa.binary()
        return [_decoded(value) for value in column.cast(raw).to_pylist()]
    return values


def _decoded(value: Any) -> Any:
    """Text, or the bytes that are none."""
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    try:
        return value if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _length(key: tuple[object, ...], _: object) -> int:
    return sum([len(value) for value in key if isinstance(value, str | bytes)])
