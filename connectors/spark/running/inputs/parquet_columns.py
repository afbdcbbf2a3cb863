"""The columns of one Parquet file, of the types that all files of an input are to have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.runtime.frames.arrow import pc, plain


def column_of_file(rows: Any, name: str, wanted: pa.DataType) -> pa.Array:
    """A column of a file's rows (a table, or a batch of them); null where this file lacks it. Words may stay encoded.

    ValueError where it is none of the wanted type.
    """
    if name not in rows.schema.names:
        return pa.nulls(rows.num_rows, wanted)
    return _of_type(plain(rows.column(name)), wanted, name)


def _of_type(column: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    if pa.types.is_struct(wanted) and pa.types.is_struct(column.type):
        fields = [_of_type(pc.struct_field(column, item.name), item.type, f"{name}.{item.name}") for item in wanted]
        return pa.StructArray.from_arrays(fields, fields=list(wanted))
    if _is_text(column.type) != _is_text(wanted):  # what is a number in one file is none as a text of another
        raise ValueError(f"column `{name}` is of type {column.type}, and in other files of type {wanted}")
    if column.type == wanted or (pa.types.is_dictionary(column.type) and column.type.value_type == wanted):
        return column
    return column.cast(wanted)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))
