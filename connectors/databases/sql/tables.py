"""The tables of outputs: their columns, the statements that fill them, and what a row of an answer holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelog.connectors.databases.sql.database import ColumnKind, Connection, Database, Parameters
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.changes import RetractedChange
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.tree.syntax import Value

BEGINS, ENDS = "begins", "ends"
DELIVERY = "tidelog_delivery"
"""Where it is noted up to which answer each sink has written."""
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1
_KINDS: dict[str, ColumnKind] = {
    "text": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "any": "text",
}

Convert = Callable[[Value], Any]
"""Makes what a column holds of an argument; Unfit where that cannot be."""


class Unfit(ValueError):
    """A value that a column does not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One statement, for any number of rows of a table."""

    table: str
    text: str


class Table:
    """The table of one output: a column for each argument, and `begins` and `ends`. Arguments and `begins` are its key."""

    def __init__(self, name: str, predicate: PredicateSchema, schema: Schema, database: Database, *, iso: bool) -> None:
        self.name = name
        self._predicate, self._database = predicate, database
        self._times = _Times(schema.timeline, iso=iso)
        fields = predicate.fields or tuple(f"arg{i}" for i in range(1, predicate.arity + 1))
        kinds = [_KINDS[kind] for kind in predicate.types] or ["text"] * predicate.arity
        if taken := [field for field in fields if field.lower() in (BEGINS, ENDS)]:
            told = f"`{predicate.name}` has an argument `{taken[0]}`, and its table has a column of that name"
            raise SpecError(f"{told}: name the argument otherwise")
        self._columns = {**dict(zip(fields, kinds, strict=True)), BEGINS: self._times.kind, ENDS: self._times.kind}
        self._key = (*fields, BEGINS)
        self._converts = [_convert(field, kind, database) for field, kind in zip(fields, kinds, strict=True)]
        names, key = ", ".join(map(quoted, self._columns)), ", ".join(map(quoted, self._key))
        marks, table = ", ".join([database.mark] * len(self._columns)), quoted(name)
        where = " AND ".join(f"{quoted(column)} = {database.mark}" for column in self._key)
        ends = quoted(ENDS)
        told = f"ON CONFLICT ({key}) DO UPDATE SET {ends} = excluded.{ends}"
        self._put = Statement(name, f"INSERT INTO {table} ({names}) VALUES ({marks}) {told}")  # noqa: S608 - names are quoted
        self._drop = Statement(name, f"DELETE FROM {table} WHERE {where}")  # noqa: S608 - likewise

    def create(self, connection: Connection) -> None:
        """Make the table, or see that the one that is there is like it; ConnectorError where it is not."""
        found = connection.table(self.name)
        types = self._database.types
        if found is None:
            columns = [
                f"{quoted(column)} {types[kind]}" + (" NOT NULL" if column != ENDS else "")
                for column, kind in self._columns.items()
            ]
            key = ", ".join(map(quoted, self._key))
            connection.execute(f"CREATE TABLE {quoted(self.name)} ({', '.join(columns)}, PRIMARY KEY ({key}))")
            return
        for column, kind in self._columns.items():
            if column not in found.columns:
                raise self._other(f"has no column `{column}`, which is to be {types[kind]}")
            if not self._database.same_type(found.columns[column], types[kind]):
                raise self._other(f"has a column `{column}` of type {found.columns[column]}, expected {types[kind]}")
        if found.key != self._key:
            raise self._other(f"has the primary key ({', '.join(found.key)}), expected ({', '.join(self._key)})")

    def _other(self, what: str) -> ConnectorError:
        place = self._database.place
        return ConnectorError(f"{place}: table `{self.name}` {what}: rename it, or give the sink a `prefix`")

    def row(self, answer: Record) -> tuple[Statement, Parameters]:
        """What is done for an answer. Unfit where its table cannot hold it."""
        _, row, lo, hi = answer
        arguments = [convert(value) for convert, value in zip(self._converts, row, strict=True)]
        begins = self._times.begin(lo)
        if isinstance(answer, RetractedChange):
            if hi >= POS:
                return self._drop, (*arguments, begins)
            hi = POS  # it has not ended after all
        return self._put, (*arguments, begins, self._times.end(hi))


class _Times:
    """How times stand in columns: of a calendar where there is one, numbers where those are whole, or else text."""

    def __init__(self, timeline: Timeline, *, iso: bool) -> None:
        self._writer = TimeFormatter(timeline, iso)
        is_whole = timeline.kind == "integer"
        self._is_number = is_whole and not iso
        self.kind: ColumnKind = "integer" if self._is_number else "time" if is_whole else "text"

    def begin(self, lo: int) -> int | str:
        if self._is_number:
            return _FIRST if lo <= NEG else _integer(lo)
        return "-infinity" if lo <= NEG else self._writer.begin(lo).removeprefix("[")

    def end(self, hi: int) -> int | str | None:
        if hi >= POS:
            return None
        return _integer(hi) if self._is_number else self._writer.end(hi).removesuffix("]")


def _text(field: str, value: Value) -> str:
    if not isinstance(value, str):
        return str(value)  # of an argument without a type
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unfit(f"`{field}` cannot be encoded: {error.reason}") from None
    return value


def _text_without_nul(field: str, value: Value) -> str:
    held = _text(field, value)
    if "\0" in held:
        raise Unfit(f"`{field}` has a NUL character, which PostgreSQL does not hold")
    return held


def _whole(field: str, value: Value) -> int:
    if not isinstance(value, int):
        raise Unfit(f"`{field}` is a column of integers, got {value!r:.60}")
    return _integer(value, f"`{field}`")


def _number(field: str, value: Value) -> float:
    try:
        held = float(value) if not isinstance(value, str) else None
    except OverflowError:
        held = None
    if held is None or held != value:
        raise Unfit(f"`{field}` is a column of numbers of double precision, got {value!r:.60}")
    return held


def _boolean(field: str, value: Value) -> bool:
    if value not in ("true", "false"):
        raise Unfit(f"`{field}` is a column of truth values, got {value!r:.60}")
    return value == "true"


_CONVERTS: dict[ColumnKind, Callable[[str, Value], Any]] = {
    "text": _text,
    "integer": _whole,
    "number": _number,
    "boolean": _boolean,
}


def _convert(field: str, kind: ColumnKind, database: Database) -> Convert:
    return partial(_text_without_nul if kind == "text" and not database.holds_nul else _CONVERTS[kind], field)


def _integer(value: int, what: str = "a time") -> int:
    if not _FIRST <= value <= _LAST:
        raise Unfit(f"{what} is beyond 64 bit: {value}")
    return value


def tables_of(
    schema: Schema, outputs: Iterable[str], database: Database, *, prefix: str = "", iso: bool = False
) -> dict[str, Table]:
    """A table for each output; SpecError where there can be none."""
    tables = {output: Table(prefix + output, schema.predicates[output], schema, database, iso=iso) for output in outputs}
    by_name = {DELIVERY: DELIVERY}
    for table in tables.values():
        other = by_name.setdefault(table.name.lower(), table.name)
        if other != table.name or table.name == DELIVERY:
            raise SpecError(f"the tables `{other}` and `{table.name}` have one name: give a `prefix`, or rename an output")
    return tables


def quoted(name: str) -> str:
    """A name in a statement.

    >>> quoted('too "hot" now')
    '"too ""hot"" now"'
    """
    return '"' + name.replace('"', '""') + '"'
