"""The values of metrics, as JSON has them."""

from __future__ import annotations

import base64
import struct
from typing import Any, Final

from tidelog.connectors.field.sparkplug.payload import VALUE
from tidelog.plans.diagnostics.errors import DataError

TYPES: Final = (
    *("Unknown", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double", "Boolean"),
    *("String", "DateTime", "Text", "UUID", "DataSet", "Bytes", "File", "Template", "PropertySet", "PropertySetList"),
    *("Int8Array", "Int16Array", "Int32Array", "Int64Array", "UInt8Array", "UInt16Array", "UInt32Array", "UInt64Array"),
    *("FloatArray", "DoubleArray", "BooleanArray", "StringArray", "DateTimeArray"),
)
"""The names of data types, by their numbers."""
_SIGNED: Final = {1: 8, 2: 16, 3: 32, 4: 64}
"""The types that are sent as the unsigned number with the same bits, and how many those are."""
_FIELDS: Final = {
    **dict.fromkeys((1, 2, 3, 5, 6, 7), "int_value long_value"),
    **dict.fromkeys((4, 8, 13), "long_value int_value"),
    9: "float_value",
    10: "double_value float_value",
    11: "boolean_value",
    **dict.fromkeys((12, 14, 15), "string_value"),
    16: "dataset_value",
    **dict.fromkeys((17, 18, *range(22, 35)), "bytes_value"),
    19: "template_value",
    20: "propertyset_value",
}
"""In which field the value of a type stands."""
PLAIN: Final = {kind: names.split()[0] for kind, names in _FIELDS.items() if kind not in _SIGNED and kind < 16}
"""The field that holds the value of a type as it is, of the types of which most metrics are."""
_ELEMENTS: Final = {22: "b", 23: "h", 24: "i", 25: "q", 26: "B", 27: "H", 28: "I", 29: "Q", 30: "f", 31: "d", 34: "Q"}
"""How the elements of an array are packed, little-endian."""
_BOOLEANS, _STRINGS, _MOST_DEPTH = 32, 33, 8


def type_name(datatype: int) -> str:
    """The name of a data type."""
    return TYPES[datatype] if datatype < len(TYPES) else f"Type{datatype}"


def value_of(given: Any, datatype: int, depth: int = 0) -> Any:
    """The value of a metric, a property or an element of a data set; None where it is null.

    DataError where it is not of its type, or one that is not known.
    """
    field = given.WhichOneof(VALUE)
    if field is None:
        return None
    fields = _FIELDS.get(datatype)
    if fields is None:
        raise DataError(f"its type {datatype} is none that is known")
    if field not in fields.split():
        raise DataError(f"its type is {type_name(datatype)}, and its value a `{field}`")
    value = getattr(given, field)
    if datatype in _SIGNED:
        return _signed(value, _SIGNED[datatype])
    if field == "bytes_value":
        return _bytes(value, datatype)
    if depth > _MOST_DEPTH:
        raise DataError(f"it is nested deeper than {_MOST_DEPTH}")
    if field == "dataset_value":
        return _rows(value, depth)
    if field == "template_value":
        return {metric.name: plain(metric, depth) for metric in value.metrics}
    return properties(value, depth) if field == "propertyset_value" else value


def plain(metric: Any, depth: int = 0) -> Any:
    """The value of a metric that says its own type."""
    return None if metric.is_null else value_of(metric, metric.datatype, depth + 1)


def properties(given: Any, depth: int = 0) -> dict[str, Any]:
    """Properties, as an object."""
    pairs = zip(given.keys, given.values, strict=False)
    return {key: None if one.is_null else value_of(one, one.type, depth + 1) for key, one in pairs}


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _rows(given: Any, depth: int) -> list[dict[str, Any]]:
    if len(given.columns) != len(given.types):
        raise DataError(f"a data set with {len(given.columns)} columns has {len(given.types)} types")
    columns = [*zip(given.columns, given.types, strict=True)]
    rows = []
    for row in given.rows:
        if len(row.elements) != len(columns):
            raise DataError(f"a row of a data set has {len(row.elements)} elements, and the set {len(columns)} columns")
        cells = zip(columns, row.elements, strict=True)
        rows.append({name: value_of(cell, datatype, depth + 1) for (name, datatype), cell in cells})
    return rows


def _bytes(data: bytes, datatype: int) -> Any:
    """An array, or, of what is none, base64."""
    try:
        if datatype in _ELEMENTS:
            return [value for (value,) in struct.iter_unpack("<" + _ELEMENTS[datatype], data)]
        if datatype == _STRINGS:
            return [text.decode() for text in data.split(b"\0")[:-1]]
        if datatype == _BOOLEANS:
            count = int.from_bytes(data[:4], "little")
            if count > 8 * (len(data) - 4):
                raise DataError(f"an array of {count} truth values has {len(data) - 4} bytes of them")
            return [bool(data[4 + i // 8] >> (7 - i % 8) & 1) for i in range(count)]
    except (struct.error, UnicodeDecodeError) as error:
        raise DataError(f"it is no {type_name(datatype)}: {error}") from None
    return base64.b64encode(data).decode()
