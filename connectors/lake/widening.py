"""Rows of a table whose fields hold more than before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.plans.diagnostics.errors import ConnectorError

_encode = msgspec.json.Encoder().encode


def widened_rows(
    batches: Iterable[pa.RecordBatch], predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Rows whose arguments are `column` with those that are `wanted`, in the columns of `schema`.

    ConnectorError where a value would not be the same in a wider type.
    """
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
