"""The columns of a table as Iceberg has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from tidelog.connectors.lake.columns import ANY, DATE

_JSON = "a text of JSON"
"""What the documentation of a column says whose texts are JSON."""
_TYPES: dict[pa.DataType, IcebergType] = {
    pa.string(): StringType(),
    pa.float64(): DoubleType(),
    pa.int64(): LongType(),
    pa.bool_(): BooleanType(),
    pa.timestamp("us", "UTC"): TimestamptzType(),
    pa.date32(): DateType(),
}


def table_of(schema: pa.Schema) -> tuple[Schema, PartitionSpec]:
    """The columns of Iceberg for a new table, and by what it is partitioned: by date, where it has the column.

    The library gives them other numbers.
    """
    numbers = iter(range(1, 10_000))
    fields = [_field(field, numbers) for field in schema]
    if DATE not in schema.names:
        return Schema(*fields), UNPARTITIONED_PARTITION_SPEC
    source = next(field.field_id for field in fields if field.name == DATE)
    return Schema(*fields), PartitionSpec(PartitionField(source, 1000, IdentityTransform(), DATE))


def _field(field: pa.Field, numbers: Any) -> NestedField:
    return NestedField(next(numbers), field.name, _type(field.type, numbers), required=False, doc=doc_of(field))


def _type(kind: pa.DataType, numbers: Any) -> IcebergType:
    if pa.types.is_struct(kind):
        return StructType(*(_field(kind.field(number), numbers) for number in range(kind.num_fields)))
    if pa.types.is_list(kind):
        return ListType(next(numbers), _type(kind.value_type, numbers), element_required=False)
    return _TYPES[kind]


def type_of(field: pa.Field) -> IcebergType:
    """The type of a field of the arguments."""
    return _TYPES[field.type]


def doc_of(field: pa.Field) -> str | None:
    """What the documentation of a field says."""
    return _JSON if field.metadata == ANY else None


def columns_of(schema: Schema) -> pa.Schema:
    """The columns of a table of Iceberg, as tables of ours have them."""
    found = schema_to_pyarrow(schema, include_field_ids=False)
    return pa.schema([_plain(field) for field in found])


def _plain(field: pa.Field) -> pa.Field:
    is_json = (field.metadata or {}).get(b"doc") == _JSON.encode()
    return pa.field(field.name, _plain_type(field.type), metadata=ANY if is_json else None)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_plain(kind.field(number)) for number in range(kind.num_fields)])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain_type(kind.value_type)))
    return pa.string() if pa.types.is_large_string(kind) else kind
