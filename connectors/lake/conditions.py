"""Which rows of a table are meant: `node = 'gw7' and sensor = 's1'`, `date < 2025-01-01`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.tree.numerals import shorten

_ROWS = ("node", "outbox", "date", "start_time", "end_time")
"""The columns that a condition may name; other names are arguments."""
_PART = re.compile(
    r"\s*([A-Za-z_][\w.]*|[1-9][0-9]*)\s*(=|!=|<=|<|>=|>)\s*('(?:[^']|'')*'|\"[^\"]*\"|[^\s'\"]+)\s*(?:(and)\b|\Z)",
    re.IGNORECASE,
)
_ORDERED: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_WORDS = {"true": True, "false": False}

Mask: TypeAlias = Callable[[pa.RecordBatch], pa.Array]
"""Which rows are meant, a boolean for each."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a column, or of an argument by its name or its place, with a value as it was written."""

    name: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {self.value}"


Conditions: TypeAlias = tuple[Comparison, ...]
"""Comparisons that all have to hold."""


class Unknown(SpecError):
    """A condition names an argument that a table does not have."""


def parse_conditions(text: str) -> Conditions:
    """Comparisons joined by `and`; SpecError if it is not of that form.

    >>> [str(each) for each in parse_conditions("node = 'gw7' and value >= 3")]
    ['node = gw7', 'value >= 3']
    """
    found: list[Comparison] = []
    place, more = 0, True
    while more:
        match = _PART.match(text, place)
        if match is None:
            raise SpecError(
                "expected conditions such as `node = 'gw7' and sensor = 's1'`, or `date < 2025-01-01`, "
                f"got `{shorten(text)}`"
            )
        value = match[3]
        if value[0] in "'\"":
            value = value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]
        found.append(Comparison(match[1], match[2], value))
        place, more = match.end(), match[4] is not None
    return tuple(found)


def mask_of(wheres: Sequence[Conditions], schema: pa.Schema) -> Mask:
    """Which rows of a table with these columns one of the conditions means. What is NULL is none of them.

    SpecError where a value is not of the column's type; Unknown where there is no such column.
    """
    each = [[_compared(comparison, schema) for comparison in where] for where in wheres]

    def mask(batch: pa.RecordBatch) -> pa.Array:
        whole = pa.repeat(False, len(batch))
        for where in each:
            own = pa.repeat(True, len(batch))
            for compare in where:
                own = pc.and_(own, pc.fill_null(compare(batch), False))
            whole = pc.or_(whole, own)
        return whole

    return mask


def _compared(comparison: Comparison, schema: pa.Schema) -> Mask:
    read, field = _column(comparison, schema)
    compare = _ORDERED[comparison.operator]
    is_ordered = comparison.operator not in ("=", "!=")
    if is_ordered and (pa.types.is_string(field.type) or pa.types.is_boolean(field.type)):
        raise SpecError(f"`{comparison}`: `{comparison.name}` is no number and no time, so only `=` and `!=` compare it")
    value = pa.scalar(_value(comparison, field.type), field.type)
    return lambda batch: compare(read(batch), value)


def _column(comparison: Comparison, schema: pa.Schema) -> tuple[Mask, pa.Field]:
    name = comparison.name
    if name in _ROWS and name in schema.names:
        return lambda batch: batch.column(name), schema.field(name)
    if name in _ROWS:
        raise Unknown(f"`{comparison}`: the table has no column `{name}`")
    kind = schema.field("arguments").type
    if not pa.types.is_struct(kind):
        if not name.isdecimal():
            raise Unknown(f"`{comparison}`: arguments have no names here, so say which one by its place: `1 = '\"s1\"'`")
        place = int(name) - 1
        return lambda batch: _element(batch.column("arguments"), place), kind.value_field
    field = name.removeprefix("arguments.")
    fields = {kind.field(number).name: kind.field(number) for number in range(kind.num_fields)}
    if field not in fields:
        raise Unknown(f"`{comparison}`: there is no field `{field}`; there are {', '.join(f'`{each}`' for each in fields)}")
    return lambda batch: pc.struct_field(batch.column("arguments"), field), fields[field]


def _element(lists: pa.Array, place: int) -> pa.Array:
    """One argument of each row, NULL where there are fewer: all rows of a predicate have as many."""
    return pa.array([None if row is None or len(row) <= place else row[place] for row in lists.to_pylist()], pa.string())


def _value(comparison: Comparison, kind: pa.DataType) -> Any:
    text = comparison.value
    try:
        if pa.types.is_date(kind):
            return date.fromisoformat(text)
        if pa.types.is_timestamp(kind):
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        if pa.types.is_boolean(kind):
            return _WORDS[text]
        if pa.types.is_integer(kind):
            return int(text)
        return float(text) if pa.types.is_floating(kind) else text
    except (ValueError, KeyError):
        raise SpecError(f"`{comparison}`: `{comparison.name}` is {kind}, and `{shorten(text)}` is none") from None
