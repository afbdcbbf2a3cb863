"""Derived facts as `parquet:DIR` keeps them: arguments in one column, and times both exact, as text, and to compute with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.frames.arrow import pa

_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The microseconds since 1970 of the years 1 to 9999, which is what a timestamp can be in Python, too."""
_MAX_KNOWN = 65_536
"""How many intervals and rows are remembered."""
_TYPES = {"text": pa.string(), "number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "any": pa.string()}
_encode = msgspec.json.Encoder().encode


class StoredFacts:
    """Makes tables of one predicate's facts. Without `fields`, their arguments are an array of JSON texts."""

    def __init__(self, predicate: str, fields: Sequence[str], types: Sequence[str], timeline: Timeline) -> None:
        self.predicate, self._fields, self._declared = predicate, fields, types
        self._timeline = timeline
        self.schema = self._schema()
        self._rows: dict[Row, Any] = {}
        self._ends: dict[tuple[int, int], tuple[Any, ...]] = {}

    def _schema(self) -> Any:
        if self._fields:
            pairs = zip(self._fields, self._declared, strict=True)
            arguments = pa.struct([pa.field(name, _TYPES[kind], nullable=False) for name, kind in pairs])
        else:
            arguments = pa.list_(pa.field("element", pa.string(), nullable=False))
        time = pa.float64() if self._timeline.unit is None else pa.timestamp("us", "UTC")
        columns = [("arguments", arguments, False), ("start", pa.string(), True), ("end", pa.string(), True)]
        columns += [("start_time", time, True), ("end_time", time, True)]
        columns += [("start_open", pa.bool_(), False), ("end_open", pa.bool_(), False)]
        return pa.schema([pa.field(name, kind, nullable=nullable) for name, kind, nullable in columns])

    def batch(self, facts: Iterable[Fact]) -> Any:
        """These facts as a batch of Arrow; ConnectorError where one is not as its program declares it."""
        values = [(self._arguments(row), *self._interval(lo, hi)) for row, lo, hi in facts]
        columns = list(zip(*values, strict=True)) or [()] * len(self.schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _arguments(self, row: Row) -> Any:
        found = self._rows.get(row)
        if found is None:
            found = self._read(row)
            if len(self._rows) >= _MAX_KNOWN:
                self._rows.clear()
            self._rows[row] = found
        return found

    def _read(self, row: Row) -> Any:
        if not self._fields:
            return [_encode(value).decode() for value in row]
        if len(row) != len(self._fields):
            raise ConnectorError(f"a fact of `{self.predicate}`: expected {len(self._fields)} arguments, got {len(row)}")
        triples = zip(self._fields, self._declared, row, strict=True)
        return {name: typed(name, kind, value) for name, kind, value in triples}

    def _interval(self, lo: int, hi: int) -> tuple[Any, ...]:
        found = self._ends.get((lo, hi))
        if found is None:
            interval = self._timeline.decode_interval(lo, hi)
            start = None if lo == NEG else interval.low
            end = None if hi == POS else interval.high
            shown = (None if start is None else str(start), None if end is None else str(end))
            found = (*shown, self._time(start), self._time(end), interval.left_open, interval.right_open)
            if len(self._ends) >= _MAX_KNOWN:
                self._ends.clear()
            self._ends[lo, hi] = found
        return found

    def _time(self, time: Fraction | float | None) -> float | int | None:
        """A time to compute with."""
        if time is None:
            return None
        return float(time) if self._timeline.unit is None else microseconds(Fraction(time) * self._timeline.unit)


def typed(name: str, kind: str, value: object) -> object:
    """An argument as a column of its declared type has it, as JSON for `any`; ConnectorError where it is of another."""
    if kind == "any":
        return _encode(value).decode()
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind == "integer" and isinstance(value, int):
        return value
    if kind == "number" and isinstance(value, int | float):
        return float(value)
    raise ConnectorError(f"field `{name}` is declared as {kind}, got {shorten(_encode(value).decode())}")


def microseconds(seconds: int | Fraction) -> int | None:
    """As many microseconds: what is finer is cut, what is beyond the years 1 to 9999 of the time since 1970 is None."""
    return within_years(int(seconds * 10**6 // 1))


def within_years(found: int) -> int | None:
    """Microseconds since 1970, where they lie in the years 1 to 9999."""
    return found if _EARLIEST <= found <= _LATEST else None
