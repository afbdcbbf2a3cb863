"""Payloads of Sparkplug B: the messages that its specification describes (section 6.4), made here from their numbers.

Of what it describes, all is there but metadata, extensions and the body, which nobody here reads.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from tidelog.plans.diagnostics.errors import DataError

_PACKAGE: Final = "tidelog.sparkplug"
_KINDS: Final = {
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "float": FieldDescriptorProto.TYPE_FLOAT,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
}
_SCALARS: Final = ("int_value uint32", "long_value uint64", "float_value float", "double_value double", "boolean_value bool")
_VALUES: Final = (*_SCALARS, "string_value string")
"""The values that every kind of value may have, in the order of their numbers."""

VALUE: Final = "value"
"""The name of what a value is, whichever kind it has."""


def _fields(first: int, *fields: str) -> dict[int, str]:
    return dict(enumerate(fields, first))


_MESSAGES: Final[dict[str, tuple[dict[int, str], dict[int, str]]]] = {
    "Payload": (_fields(1, "timestamp uint64", "metrics *Metric", "seq uint64", "uuid string"), {}),
    "Metric": (
        {
            **_fields(1, "name string", "alias uint64", "timestamp uint64", "datatype uint32"),
            **_fields(5, "is_historical bool", "is_transient bool", "is_null bool"),
            9: "properties PropertySet",
        },
        _fields(10, *_VALUES, "bytes_value bytes", "dataset_value DataSet", "template_value Template"),
    ),
    "PropertySet": (_fields(1, "keys *string", "values *PropertyValue"), {}),
    "PropertyValue": (_fields(1, "type uint32", "is_null bool"), _fields(3, *_VALUES, "propertyset_value PropertySet")),
    "DataSet": (_fields(1, "num_of_columns uint64", "columns *string", "types *uint32", "rows *Row"), {}),
    "Row": ({1: "elements *DataSetValue"}, {}),
    "DataSetValue": ({}, _fields(1, *_VALUES)),
    "Template": (
        {1: "version string", 2: "metrics *Metric", 4: "template_ref string", 5: "is_definition bool"},
        {},
    ),
}
"""Each message with its fields by their numbers; in the second table stand those of which it has one: its value."""


def _described(name: str, plain: dict[int, str], values: dict[int, str]) -> DescriptorProto:
    described = DescriptorProto(name=name)
    if values:
        described.oneof_decl.add(name=VALUE)
    for number, text in {**plain, **values}.items():
        field, kind = text.split()
        made = described.field.add(name=field, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if kind.startswith("*"):
            made.label = FieldDescriptorProto.LABEL_REPEATED
        kind = kind.removeprefix("*")
        if kind in _KINDS:
            made.type = _KINDS[kind]
        else:
            made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
        if number in values:
            made.oneof_index = 0
    return described


def _make() -> Any:
    file = FileDescriptorProto(name="tidelog/sparkplug", package=_PACKAGE, syntax="proto2")
    file.message_type.extend(_described(name, *fields) for name, fields in _MESSAGES.items())
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Payload"))


Payload: Any = _make()
"""The class of payloads, as protobuf makes it: `Payload(seq=3)`, `payload.metrics.add(name=…)`, `SerializeToString()`."""


def decode(data: bytes) -> Any:
    """The payload; DataError where these are the bytes of none."""
    payload = Payload()
    try:
        payload.ParseFromString(data)
    except DecodeError as error:
        raise DataError(f"the payload is none of Sparkplug B: {error}") from None
    return payload
