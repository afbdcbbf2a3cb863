"""Tables whose columns change: fields are added, or hold more than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.delta.commits import alone
from tidelog.connectors.lake.delta.library import deltalake, told
from tidelog.connectors.lake.widening import widened_rows

if TYPE_CHECKING:
    from deltalake import DeltaTable


def evolve(table: DeltaTable, predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema) -> None:
    """Let a table whose arguments are `column` have those that are `wanted`, with the columns of `schema`, in one commit.

    ConnectorError where a value would not be the same in a wider type.
    """
    if wanted == column:
        return
    if wanted.types[: len(column.types)] == column.types:
        _add(table, predicate, schema)
    else:
        _rewrite(table, predicate, column, wanted, schema)


def _add(table: DeltaTable, predicate: str, schema: pa.Schema) -> None:
    """Add fields behind those that are there; they are NULL in the rows that are there."""
    with told(f"cannot add fields to the table of `{predicate}`"):
        deltalake().write_deltalake(
            table, schema.empty_table(), mode="append", schema_mode="merge", commit_properties=alone()
        )
        table.update_incremental()


def _rewrite(table: DeltaTable, predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema) -> None:
    """Write all rows anew with arguments of wider types, since readers disagree on a table with files of several types."""
    with told(f"cannot write the table of `{predicate}` anew"):
        rows = table.to_pyarrow_dataset().to_batches()
        batches = widened_rows(rows, predicate, column, wanted, schema)
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        deltalake().write_deltalake(
            table,
            reader,
            mode="overwrite",
            schema_mode="overwrite",
            commit_properties=alone(),
            writer_properties=deltalake().WriterProperties(compression="ZSTD"),
        )
        table.update_incremental()
