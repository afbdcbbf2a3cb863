"""The columns in which Spark sees a fact, and how the rows of an outbox become Arrow batches of them.

Times are there twice: as exact text (`start`, `end`: NULL where the interval has no end on that side), and as something to
compute with (`start_time`, `end_time`): TIMESTAMP where every program declares what a unit of time is, otherwise DOUBLE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.spark.arguments import ArgumentColumn
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.frames.exact import microseconds


def has_dates(schemas: Sequence[OutboxSchema]) -> bool:
    """Whether times are dates: every program says how long a unit is."""
    return all(schema.unit is not None for schema in schemas)


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
        ("arguments", arguments.type, False),
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


class TimeColumn:
    """From exact times as text to values to compute with: floats, or microseconds since 1970.

    What is beyond the years 1 to 9999 has no date, and what is finer than a microsecond is cut.
    """

    def __init__(self, unit: str | None, dates: bool) -> None:
        self._unit = Fraction(unit) if dates and unit is not None else None

    def value(self, text: str | None) -> float | int | None:
        if text is None:
            return None
        number = exact(text)
        return float(number) if self._unit is None else microseconds(number * self._unit)


def exact(text: str) -> int | Fraction:
    """A time of an outbox as a number."""
    return Fraction(text) if "/" in text else int(text)


class FactBatches:
    """Makes Arrow batches from the rows of one outbox."""

    def __init__(self, schema: OutboxSchema, arguments: ArgumentColumn, dates: bool) -> None:
        self._node = schema.node
        self._arguments = arguments.converter()
        self._time = TimeColumn(schema.unit, dates).value
        self._type = to_arrow_schema(fact_type(arguments, dates))

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
