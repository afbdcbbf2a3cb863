"""Parquet and tables on Spark: workers make facts of their rows as one process does (`runtime/frames/`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidelog.connectors.spark.arrow_types import arrow_type
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals, runs
from tidelog.connectors.spark.running.inputs.blocks import plain_path
from tidelog.connectors.spark.running.inputs.delta_tables import read_delta
from tidelog.connectors.spark.running.inputs.locations import FILES, Input, location
from tidelog.connectors.spark.running.inputs.opened_files import opened_files
from tidelog.connectors.spark.running.inputs.pushed import column_of, wanted_rows
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS, needs_places
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.header import TIMES
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.frames.columns import ColumnReader
from tidelog.runtime.frames.layout import Layout, layout_of
from tidelog.runtime.frames.reading import FrameReader

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def read_frame(spark: SparkSession, item: Input, job: Job, *, streaming: bool, files: int = FILES) -> DataFrame:
    """The parcels of Parquet files, or of a table; a batch of a stream has so many `files` at most.

    SpecError where its columns are not those of the predicate's facts.
    """
    frame = _open(spark, item, streaming=streaming, files=files)
    if item.format == "parquet" and not streaming and travels_in_columns(job):
        opened = opened_files(frame, _layout(frame, item, job), item, job)
        if opened is not None:
            return opened
    return rows_as_parcels(frame, item, job)


def rows_as_parcels(frame: DataFrame, item: Input, job: Job) -> DataFrame:
    """The parcels of a frame's rows, which are facts of the item's predicate; over history of those alone that rules need.

    SpecError where its columns are not those of the predicate's facts.
    """
    layout = _layout(frame, item, job)
    if not frame.isStreaming and not job.needs_span:  # a stream's time follows all facts
        wanted = wanted_rows(frame.schema, layout, item.predicate or "", job)
        frame = frame if wanted is None else frame.where(wanted)
    rows = frame.select(*[column_of(name).alias(f"c{i}") for i, name in enumerate(layout.columns)], *_origin(item))

    in_columns = travels_in_columns(job)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return RowsOfTask(item, job, layout, in_columns=in_columns).read(batches)

    return rows.mapInArrow(read, COLUMNS)


def _layout(frame: DataFrame, item: Input, job: Job) -> Layout:
    try:
        return layout_of_frame(frame.schema, item.predicate or "", job.plan.schema)
    except DataError as error:
        raise SpecError(f"cannot read `{item.path}`: {error.reason}") from None


def travels_in_columns(job: Job) -> bool:
    """Whether facts of rows go on in columns: where no stage needs the order of their arrival."""
    return not needs_places(job.stages)


def _open(spark: SparkSession, item: Input, *, streaming: bool, files: int) -> DataFrame:
    stream = spark.readStream.option("maxFilesPerTrigger", files)
    if item.format == "table":
        return stream.table(item.path) if streaming else spark.read.table(item.path)
    if item.format == "delta":
        return read_delta(spark, item.path)
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
    if item.format in ("table", "delta"):
        return F.lit(item.path).alias("file_path"), F.spark_partition_id().cast("bigint").alias("file_block_start")
    return F.col("_metadata.file_path"), F.col("_metadata.file_block_start")


class RowsOfTask:
    """What a worker does with rows: the columns of a layout as `c0`, `c1` …, and behind them where the rows are from.

    Their facts go on `in_columns`, or as rows.
    """

    def __init__(self, item: Input, job: Job, layout: Layout, *, in_columns: bool) -> None:
        self._is_table = item.format in ("table", "delta")
        self._columns = layout.columns
        self._arrivals = Arrivals(job, item.number)
        facts = (job.plan.schema, item.predicate or "", layout)
        self._reader = ColumnReader(*facts, self._arrivals.pool) if in_columns else FrameReader(*facts)
        self._key: tuple[str, int] | None = None
        self._place = ""

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of these rows."""
        for batch in batches:
            rows = pa.RecordBatch.from_arrays(batch.columns[: len(self._columns)], self._columns)
            for begin, end in runs(batch):
                self._enter(*[batch.column(name)[begin].as_py() for name in ("file_path", "file_block_start")])
                yield from self._take(rows.slice(begin, end - begin))
        yield from self._arrivals.finish()

    def _take(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if isinstance(self._reader, ColumnReader):
            yield from self._arrivals.take_columns(self._reader.read(rows, self._place, None))
        else:
            read = self._reader.read(rows, self._place, None)
            yield from self._arrivals.take(read.records, read.rejected)

    def _enter(self, path: str, start: int) -> None:
        if self._key != (path, start):
            self._key = path, start
            self._place = path if self._is_table else plain_path(path)
            self._arrivals.begin(self._place, start)


def layout_of_frame(table: StructType, predicate: str, schema: Schema) -> Layout:
    """How rows of a table of Spark's are facts of a predicate.

    DataError where a column is missing, or of a type that it cannot have.
    """
    known = schema.predicates.get(predicate)
    fields = known.fields if known else ()
    columns: list[tuple[str, pa.DataType]] = []
    for column in table.fields:
        try:
            columns.append((column.name, arrow_type(column.dataType)))
        except PySparkException:
            if not fields or column.name in (*fields, *TIMES):
                kind = column.dataType.simpleString()
                raise DataError(f"column `{column.name}` is of type {kind}, which Arrow does not have") from None
    return layout_of(pa.schema(columns), predicate, schema)
