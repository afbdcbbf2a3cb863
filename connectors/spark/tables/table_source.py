"""The newest version of one table, as Spark reads it: a partition for some of its files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.connectors.spark.arguments import ArgumentColumn
from tidelog.connectors.spark.tables.segments import LARGEST, table_type
from tidelog.connectors.spark.tables.stores import Store, open_store
from tidelog.connectors.spark.tables.tables import Manifest, Segment, newest
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError


class Table:
    """A table as it is now. SpecError where there are no tables, or none of this predicate."""

    def __init__(self, place: str, predicate: str) -> None:
        self.store = open_store(place)
        self._manifest = newest(self.store)
        known = self._manifest.tables.get(predicate)
        if known is None:
            names = ", ".join(f"`{name}`" for name in sorted(self._manifest.tables))
            raise SpecError(f"`{place}` holds no table of `{predicate}`; there are {names or 'none'}")
        self.predicate, self._fields = predicate, ArgumentColumn(known.fields, known.types)

    @property
    def type(self) -> StructType:
        """Its columns, the node last."""
        columns = table_type(self._fields, self._manifest.dates)
        return StructType([*columns.fields, StructField("node", StringType(), nullable=False)])

    def parts(self) -> list[list[Segment]]:
        """Its files, in parts of about one size."""
        return _parts(self._manifest, self.predicate)


def _parts(manifest: Manifest, predicate: str) -> list[list[Segment]]:
    found: list[list[Segment]] = []
    rows = LARGEST
    for segment in manifest.segments:
        if segment.predicate != predicate:
            continue
        if rows + segment.rows > LARGEST:
            found.append([])
            rows = 0
        found[-1].append(segment)
        rows += segment.rows
    return found


class TablePart(InputPartition):
    """Some files of a table."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)


class TableReader(DataSourceReader):
    """Reads the version that was the newest one when the table was opened."""

    def __init__(self, table: Table) -> None:
        self._store: Store = table.store
        self._parts, self._type = table.parts(), table.type

    def partitions(self) -> list[InputPartition]:
        return [TablePart(segments) for segments in self._parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, TablePart):  # there are no files
            return
        schema = to_arrow_schema(self._type)
        for segment in partition.segments:
            try:
                file = pq.ParquetFile(io.BytesIO(self._store.get(segment.path)))
            except FileNotFoundError:
                raise ConnectorError(f"`{self._store.path(segment.path)}` is gone: read the newest version anew") from None
            for batch in file.iter_batches():
                nodes = pa.repeat(segment.node, batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, nodes], schema=schema)
