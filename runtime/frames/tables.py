"""Answers as Arrow tables: one a predicate, a column a field, and when it holds as real timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.plans.data.facts import Fact, PredicateSchema, Record, Schema
from tidelog.plans.data.header import beside
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.syntax import FieldType, Value
from tidelog.runtime.frames.arrow import pa

TIMES = ("from", "to", "from_open", "to_open")
"""The columns that say when a fact holds."""
_WORD = 1 << 63
_TYPES = {"text": pa.string(), "number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}


def tables_of(schema: Schema, predicates: Iterable[str], records: Iterable[Record]) -> dict[str, Any]:
    """An Arrow table for each of these predicates, and for each further one that has facts, sorted by `from` and `to`.

    Columns are the fields, `x1`, `x2` … where none are declared; `from` and `to`, null where the interval has no end on that
    side; and `from_open` and `to_open`: whether it leaves out that end. Where a field has one of these names, all four have
    `_` behind them. Times are timestamps in UTC where the program
    declares a unit, else whole numbers, or on a rational timeline floats. DataError for a time that no timestamp can hold.
    """
    facts: dict[str, list[Fact]] = {predicate: [] for predicate in predicates}
    for predicate, row, lo, hi in records:
        facts.setdefault(predicate, []).append((row, lo, hi))
    return {name: table_of(schema, name, own) for name, own in facts.items()}


def table_of(schema: Schema, predicate: str, facts: list[Fact]) -> Any:
    """The table of one predicate's facts."""
    facts = sorted(facts, key=lambda fact: fact[1:])
    known = schema.predicates.get(predicate)
    names = _names(known, facts)
    arrays = [_values(column, _declared(known, i)) for i, column in enumerate(_columns(facts, len(names)))]
    times = TimeColumns(schema.timeline)
    arrays += times.columns([lo for _, lo, _ in facts], [hi for _, _, hi in facts])
    return pa.table(arrays, names=[*names, *beside(names, TIMES)])


def _names(known: PredicateSchema | None, facts: Sequence[Fact]) -> tuple[str, ...]:
    if known is not None and known.fields:
        return known.fields
    arity = known.arity if known is not None else len(facts[0][0]) if facts else 0
    return tuple(f"x{i + 1}" for i in range(arity))


def _declared(known: PredicateSchema | None, i: int) -> FieldType:
    return known.types[i] if known is not None and i < len(known.types) else "any"


def _columns(facts: Sequence[Fact], count: int) -> list[list[Value]]:
    return [[row[i] for row, _, _ in facts] for i in range(count)]


def _values(values: Sequence[Value], declared: FieldType) -> Any:
    """A column of constants: of the declared type, else of the one that holds all of them, in doubt as text."""
    if declared == "boolean":
        return pa.array([value == "true" for value in values], pa.bool_())
    if declared != "any":
        return pa.array(values, _TYPES[declared])
    kinds = set(map(type, values))
    if str in kinds or not kinds:
        return pa.array([value if isinstance(value, str) else repr(value) for value in values], pa.string())
    return pa.array(values, pa.float64() if float in kinds else pa.int64())


class TimeColumns:
    """Ranges of one timeline as the columns `from`, `to`, `from_open` and `to_open`."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        tick = Fraction(1) if timeline.is_integer else timeline.resolution
        self._tick = tick if timeline.unit is None else tick * timeline.unit
        if timeline.unit is None:
            self.type = pa.int64() if timeline.is_integer else pa.float64()
            return
        is_coarse = (self._tick * 10**6).denominator == 1
        self.type = pa.timestamp("us" if is_coarse else "ns", "UTC")
        self._tick *= 10**6 if is_coarse else 10**9

    def columns(self, begins: Sequence[int], ends: Sequence[int]) -> list[Any]:
        """The four columns of these ranges."""
        is_integer = self._timeline.is_integer
        gap = 0 if is_integer else 1
        froms = self._times([None if lo == NEG else lo if is_integer else lo >> 1 for lo in begins])
        tos = self._times([None if hi == POS else hi if is_integer else hi + 1 >> 1 for hi in ends])
        left = pa.array([lo == NEG or bool(lo & gap) for lo in begins], pa.bool_())
        right = pa.array([hi == POS or bool(hi & gap) for hi in ends], pa.bool_())
        return [froms, tos, left, right]

    def _times(self, ticks: Sequence[int | None]) -> Any:
        above, below = self._tick.numerator, self._tick.denominator
        if pa.types.is_floating(self.type):
            return pa.array([None if tick is None else tick * above / below for tick in ticks], self.type)
        counts = [None if tick is None else tick * above // below for tick in ticks]
        if any(count is not None and abs(count) >= _WORD for count in counts):
            raise DataError(f"a time lies beyond what {self.type} can hold")
        return pa.array(counts, pa.int64()).cast(self.type)
