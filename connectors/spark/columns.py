"""The columns in which Spark sees a fact, and how the rows of an outbox become Arrow batches of them.

Times are there twice: as exact text (`start`, `end`: NULL where the interval has no end on that side), and as something to
compute with (`start_time`, `end_time`): TIMESTAMP where every program declares what a unit of time is, otherwise DOUBLE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.times import TimeColumn
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.spark.arrow_types import arrow_schema
from tidelog.plans.diagnostics.errors import ConnectorError

_TYPES: dict[str, DataType] = {
    "text": StringType(),
    "number": DoubleType(),
    "integer": LongType(),
    "boolean": BooleanType(),
    "any": StringType(),
}
"""A field's type in Spark; what may be `any` is a text of JSON."""


def arguments_type(arguments: ArgumentColumn) -> DataType:
    """The type of a column of arguments: a struct, or an array of JSON texts where no fields are known."""
    if not arguments.fields:
        return ArrayType(StringType(), containsNull=False)
    pairs = zip(arguments.fields, arguments.types, strict=True)
    return StructType([StructField(name, _TYPES[kind], nullable=False) for name, kind in pairs])


def time_type(dates: bool) -> DataType:
    return TimestampType() if dates else DoubleType()


Column = tuple[str, DataType, bool]
"""A column's name, its type, and whether it may be NULL."""

TOLD_COLUMNS: tuple[Column, ...] = (("horizon", StringType(), True), ("emitted_at", TimestampType(), False))
"""When a fact was told, and how much was known then."""


def fact_type(arguments: ArgumentColumn, dates: bool) -> StructType:
    """The columns of the data source."""
    columns: list[Column] = [
        ("node", StringType(), False),
        ("seq", LongType(), False),
        ("predicate", StringType(), False),
        *interval_columns(arguments, dates),
        *TOLD_COLUMNS,
    ]
    return row_type(columns)


def interval_columns(arguments: ArgumentColumn, dates: bool) -> list[Column]:
    """What holds, and when."""
    return [
        ("arguments", arguments_type(arguments), False),
        ("start", StringType(), True),
        ("end", StringType(), True),
        ("start_time", time_type(dates), True),
        ("end_time", time_type(dates), True),
        ("start_open", BooleanType(), False),
        ("end_open", BooleanType(), False),
    ]


def row_type(columns: Iterable[Column]) -> StructType:
    """The type of rows with these columns."""
    return StructType([StructField(name, kind, nullable) for name, kind, nullable in columns])


class FactBatches:
    """Makes Arrow batches from the rows of one outbox."""

    def __init__(self, schema: OutboxSchema, arguments: ArgumentColumn, dates: bool) -> None:
        self._node = schema.node
        self._arguments = arguments.converter()
        self._time = TimeColumn(schema.unit, dates).value
        self._type = arrow_schema(fact_type(arguments, dates))

    def batch(self, rows: Sequence[OutboxRow]) -> pa.RecordBatch:
        """These rows; ConnectorError where one is not as its program declares it."""
        time = self._time
        columns = [
            [self._node] * len(rows),
            [row.seq for row in rows],
            [row.predicate for row in rows],
            [self._read_arguments(row) for row in rows],
            [row.start for row in rows],
            [row.end for row in rows],
            [time(row.start) for row in rows],
            [time(row.end) for row in rows],
            [row.start_open for row in rows],
            [row.end_open for row in rows],
            [row.horizon for row in rows],
            [row.emitted_at for row in rows],
        ]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._type, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._type)

    def _read_arguments(self, row: OutboxRow) -> object:
        try:
            return self._arguments(row.arguments)
        except ConnectorError as error:
            raise ConnectorError(f"fact {row.seq} of node `{self._node}`, `{row.predicate}`: {error}") from None
