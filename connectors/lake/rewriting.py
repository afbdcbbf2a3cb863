"""Tables whose columns change: fields are added, or hold more than before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.commits import alone
from tidelog.connectors.lake.library import deltalake, told
from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_encode = msgspec.json.Encoder().encode


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
        batches = _widened(rows, predicate, column, wanted, schema)
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


def _widened(
    batches: Iterator[pa.RecordBatch], predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    kind = schema.field("arguments").type
    known = dict(zip(column.fields, column.types, strict=True))
    for batch in batches:
        old = batch.column("arguments")
        arrays = []
        for number, (name, type_) in enumerate(zip(wanted.fields, wanted.types, strict=True)):
            if name not in known:
                arrays.append(pa.nulls(len(batch), kind.field(number).type))
                continue
            values = old.field(name)
            try:
                arrays.append(_as(values, known[name], type_, kind.field(number).type))
            except pa.ArrowInvalid as error:
                raise ConnectorError(f"field `{name}` of `{predicate}` cannot become {type_}: {error}") from None
        arguments = pa.StructArray.from_arrays(arrays, fields=[kind.field(i) for i in range(kind.num_fields)])
        columns = [arguments if name == "arguments" else batch.column(name) for name in schema.names]
        yield pa.RecordBatch.from_arrays(
            [each.cast(field.type) for each, field in zip(columns, schema, strict=True)], schema=schema
        )


def _as(values: pa.Array, old: str, new: str, kind: pa.DataType) -> pa.Array:
    if old != "any" and new == "any":
        texts = (None if value is None else value for value in values.to_pylist())
        return pa.array([None if value is None else _encode(_plain(value)).decode() for value in texts], kind)
    return values.cast(kind)  # which refuses what would lose something


def _plain(value: object) -> object:
    """A value as facts have it: booleans are the words."""
    return ("false", "true")[value] if isinstance(value, bool) else value
