"""Records from what a caller gives: a predicate, a row, and a time or an interval, checked as a program wants them."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.plans.errors import DataError
from tidelog.plans.facts import Record, Schema, ValueLike
from tidelog.plans.times import TimeLike, TimeReader


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
    if type(time) is int and interval is None and type(row) in (list, tuple) and type(predicate) is str and predicate:
        point = times.point(time)  # as almost always
        return predicate, schema.check(predicate, tuple(row)), point, point
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
