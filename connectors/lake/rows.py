"""Rows of a table as runs, and runs as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import repeat
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.intervals import Key, Run, Time
from tidelog.connectors.lake.times import TimeColumn
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.frames.exact import typed

DAY = 86_400_000_000
_EXACT = ("start", "end", "start_open", "end_open", "first_seq", "last_seq", "horizon", "emitted_at", "outbox")

Times: TypeAlias = tuple[float | int | None, float | int | None]
"""From where to where, in microseconds since 1970, or in numbers where times are none; None for no bound."""

_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
_values = msgspec.json.Decoder(list[Any]).decode


def arguments_of(column: ArgumentColumn, target: ArgumentColumn) -> Callable[[str], Key]:
    """From the JSON array of a fact whose arguments are `column` to those of a table whose arguments are `target`.

    What is returned raises ConnectorError where an argument is not of the type that it is declared to have.
    """
    if not column.fields:
        return lambda text: tuple(bytes(raw).decode() for raw in _texts(text))
    places = {name: place for place, name in enumerate(column.fields)}
    wanted = [(name, kind, places.get(name)) for name, kind in zip(target.fields, target.types, strict=True)]

    def convert(text: str) -> Key:
        values = _values(text)
        if len(values) != len(column.fields):
            raise ConnectorError(f"expected {len(column.fields)} arguments, got {shorten(text)}")
        for name, kind, value in zip(column.fields, column.types, values, strict=True):
            typed(name, kind, value)
        found: list[Any] = [None if place is None else typed(name, kind, values[place]) for name, kind, place in wanted]
        return tuple(found)

    return convert


def rows_table(runs: Sequence[Run], schema: pa.Schema, column: ArgumentColumn, times: Mapping[str, TimeColumn]) -> pa.Table:
    """Runs as rows with the columns of a table; the first of each key is its node."""
    values = [times[str(run.key[0])] for run in runs]
    fields = column.fields
    ends = [time.value(run.end) for run, time in zip(runs, values, strict=True)]
    columns: dict[str, list[Any]] = {
        "node": [run.key[0] for run in runs],
        "arguments": [dict(zip(fields, run.key[1:], strict=True)) if fields else list(run.key[1:]) for run in runs],
        "start_time": [time.value(run.start) for run, time in zip(runs, values, strict=True)],
        "end_time": ends,
        DATE: [None if end is None else int(end // DAY) for end in ends],
        **{name: [getattr(run, name) for run in runs] for name in _EXACT},
    }
    arrays = [_array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int32()).cast(kind) if kind == pa.date32() else pa.array(values, kind)


def runs_of(batch: pa.RecordBatch | pa.Table, keys: set[Key] | None = None) -> list[Run]:
    """The rows with these keys as runs; without `keys` all of them."""
    arguments = batch.column("arguments")
    flat = (tuple(each.values()) if isinstance(each, dict) else tuple(each) for each in arguments.to_pylist())
    found = [(node, *each) for node, each in zip(batch.column("node").to_pylist(), flat, strict=True)]
    kept = [place for place, key in enumerate(found) if keys is None or key in keys]
    if not kept:
        return []
    rows = batch.select(list(_EXACT)).take(pa.array(kept, pa.int64()))
    columns = [rows.column(name).cast(pa.int64()) if name == "emitted_at" else rows.column(name) for name in _EXACT]
    return [Run(found[place], *values) for place, *values in zip(kept, *(each.to_pylist() for each in columns), strict=True)]


def bounds(facts: Sequence[Run], times: Mapping[str, TimeColumn]) -> Times:
    """From where to where rows are wanted: on integers the neighbours touch, too. None for no bound."""
    spans: dict[str, tuple[Time, Time]] = {}
    for run in facts:
        node, begin, end = str(run.key[0]), run.low[0], run.high[0]
        low, high = spans.get(node, (begin, end))
        spans[node] = (min(low, begin), max(high, end))  # of which floats are infinite
    lows = [None if isinstance(low, float) else times[node].of(low - 1) for node, (low, _) in spans.items()]
    highs = [None if isinstance(high, float) else times[node].of(high + 1) for node, (_, high) in spans.items()]
    return (
        min((low for low in lows if low is not None), default=None) if None not in lows else None,
        max((high for high in highs if high is not None), default=None) if None not in highs else None,
    )


def by_day(rows: pa.Table) -> Iterator[tuple[date | None, pa.Table]]:
    """Rows by the day on which they end; all as one in a table without dates."""
    if not len(rows):
        return
    if DATE not in rows.column_names:
        yield None, rows
        return
    days = rows.column(DATE)
    for day in days.unique().to_pylist():
        yield day, rows.filter(days.is_null() if day is None else pc.fill_null(pc.equal(days, day), False))


def with_day(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a table, of which they may lack fields of the arguments, and the day on which each ends."""
    columns = {
        name: pa.chunked_array(map(as_type, rows.column(name).chunks, repeat(schema.field(name).type)))
        for name in rows.column_names
    }
    if DATE in schema.names:
        ends = rows.column("end_time").cast(pa.int64())
        days = [None if end is None else end // DAY for end in ends.to_pylist()]
        columns[DATE] = _array(days, pa.date32())
    return pa.table([columns[name] for name in schema.names], schema=schema)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as the table has it: of a struct the fields that a file lacks are NULL."""
    if not pa.types.is_struct(kind) or not pa.types.is_struct(column.type):
        return column.cast(kind)
    known = {column.type.field(number).name: number for number in range(column.type.num_fields)}
    fields = [kind.field(number) for number in range(kind.num_fields)]
    flat = column.flatten()
    arrays = [
        flat[known[field.name]].cast(field.type) if field.name in known else pa.nulls(len(column), field.type)
        for field in fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)
