"""Parquet and tables on Spark: which of their columns make a fact, and how facts are made of them.

Columns are the fields of a predicate and `time`, or `from` and `to`, as in CSV; or those in which derived facts are stored
(`interval_columns` in `connectors/spark/tables/columns.py`): `arguments`, and exact times with what their ends exclude.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tidelog.connectors.spark.running.inputs.frame_rows import EXACT, Layout, RowsOfTask, TimeKind, ValueKind
from tidelog.connectors.spark.running.inputs.locations import FILES, Input, location
from tidelog.connectors.spark.running.inputs.pushed import wanted_rows
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS
from tidelog.connectors.spark.source import register
from tidelog.connectors.spark.tables.tables import table_at
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.data.header import match_fields, read_columns
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.syntax import FieldType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_WHAT = "the table"


def read_frame(spark: SparkSession, item: Input, job: Job, *, streaming: bool, files: int = FILES) -> DataFrame:
    """The parcels of Parquet files, or of a table; a batch of a stream has so many `files` at most.

    SpecError where its columns are not those of the predicate's facts.
    """
    return rows_as_parcels(_open(spark, item, streaming=streaming, files=files), item, job)


def rows_as_parcels(frame: DataFrame, item: Input, job: Job) -> DataFrame:
    """The parcels of a frame's rows, which are facts of the item's predicate; over history of those alone that rules need.

    SpecError where its columns are not those of the predicate's facts.
    """
    try:
        layout, paths = layout_of(frame.schema, item.predicate or "", job.plan.schema)
    except DataError as error:
        raise SpecError(f"cannot read `{item.path}`: {error.reason}") from None
    if not frame.isStreaming and not job.needs_span:  # a stream's time follows all facts
        wanted = wanted_rows(frame.schema, layout, paths, item.predicate or "", job)
        frame = frame if wanted is None else frame.where(wanted)
    rows = frame.select(*[F.col(path).alias(f"c{i}") for i, path in enumerate(paths)], *_origin(item))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return RowsOfTask(item, job, layout).read(batches)

    return rows.mapInArrow(read, COLUMNS)


def _open(spark: SparkSession, item: Input, *, streaming: bool, files: int) -> DataFrame:
    stream = spark.readStream.option("maxFilesPerTrigger", files)
    if item.format == "table":
        return stream.table(item.path) if streaming else spark.read.table(item.path)
    if item.format == "tidelog":
        register(spark)
        place, predicate = table_at(item.path)
        return spark.read.format("tidelog").options(tables=place, predicate=predicate).load()
    path = location(item, resolved=not streaming)
    try:
        frame = spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        raise SpecError(f"cannot read `{item.path}`: it holds no Parquet file that would tell its columns") from None
    return stream.schema(frame.schema).parquet(path) if streaming else frame


def _origin(item: Input) -> tuple[Column, Column]:
    """Where a row is from: its file, and the part of the file; in a table, the part of the table."""
    if item.format in ("table", "tidelog"):
        return F.lit(item.path).alias("file_path"), F.spark_partition_id().cast("bigint").alias("file_block_start")
    return F.col("_metadata.file_path"), F.col("_metadata.file_block_start")


def layout_of(table: StructType, predicate: str, schema: Schema) -> tuple[Layout, list[str]]:
    """How rows of a table are facts of a predicate, and where its columns are, in order.

    DataError where a column is missing, or of a type that it cannot have.
    """
    known = schema.predicates.get(predicate)
    kinds = {item.name: item.dataType for item in table.fields}
    arguments = kinds.get("arguments")
    if isinstance(arguments, StructType | ArrayType) and all(name in kinds for name in EXACT):
        return _stored_layout(arguments, predicate, known)
    names = list(kinds)
    if {"from_open", "to_open"} <= {*names} - {*(known.fields if known else ())}:
        raise DataError("columns `from_open` and `to_open` are of frames in memory: Spark reads what `parquet:DIR` writes")
    if known and known.fields:  # other columns do no harm
        names = [name for name in names if name in known.fields or name in ("time", "from", "to")]
    found = read_columns(schema, predicate, names, what=_WHAT)
    fields = [names[place] for place, _ in found.arguments]
    times = [names[place] for place in found.bounds or (found.time or 0,)]
    values = [_value_kind(name, kinds[name], known) for name in fields]
    points = [_time_kind(name, kinds[name], schema) for name in times]
    layout = Layout((*fields, *times), tuple(values), tuple(points))
    return layout, [_quoted(name) for name in (*fields, *times)]


def _stored_layout(
    arguments: StructType | ArrayType, predicate: str, known: PredicateSchema | None
) -> tuple[Layout, list[str]]:
    """The layout of tables of derived facts."""
    exact = [_quoted(name) for name in EXACT]
    if isinstance(arguments, ArrayType):
        if not isinstance(arguments.elementType, StringType):
            raise DataError(f"column `arguments` is of type {arguments.simpleString()}: it should hold texts of JSON")
        return Layout(("arguments", *EXACT), None, ()), ["arguments", *exact]
    names = arguments.names
    if known and known.fields:
        match_fields(predicate, known.fields, names, _WHAT)
        names = list(known.fields)
    elif known and len(names) != known.arity:
        raise DataError(f"`{predicate}` has {known.arity} arguments, got {len(names)}: {', '.join(names) or 'none'}")
    values = [_stored_kind(arguments[name], known) for name in names]
    return Layout((*names, *EXACT), tuple(values), ()), [*(f"arguments.{_quoted(name)}" for name in names), *exact]


def _stored_kind(field: StructField, known: PredicateSchema | None) -> ValueKind:
    """How a stored argument is read. A field of type `any` is stored as a text of JSON, one of type `text` as it is."""
    kind = _value_kind(field.name, field.dataType, known)
    return (
        "json" if kind == "plain" and isinstance(field.dataType, StringType) and _type(field.name, known) != "text" else kind
    )


def _value_kind(name: str, kind: DataType, known: PredicateSchema | None) -> ValueKind:
    """How an argument is read from a column of this type."""
    if not isinstance(kind, StringType | NumericType | BooleanType):
        raise DataError(f"column `{name}` is of type {kind.simpleString()}: an argument is text, a number or a boolean")
    wanted = _type(name, known)
    possible: dict[FieldType, tuple[type[DataType], ...]] = {
        "text": (StringType, BooleanType),
        "number": (NumericType,),
        "integer": (NumericType,),
        "boolean": (StringType, BooleanType),
        "any": (DataType,),
    }
    if known is not None and not isinstance(kind, possible[wanted]):
        raise DataError(f"`{known.name}` expects {wanted} for `{name}`, and the column is of type {kind.simpleString()}")
    return "decimal" if isinstance(kind, DecimalType) else "plain"


def _type(name: str, known: PredicateSchema | None) -> FieldType:
    """The declared type of a field."""
    declared = dict(zip(known.fields, known.types, strict=False)) if known else {}
    return declared.get(name, "any")


def _time_kind(name: str, kind: DataType, schema: Schema) -> TimeKind:
    """How a time is read from a column of this type."""
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        if schema.timeline.unit is None:
            need = "needs a unit: declare one, such as `timeline integer, unit 1 s`"
            raise DataError(f"column `{name}` is of type {kind.simpleString()}, which {need}")
        return "days" if isinstance(kind, DateType) else "micros"
    if not isinstance(kind, StringType | IntegralType | FractionalType):
        raise DataError(f"column `{name}` is of type {kind.simpleString()}: a time is a number, text, a date or a timestamp")
    return "text" if isinstance(kind, StringType) else "number"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
