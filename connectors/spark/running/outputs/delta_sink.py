"""Tables of Delta Lake without a jar: workers write files, and the driver adds them to a table in one commit.

A commit says which batch of which stream it has, so a batch that comes again counts once. Files that no commit has named,
since a task was run twice or a run was killed, are nothing to readers, and a vacuum takes them away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.columns import DATE, column_in, fact_schema, has_dates_in, widened
from tidelog.connectors.lake.delta.commits import commit
from tidelog.connectors.lake.delta.files import Added, TableFiles
from tidelog.connectors.lake.delta.lake import open_delta_lake, open_table
from tidelog.connectors.lake.delta.library import told
from tidelog.connectors.lake.delta.rewriting import evolve
from tidelog.connectors.lake.delta.syncing import mend, sync_versions
from tidelog.connectors.lake.delta.table import DeltaLakeTable
from tidelog.connectors.lake.rows import by_day, with_day
from tidelog.connectors.lake.tables import Conflict
from tidelog.connectors.lake.upkeep import keep_up
from tidelog.connectors.spark.running.outputs.taken import TableRows
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

_RETRIES = 20
"""How often the library tries to add files behind what others have committed."""
_ATTEMPTS = 5


class DeltaTables:
    """Tables of Delta Lake in a folder that all workers share, or at `s3://BUCKET/PATH`. Several streams may add to one.

    `checkpoint` is what tells a stream from all others, nothing over history. SpecError for other places.
    """

    def __init__(self, path: str, checkpoint: str) -> None:
        self._lake, self._checkpoint = open_delta_lake(path), checkpoint

    def open(self, spark: SparkSession, predicates: Iterable[str]) -> None:
        """SpecError where a run over history would add to a table."""
        for predicate in predicates:
            mend(self._lake.uri(predicate))
            if not self._checkpoint and open_table(self._lake.uri(predicate)) is not None:
                raise SpecError(f"the table {self._lake.uri(predicate)} is there already: history goes to a new one")

    def write(self, rows: TableRows, predicate: str, batch: int | None, arguments: ArgumentColumn) -> None:
        """Add rows, unless the table has this batch. `arguments` is what its program declares.

        SpecError where the table has other columns, ConnectorError where it cannot be written.
        """
        application = f"tidelog-spark/{self._checkpoint}"
        for attempt in range(_ATTEMPTS):
            table = self._prepared(predicate, arguments, rows.has_dates)
            since = table.version()
            known = None if batch is None else table.transaction_version(application)
            if batch is not None and known is not None and known >= batch:
                return
            schema = pa.schema(table.schema().to_arrow())
            added = _write_files(rows, self._lake.uri(predicate), schema)
            try:
                with told(f"cannot write the table `{self._lake.uri(predicate)}`"):
                    upto = [] if batch is None else [(application, batch)]
                    commit(table, [file.action() for file in added], schema, upto, retries=_RETRIES)
                break
            except Conflict:  # another run of the same stream was first, or somebody has changed its columns
                if attempt == _ATTEMPTS - 1:
                    raise
        sync_versions(table, since)
        keep_up(DeltaLakeTable(self._lake.uri(predicate), table), since)

    def _prepared(self, predicate: str, arguments: ArgumentColumn, dates: bool) -> DeltaTable:
        """The table, with the columns that are wanted."""
        uri = self._lake.uri(predicate)
        wanted = fact_schema(arguments, dates)
        table = open_table(uri)
        if table is None:
            self._lake.create(predicate, wanted, {}, "derived facts, by tidelog")
            table = open_table(uri)
            if table is None:
                raise ConnectorError(f"cannot write the table `{uri}`: it is gone again")
        found = pa.schema(table.schema().to_arrow())
        try:
            known = column_in(found)
        except SpecError as error:
            raise SpecError(f"the table `{uri}`: {error}") from None
        others = [name for name in found.names if name not in wanted.names]
        if others or has_dates_in(found) != dates or table.metadata().partition_columns != ([DATE] if dates else []):
            raise SpecError(
                f"the table `{uri}` has the columns {', '.join(found.names)}, and is partitioned by "
                f"{', '.join(table.metadata().partition_columns) or 'nothing'}: choose another place for the tables"
            )
        column = widened(predicate, known, arguments, "of the program")
        evolve(table, predicate, known, column, fact_schema(column, dates))
        return table


def _write_files(rows: TableRows, table_uri: str, schema: pa.Schema) -> list[Added]:
    """Write rows to files of a table, a file for each day: here, or by workers, of each task; what a commit says of them."""
    here = rows.here()
    if here is not None:
        return list(_written([here], table_uri, schema))

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        texts = [msgspec.json.encode(file) for file in _written(batches, table_uri, schema)]
        if texts:
            yield pa.RecordBatch.from_pydict({"file": pa.array(texts, pa.binary())})

    read = msgspec.json.Decoder(Added).decode
    return [read(bytes(row.file)) for row in rows.frame().mapInArrow(write, "file binary").collect()]


def _written(batches: Iterable[pa.RecordBatch], table_uri: str, schema: pa.Schema) -> Iterator[Added]:
    whole = [batch for batch in batches if batch.num_rows]  # some 32 MB at most
    if whole:
        files = TableFiles(table_uri)
        for day, some in by_day(with_day(pa.Table.from_batches(whole), schema)):
            file = files.write([some], schema, day)
            if file is not None:
                yield file
