"""Facts as rows of a table, one table a predicate: the columns that the tables of `ingest` have, but for whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from tidelog.connectors.cache import BoundedCache
from tidelog.connectors.formatting import exact_ends
from tidelog.connectors.outbox_file import OutboxSchema
from tidelog.connectors.spark.arguments import column_of
from tidelog.connectors.spark.columns import TimeColumn, has_dates, interval_columns, row_type
from tidelog.connectors.spark.running.parcels import RowCache
from tidelog.plans.errors import ConnectorError
from tidelog.plans.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_encode = msgspec.json.Encoder().encode


def table_type(schema: OutboxSchema, predicate: str) -> StructType:
    """The columns of a predicate's table."""
    return row_type(interval_columns(column_of(schema.predicates[predicate]), has_dates([schema])))


def table_rows(facts: DataFrame, predicate: str, schema: OutboxSchema, timeline: Timeline) -> DataFrame:
    """These parcels of facts, all of one predicate, as rows of its table."""

    def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(_TableRows(predicate, schema, timeline).batch, batches)

    return facts.select("row", "lo", "hi").mapInArrow(convert, table_type(schema, predicate))


class _TableRows:
    """What a worker does with the facts of one predicate."""

    def __init__(self, predicate: str, schema: OutboxSchema, timeline: Timeline) -> None:
        self._predicate, self._timeline = predicate, timeline
        self._type = to_arrow_schema(table_type(schema, predicate))
        self._convert = column_of(schema.predicates[predicate]).converter()
        self._time = TimeColumn(schema.unit, has_dates([schema])).value
        self._rows = RowCache()
        self._arguments: BoundedCache[bytes, Any] = BoundedCache(self._read, lambda row, _: len(row))
        self._ends: BoundedCache[tuple[int, int], tuple[Any, ...]] = BoundedCache(self._interval, lambda *_: 1)

    def batch(self, facts: pa.RecordBatch) -> pa.RecordBatch:
        """These facts; ConnectorError where one is not as its program declares it."""
        rows, los, his = (facts.column(name).to_pylist() for name in ("row", "lo", "hi"))
        arguments, ends = self._arguments, self._ends
        values = [(arguments[row], *ends[lo, hi]) for row, lo, hi in zip(rows, los, his, strict=True)]
        columns = list(zip(*values, strict=True)) or [()] * len(self._type)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._type, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._type)

    def _read(self, row: bytes) -> Any:
        try:
            return self._convert(_encode(self._rows[row]).decode())
        except ConnectorError as error:
            raise ConnectorError(f"a fact of `{self._predicate}`: {error}") from None

    def _interval(self, ends: tuple[int, int]) -> tuple[Any, ...]:
        start, end, start_open, end_open = exact_ends(self._timeline, *ends)
        return start, end, self._time(start), self._time(end), start_open, end_open
