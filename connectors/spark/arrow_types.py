"""Types of Spark's as Arrow's, in all versions of PySpark that are supported: newer ones want to be told the time zone."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas import types

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_convert: Any = types.to_arrow_type  # its parameters differ from version to version
_ZONE = {"timezone": "UTC"} if "timezone" in signature(_convert).parameters else {}


def arrow_type(kind: DataType) -> pa.DataType:
    """The type of a column in Arrow, times in UTC; PySparkException where Arrow has none."""
    return _convert(kind, **_ZONE)


def arrow_schema(table: StructType) -> pa.Schema:
    """The columns of a table in Arrow."""
    return pa.schema([pa.field(each.name, arrow_type(each.dataType), nullable=each.nullable) for each in table.fields])
