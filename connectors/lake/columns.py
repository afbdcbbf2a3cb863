"""The columns of a table: what holds, when, and which facts say so.

The arguments are a struct, or an array of JSON texts where no fields are known. Times are there twice: as exact text
(`start`, `end`: NULL where the interval has no end on that side), and as something to compute with (`start_time`,
`end_time`): timestamps where every program declares what a unit of time is, otherwise doubles.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidelog.connectors.lake.arguments import PLAIN, ArgumentColumn, shown
from tidelog.plans.diagnostics.errors import SpecError

DATE = "date"
"""The column by which tables of dates are partitioned: the day on which a row ends, in UTC; NULL where it has no end."""

NEEDED = ("arguments", "start", "end", "start_time", "end_time", "start_open", "end_open")
"""The columns that every table of ours has."""

_TYPES = {"text": pa.string(), "number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "any": pa.string()}
_NAMES = {pa.float64(): "number", pa.int64(): "integer", pa.bool_(): "boolean"}
ANY = {b"tidelog.type": b"any"}
"""What the log of a table says of a column whose texts are JSON."""
_WIDER = {"integer": ("number", "any"), "number": ("any",), "boolean": ("any",), "text": ("any",), "any": ()}
"""The types that hold all that a type does."""


_TOLD = [
    ("outbox", pa.string()),
    ("first_seq", pa.int64()),
    ("last_seq", pa.int64()),
    ("horizon", pa.string()),
    ("emitted_at", pa.timestamp("us", "UTC")),
]
"""Which facts a row is made of, and when they were told."""


def table_schema(arguments: ArgumentColumn, dates: bool) -> pa.Schema:
    """The columns of a table of `ingest`."""
    facts = fact_schema(arguments, dates)
    day = [facts.field(DATE)] if dates else []
    told = [pa.field(name, kind) for name, kind in _TOLD]
    return pa.schema([pa.field("node", pa.string()), *(field for field in facts if field.name != DATE), *told, *day])


def fact_schema(arguments: ArgumentColumn, dates: bool) -> pa.Schema:
    """The columns of a table of facts, as a program on Spark writes them."""
    time = pa.timestamp("us", "UTC") if dates else pa.float64()
    columns = [
        ("arguments", _arguments_type(arguments)),
        ("start", pa.string()),
        ("end", pa.string()),
        ("start_time", time),
        ("end_time", time),
        ("start_open", pa.bool_()),
        ("end_open", pa.bool_()),
    ]
    return pa.schema([*columns, (DATE, pa.date32())] if dates else columns)


def _arguments_type(arguments: ArgumentColumn) -> pa.DataType:
    if not arguments.fields:
        return pa.list_(pa.field("element", pa.string()))
    pairs = zip(arguments.fields, arguments.types, strict=True)
    return pa.struct([pa.field(name, _TYPES[kind], metadata=ANY if kind == "any" else None) for name, kind in pairs])


def column_in(schema: pa.Schema, needed: Sequence[str] = NEEDED) -> ArgumentColumn:
    """The arguments of a table with this schema; SpecError where it lacks columns that are needed."""
    lacking = [name for name in needed if name not in schema.names]
    if lacking:
        raise SpecError(
            f"it has the columns {', '.join(schema.names)}, and is none of tidelog's: it lacks {', '.join(lacking)}"
        )
    kind = schema.field("arguments").type
    if not pa.types.is_struct(kind):
        return PLAIN
    fields = [kind.field(number) for number in range(kind.num_fields)]
    return ArgumentColumn(tuple(field.name for field in fields), tuple(map(_type_in, fields)))


def _type_in(field: pa.Field) -> str:
    told = field.metadata or {}
    return "any" if told.get(b"tidelog.type") == b"any" else _NAMES.get(field.type, "text")


def has_dates_in(schema: pa.Schema) -> bool:
    """Whether times are dates in a table with this schema."""
    return bool(pa.types.is_timestamp(schema.field("start_time").type))


def widened(predicate: str, column: ArgumentColumn, added: ArgumentColumn, whose: str) -> ArgumentColumn:
    """The column that holds what both hold: with all fields of both, each of the wider type.

    SpecError that names the field where no type holds both, and where only one of them has fields. `whose` says whose the
    added one is, for messages.
    """
    if column == added:
        return column
    if not column.fields or not added.fields:
        raise SpecError(
            f"the fields of `{predicate}` are {shown(column)} in the table, and {shown(added)} {whose}: declare them alike, "
            "or choose another place for the tables"
        )
    types = dict(zip(column.fields, column.types, strict=True))
    for field, kind in zip(added.fields, added.types, strict=True):
        known = types.setdefault(field, kind)
        if known == kind or known in _WIDER[kind]:
            continue
        if kind not in _WIDER[known]:
            raise SpecError(
                f"field `{field}` of `{predicate}` is {known} in the table, and {kind} {whose}: neither holds the other; "
                "give it another name, or declare it as `any`"
            )
        types[field] = kind
    return ArgumentColumn(tuple(types), tuple(types.values()))
