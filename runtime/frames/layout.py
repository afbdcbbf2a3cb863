"""Which columns of an Arrow table hold a fact's arguments, and which its time, each of a type that it can have.

A table has the fields of a predicate and `time`, or `from` and `to`: the closed interval between them, unless the columns
`from_open` and `to_open` say otherwise. Or it is one of derived facts, as `parquet:DIR` writes them: `arguments`, and exact
times as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.data.foreign_times import make_reader
from tidelog.plans.data.header import match_fields, read_columns
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.syntax import FieldType
from tidelog.runtime.frames.arrow import pa

EXACT = ("start", "end", "start_open", "end_open")
"""The columns in which the exact interval of a stored fact stands."""
OPEN_COLUMNS = ("from_open", "to_open")
"""Whether an interval leaves out its ends; with them a null in `from` or `to` means that it has none on that side."""

ValueKind = Literal["text", "integer", "float", "boolean", "decimal", "json"]
"""How an argument is read: by its type, or as what a text of JSON says."""
TimeKind = Literal["text", "integer", "float", "decimal", "timestamp"]
"""How a time is read: as data writes it, by its value, or as so many parts of a second since 1970."""
Path = tuple[str, ...]
"""The name of a column; of a field of a column of structs, both."""

_WHAT = "the table"
_OF_TYPE: dict[FieldType, tuple[ValueKind, ...]] = {
    "text": ("text", "boolean"),
    "number": ("integer", "float", "decimal"),
    "integer": ("integer", "float", "decimal"),
    "boolean": ("text", "boolean"),
    "any": ("text", "integer", "float", "boolean", "decimal"),
}
"""The columns that can hold values of a declared type."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a table are, for facts of one predicate. Plain data: it can be sent elsewhere.

    First come the arguments, each of a kind and a declared type, or one column of arrays of JSON texts where `values` is
    None; then one time or two, or, where `times` is empty, the columns `EXACT`. If `tells_open`,
    the last are `OPEN_COLUMNS`. The `dialect` says how times are read that others wrote.
    """

    paths: tuple[Path, ...]
    values: tuple[ValueKind, ...] | None
    types: tuple[FieldType, ...]
    times: tuple[TimeKind, ...]
    tells_open: bool = False
    dialect: Dialect = OURS

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called, for messages."""
        return tuple(path[-1] for path in self.paths)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it needs, in order."""
        return tuple(dict.fromkeys(path[0] for path in self.paths))


def layout_of(table: Any, predicate: str, schema: Schema, dialect: Dialect = OURS) -> Layout:
    """How rows of a table with these columns (an Arrow schema) are facts of a predicate.

    DataError where a column is missing, or of a type that it cannot have, or where data may not hold the predicate, and for
    an option of the dialect that such tables have not.
    """
    known = schema.admit(predicate)
    _check_dialect(dialect, schema)
    kinds = {item.name: item.type for item in table}
    if len(kinds) < len(table):
        read_columns(schema, predicate, table.names, what=_WHAT)  # says which column stands twice
    arguments = kinds.get("arguments")
    if (
        arguments is not None
        and not dialect.names_columns
        and _is_stored(arguments)
        and all(name in kinds for name in EXACT)
    ):
        return _stored_layout(arguments, predicate, known)
    fields = known.fields if known else ()
    opens = _open_columns(kinds, fields, dialect)
    names = [name for name in kinds if name not in opens]
    if dialect.names_columns:
        dialect = replace(dialect, ignores=dialect.ignores or bool(fields))
    elif fields:  # other columns do no harm
        names = [name for name in names if name in fields or name in ("time", "from", "to")]
    found = read_columns(schema, predicate, names, what=_WHAT, dialect=dialect)
    arguments_ = [names[place] for place, _ in found.arguments]
    argument_fields = list(zip(fields or arguments_, arguments_, strict=True))
    times = [names[place] for place in found.bounds or (found.time or 0,)]
    values = tuple(_value_kind(field, kinds[name], known, name) for field, name in argument_fields)
    types = tuple(_type(field, known) for field, _ in argument_fields)
    points = tuple(_time_kind(name, kinds[name], schema, dialect) for name in times)
    tells_open = len(times) == 2 and bool(opens)
    columns = (*arguments_, *times, *(opens if tells_open else ()))
    return Layout(tuple((name,) for name in columns), values, types, points, tells_open, dialect)


def _check_dialect(dialect: Dialect, schema: Schema) -> None:
    """DataError where it has an option that is not for these tables, or that the program cannot take."""
    if dialect.is_of_text:
        raise DataError("`sep`, `decimal` and `melt` are for CSV")
    try:
        make_reader(schema.timeline, dialect)
    except SpecError as error:
        raise DataError(str(error)) from None


def _open_columns(kinds: dict[str, Any], fields: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """The columns that say which ends an interval leaves out, if the table has them."""
    bounds = () if dialect.time else (dialect.begin or "from", dialect.end or "to")
    if bounds and all(name in kinds and name not in fields for name in (*OPEN_COLUMNS, *bounds)):
        return OPEN_COLUMNS
    return ()


def _is_stored(kind: Any) -> bool:
    return bool(pa.types.is_struct(kind) or pa.types.is_list(kind))


def _stored_layout(arguments: Any, predicate: str, known: PredicateSchema | None) -> Layout:
    """The layout of tables of derived facts."""
    exact = tuple((name,) for name in EXACT)
    if pa.types.is_list(arguments):
        if _kind(arguments.value_type) != "text":
            raise DataError(f"column `arguments` is of type {arguments}: it should hold texts of JSON")
        return Layout((("arguments",), *exact), None, (), ())
    inside = {arguments.field(i).name: arguments.field(i).type for i in range(arguments.num_fields)}
    names = list(inside)
    if known and known.fields:
        match_fields(predicate, known.fields, names, _WHAT)
        names = list(known.fields)
    elif known and len(names) != known.arity:
        raise DataError(f"`{predicate}` has {known.arity} arguments, got {len(names)}: {', '.join(names) or 'none'}")
    values = tuple(_stored_kind(name, inside[name], known) for name in names)
    types = tuple(_type(name, known) for name in names)
    return Layout((*(("arguments", name) for name in names), *exact), values, types, ())


def _stored_kind(name: str, kind: Any, known: PredicateSchema | None) -> ValueKind:
    """How a stored argument is read. A field of type `any` is stored as a text of JSON, one of type `text` as it is."""
    found = _value_kind(name, kind, known)
    return "json" if found == "text" and _type(name, known) != "text" else found


def _value_kind(name: str, kind: Any, known: PredicateSchema | None, column: str | None = None) -> ValueKind:
    """How an argument is read from a column of this type, which may have another name."""
    found = _kind(kind)
    if found is None:
        raise DataError(f"column `{column or name}` is of type {kind}: an argument is text, a number or a boolean")
    wanted = _type(name, known)
    if known is not None and found not in _OF_TYPE[wanted] and not pa.types.is_null(kind):
        raise DataError(f"`{known.name}` expects {wanted} for `{name}`, and the column is of type {kind}")
    return found


def _kind(kind: Any) -> ValueKind | None:
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _kind(kind.value_type)
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind):
        return "float"
    if types.is_decimal(kind):
        return "decimal"
    views = getattr(types, "is_string_view", types.is_string)  # pyarrow 15 has none
    texts = (types.is_string, types.is_large_string, views, types.is_null)
    return "text" if any(test(kind) for test in texts) else None


def _type(name: str, known: PredicateSchema | None) -> FieldType:
    """The declared type of a field."""
    declared = dict(zip(known.fields, known.types, strict=False)) if known else {}
    return declared.get(name, "any")


def _time_kind(name: str, kind: Any, schema: Schema, dialect: Dialect) -> TimeKind:
    """How a time is read from a column of this type."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _time_kind(name, kind.value_type, schema, dialect)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        if schema.timeline.unit is None:
            need = "needs a unit: declare one, such as `timeline integer, unit 1 s`"
            raise DataError(f"column `{name}` is of type {kind}, which {need}")
        if dialect.format or dialect.epoch:
            raise DataError(f"column `{name}` is of type {kind}: it is a time without `format` and `epoch`")
        return "timestamp"
    found = _kind(kind)
    if dialect.format and found not in ("text", "integer"):
        raise DataError(f"column `{name}` is of type {kind}: `format` is for text and whole numbers")
    if found not in ("text", "integer", "float", "decimal"):
        raise DataError(f"column `{name}` is of type {kind}: a time is a number, text, a date or a timestamp")
    return found
