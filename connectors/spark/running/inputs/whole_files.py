"""Parquet files that may be damaged: each is read as a whole before any fact of it counts; one that cannot be is a letter.

Spark itself ends a run at such a file, or passes over what it cannot read without a word. So here it brings the bytes of
each file, and workers read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from tidelog.connectors.spark.arrow_types import arrow_type
from tidelog.connectors.spark.running.inputs.blocks import plain_path
from tidelog.connectors.spark.running.inputs.frames import RowsOfTask, layout_of_frame, travels_in_columns
from tidelog.connectors.spark.running.inputs.locations import FILES, Input, escape, location
from tidelog.connectors.spark.running.inputs.parquet_columns import column_of_file
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS, Parcels
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READ = ("path", "content")


def read_whole_files(spark: SparkSession, item: Input, job: Job, *, streaming: bool, files: int = FILES) -> DataFrame:
    """The parcels of Parquet files; a batch of a stream has so many `files` at most. Each file has to fit into a worker.

    SpecError where no file tells the columns, or they are not those of the predicate's facts, or are in no file.
    """
    path = location(item, resolved=not streaming)
    kinds = _columns(spark, item, path)
    reader = spark.readStream.option("maxFilesPerTrigger", files) if streaming else spark.read
    found = (reader.schema(_schema(spark, path)) if streaming else reader).format("binaryFile").load(path)
    files_of = FilesOfTask(item, job, kinds, {*found.columns} - _BINARY, streaming=streaming)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return files_of.read(batches)

    return found.select(*_READ).mapInArrow(read, COLUMNS)


def _columns(spark: SparkSession, item: Input, path: str) -> StructType:
    """The columns of the first file, by name, that tells any; SpecError where none does."""
    for file in sorted(spark.read.format("binaryFile").load(path).inputFiles())[:_FIRST_FILES]:
        name = plain_path(file)
        with suppress(PySparkException, Py4JError):  # it is damaged, as the worker will find, too
            return spark.read.parquet(escape(f"file://{name}" if name.startswith("/") else name)).schema
    raise SpecError(f"cannot read `{item.path}`: it holds no Parquet file that would tell its columns")


_FIRST_FILES = 100
"""So many files are looked at for their columns."""
_BINARY = {"path", "modificationTime", "length", "content"}


def _schema(spark: SparkSession, path: str) -> StructType:
    return spark.read.format("binaryFile").load(path).schema


class FilesOfTask:
    """What a worker does with files as bytes: columns `path` and `content`. Made on the driver, and sent."""

    def __init__(self, item: Input, job: Job, kinds: StructType, folders: Iterable[str], *, streaming: bool) -> None:
        self._item, self._job = item, job
        self._in_columns = travels_in_columns(job)
        try:
            self._layout = layout_of_frame(kinds, item.predicate or "", job.plan.schema)
        except DataError as error:
            raise SpecError(f"cannot read `{item.path}`: {error.reason}") from None
        self._kinds = {name: arrow_type(kinds[name].dataType) for name in self._layout.columns}
        named = sorted(self._kinds.keys() & set(folders))
        if named:
            told = f"its column `{named[0]}` is in names of folders, and not in the files"
            raise SpecError(f"cannot read `{item.path}` with `--skip-damaged`: {told}")

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of these files."""
        rows, damaged = RowsOfTask(self._item, self._job, self._layout, in_columns=self._in_columns), Parcels()
        yield from rows.read(self._tables(batches, damaged))
        if len(damaged):
            yield damaged.take()

    def _tables(self, batches: Iterable[pa.RecordBatch], damaged: Parcels) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in range(batch.num_rows):
                uri = batch.column("path")[place].as_py()
                try:
                    table = self._table(batch.column("content")[place].as_buffer())
                except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                    said = str(error).strip().partition("\n")[0]
                    damaged.letters([Rejected(plain_path(uri), f"the file is damaged: {said}", b"")])
                    continue
                yield from self._with_origin(table, uri)

    def _table(self, content: pa.Buffer) -> pa.Table:
        """The columns of a file, all of them read."""
        file = pq.ParquetFile(pa.BufferReader(content))
        table = file.read(columns=[name for name in file.schema_arrow.names if name in self._kinds])
        columns = [column_of_file(table, name, kind) for name, kind in self._kinds.items()]
        return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])

    @staticmethod
    def _with_origin(table: pa.Table, uri: str) -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches():
            number = batch.num_rows
            origin = {"file_path": pa.array([uri] * number), "file_block_start": pa.array([0] * number, pa.int64())}
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield pa.RecordBatch.from_pydict(columns | origin)
