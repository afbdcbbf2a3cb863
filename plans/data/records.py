"""Records from what a caller gives: a predicate, a row, and a time or an interval, checked as a program wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import itemgetter

from tidelog.plans.data.facts import Record, Row, Schema, ValueLike, plain_row
from tidelog.plans.data.row_code import MakeRow, row_maker
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import DataError

_ROW: Callable[[Record], Row] = itemgetter(1)


class RecordMaker:
    """Makes records for one schema: by code compiled for their predicate where they are as almost always."""

    __slots__ = ("_limit", "_makers", "_scale", "_schema", "_times")

    def __init__(self, schema: Schema, times: TimeReader) -> None:
        self._schema, self._times = schema, times
        self._scale, self._limit = times.whole
        self._makers: dict[str, MakeRow] = {
            name: row_maker(known, given=True) for name, known in schema.predicates.items() if known.accepts_input
        }

    def make(
        self, predicate: str, row: Sequence[ValueLike], time: TimeLike | None = None, interval: str | None = None
    ) -> Record:
        """The record of a fact, as `make_record` has it."""
        if type(time) is int and -self._limit <= time <= self._limit and interval is None and type(predicate) is str:
            maker, kind = self._makers.get(predicate), type(row)
            if maker is not None and (kind is tuple or kind is list):
                checked = maker(tuple(row))  # type: ignore[arg-type] # it looks at the type of each value
                if checked is not None:
                    point = time * self._scale
                    return predicate, checked, point, point
        return make_record(self._schema, self._times, predicate, row, time, interval)


def plain_records(records: list[Record]) -> list[Record]:
    """Records in which booleans of Python's, which equal numbers, are the constants of that name."""
    if bool not in {*map(type, chain.from_iterable(map(_ROW, records)))}:
        return records
    return [(predicate, plain_row(row), lo, hi) for predicate, row, lo, hi in records]


def make_record(
    schema: Schema,
    times: TimeReader,
    predicate: str,
    row: Sequence[ValueLike],
    time: TimeLike | None,
    interval: str | None,
) -> Record:
    """The record of a fact at a `time`, or over an `interval` such as `"[1,2)"`.

    Raises DataError for a row or a time that the program cannot take, TypeError for what is none.
    """
    if (time is None) == (interval is None):
        raise TypeError("a fact needs either a time or an interval")
    if not isinstance(predicate, str):
        raise TypeError(f"a predicate is text, got {type(predicate).__name__}")
    if not predicate:
        raise DataError("the predicate is empty")
    if not isinstance(row, Sequence) or isinstance(row, str | bytes | bytearray):
        raise TypeError(f'a row is a list or a tuple, such as ["s1", 21.5], got {type(row).__name__}')
    checked = schema.check(predicate, tuple(row))
    if time is not None:
        point = times.point(time)
        return predicate, checked, point, point
    if not isinstance(interval, str):
        raise TypeError(f'an interval is text, such as "[1,2)", got {type(interval).__name__}')
    return predicate, checked, *times.read_interval(interval)
