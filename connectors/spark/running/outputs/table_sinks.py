"""Tables of a run, one a predicate, in the formats that it writes; a stream's batch that comes again counts once in each.

Tables of Delta Lake are written without a jar (`delta_sink`); Iceberg comes with one, which the user brings. Both commit
a table's rows at once, and keep with them which checkpoint and which batch they are of: Iceberg in the summary of the
snapshot, in which it is looked for before a batch is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from tidelog.connectors.files.folders import folder_of
from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.places import is_remote, local_path, uri_of
from tidelog.connectors.spark.running.outputs.delta_sink import DeltaTables
from tidelog.connectors.spark.running.outputs.folders import LocalFolder, RemoteFolder, claim_tables
from tidelog.connectors.spark.running.outputs.sinks import Tables
from tidelog.connectors.spark.running.outputs.taken import TableRows
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECKPOINT, _BATCH = "tidelog.checkpoint", "tidelog.batch"
"""What a snapshot of Iceberg says of the batch that it has added."""
FILE, _DONE = "part-00000000.parquet", "_SUCCESS"
"""What the file of a batch is called that the driver writes, and the empty one by which Spark says that all are there."""


class TableSink(Protocol):
    """One table a predicate. Over history tables are new, and `batch` is None; a stream adds its batches, in their order."""

    def open(self, spark: SparkSession, predicates: Iterable[str]) -> None:
        """Look at what only Spark reaches; SpecError where tables of these predicates cannot be written."""
        ...

    def write(self, rows: TableRows, predicate: str, batch: int | None, arguments: ArgumentColumn) -> None:
        """Add rows to a predicate's table; `arguments` is what its program declares."""
        ...


def table_sink(tables: Tables, checkpoint: str) -> TableSink:
    """The sink of these tables; `checkpoint` is what tells the stream from all others, nothing over history.

    SpecError where a folder of this machine holds something else.
    """
    if tables.format == "iceberg":
        return IcebergTables(tables.path, checkpoint)
    if tables.format == "delta":
        return DeltaTables(tables.path, checkpoint)
    return ParquetTables(tables.path, checkpoint)


class ParquetTables:
    """Plain files. A batch is a folder, `batch=17`, which replaces itself, so a folder of tables is one stream's alone."""

    def __init__(self, path: str, checkpoint: str) -> None:
        self._path, self._checkpoint = path, checkpoint
        if not is_remote(path):
            claim_tables(LocalFolder(path), checkpoint)

    def open(self, spark: SparkSession, predicates: Iterable[str]) -> None:
        """SpecError where a folder that only Spark reaches holds something else."""
        if is_remote(self._path):
            claim_tables(RemoteFolder(spark, self._path), self._checkpoint)

    def write(self, rows: TableRows, predicate: str, batch: int | None, arguments: ArgumentColumn) -> None:
        """Write a table, or the folder of a batch; ConnectorError where that cannot be."""
        place = folder_of(predicate) if batch is None else f"{folder_of(predicate)}/batch={batch}"
        here = None if is_remote(self._path) else rows.here()
        if here is not None:
            _write_here(here, Path(local_path(self._path), place))
        else:
            rows.frame().write.mode("error" if batch is None else "overwrite").parquet(f"{uri_of(self._path)}/{place}")


def _write_here(rows: pa.RecordBatch, folder: Path) -> None:
    """Let a folder have these rows and nothing else: until all of them are there, readers find what was there before."""
    new = folder.with_name(f".{folder.name}.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        pq.write_table(pa.Table.from_batches([rows]), new / FILE)
        (new / _DONE).touch()
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    except OSError as error:
        raise ConnectorError(f"cannot write the table `{folder}`: {error.strerror or error}") from error


class IcebergTables:
    """Tables of Apache Iceberg in a namespace of a catalog. Several streams, and others, may add to one table."""

    def __init__(self, namespace: str, checkpoint: str) -> None:
        self._catalog, *self._namespace = namespace.split(".")
        self._checkpoint = checkpoint

    def open(self, spark: SparkSession, predicates: Iterable[str]) -> None:
        """SpecError where Spark does not know the catalog, or its jar is missing, or history would add to a table."""
        setting = f"spark.sql.catalog.{self._catalog}"
        jar = "`--packages org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:VERSION`"
        catalog = spark.conf.get(setting, None)
        if catalog is None:
            raise SpecError(
                f"Spark knows no catalog `{self._catalog}`: name it with "
                f"`--conf {setting}=org.apache.iceberg.spark.SparkCatalog`, and its jar with {jar}"
            )
        _check_class(spark, catalog, jar)
        for predicate in () if self._checkpoint else predicates:
            if spark.catalog.tableExists(self._table(predicate)):
                raise _is_there(self._table(predicate))

    def write(self, rows: TableRows, predicate: str, batch: int | None, arguments: ArgumentColumn) -> None:
        """Add rows, unless the table has this batch; the table is made with the first."""
        frame = rows.frame()
        spark, table = frame.sparkSession, self._table(predicate)
        if batch is None:
            frame.writeTo(table).using("iceberg").create()
            return
        if not spark.catalog.tableExists(table):
            frame.limit(0).writeTo(table).using("iceberg").create()
        elif self._last(spark, table) >= batch:
            return
        writer = frame.writeTo(table).option(f"snapshot-property.{_CHECKPOINT}", self._checkpoint)
        writer.option(f"snapshot-property.{_BATCH}", str(batch)).append()

    def _last(self, spark: SparkSession, table: str) -> int:
        """The last batch of this stream that a table has; -1 for none."""
        said = F.col("summary")
        own = spark.table(f"{table}.`snapshots`").where(said[_CHECKPOINT] == self._checkpoint)
        [last] = own.agg(F.max(said[_BATCH].cast("bigint"))).collect()[0]
        return -1 if last is None else int(last)

    def _table(self, predicate: str) -> str:
        names = (self._catalog, *self._namespace, predicate)
        return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def _check_class(spark: SparkSession, name: str, jar: str) -> None:
    """SpecError where the JVM has no such class."""
    jvm = spark.sparkContext._jvm
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(name):
        raise SpecError(f"a jar with the class {name} is missing: name its package, {jar}")


def _is_there(table: str) -> SpecError:
    return SpecError(f"the table {table} is there already: history goes to a new one")
