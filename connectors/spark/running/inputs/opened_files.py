"""Parquet files on disks that every worker sees: a worker opens its part of them itself, and its rows become columns.

Spark's own reader makes an object of each row, and sends it to the worker as Arrow: that takes longer than all that follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType

from tidelog.connectors.sources.parquet_source import first_line, open_parquet
from tidelog.connectors.spark.arrow_types import arrow_type
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals
from tidelog.connectors.spark.running.inputs.blocks import plain_path
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.inputs.parquet_columns import column_of_file
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.frames.columns import ColumnReader, texts_of
from tidelog.runtime.frames.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART = 128 << 20
"""Bytes of a file that are a part for one task."""
_ROWS = 1 << 17
_LOCAL = "file:"


def opened_files(frame: DataFrame, layout: Layout, item: Input, job: Job) -> DataFrame | None:
    """The parcels of the files of a frame over history. None where Spark itself has to read them: from a store, or where
    names of folders hold a column."""
    uris = sorted(frame.inputFiles())
    if not uris or not all(uri.startswith(_LOCAL) for uri in uris):
        return None
    paths = list(map(plain_path, uris))
    with open_parquet(paths[0]) as file:
        if not set(layout.columns) <= set(file.schema_arrow.names):
            return None
    task = _PartsOfTask(item, job, layout, frame.schema)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return task.read(batches)

    return _parts(frame.sparkSession, paths).mapInArrow(read, COLUMNS)


def _parts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The parts of files: a row group belongs to the part in which it begins."""
    parts = [(path, begin, begin + _PART) for path in paths for begin in range(0, max(1, os.path.getsize(path)), _PART)]
    return spark.createDataFrame(parts, "path string, begin bigint, end bigint")


class _PartsOfTask:
    """What a worker does with parts of files. Made on the driver, and sent."""

    def __init__(self, item: Input, job: Job, layout: Layout, table: StructType) -> None:
        self._item, self._job, self._layout = item, job, layout
        self._kinds = {name: arrow_type(table[name].dataType) for name in layout.columns}

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of these parts."""
        arrivals = Arrivals(self._job, self._item.number)
        reader = ColumnReader(self._job.plan.schema, self._item.predicate or "", self._layout, arrivals.pool)
        for batch in batches:
            for part in zip(*[column.to_pylist() for column in batch.columns], strict=True):
                for rows in self._rows(*part):
                    yield from arrivals.take_columns(reader.read(rows, part[0], None))
        yield from arrivals.finish()

    def _rows(self, path: str, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """The rows of a part, as all files are to have them. ConnectorError where the file is damaged."""
        with open_parquet(path) as file:
            texts = texts_of(self._layout, file.schema_arrow)
        try:
            with open_parquet(path, texts) as file:
                groups = [i for i in range(file.num_row_groups) if begin <= _start(file, i) < end]
                there = [name for name in self._kinds if name in file.schema_arrow.names]
                for batch in file.iter_batches(_ROWS, groups, there) if groups else ():
                    columns = [column_of_file(batch, name, kind) for name, kind in self._kinds.items()]
                    yield pa.RecordBatch.from_arrays(columns, list(self._kinds))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ConnectorError(f"cannot read `{path}`: {first_line(error)}") from error


def _start(file: Any, number: int) -> int:
    """Where a row group begins."""
    column = file.metadata.row_group(number).column(0)
    return int(column.dictionary_page_offset or column.data_page_offset)
