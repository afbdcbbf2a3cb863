"""Which columns of a table hold a fact's arguments, and which its time, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten

TIMES = ("time", "from", "to")
"""The columns that may hold a time."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the header says: how many columns, which are arguments (in the predicate's order), which hold the time."""

    count: int
    arguments: tuple[tuple[int, bool], ...]
    """For each argument its column, and whether it stays text even where it reads as a number."""
    time: int | None = None
    bounds: tuple[int, int] | None = None


def read_columns(
    schema: Schema,
    predicate: str,
    header: Sequence[str],
    *,
    timeless: bool = False,
    what: str = "the header",
    dialect: Dialect = OURS,
) -> Columns:
    """The columns of a predicate's facts; DataError where the header is wrong. `what` is what has it, for messages.

    They are the predicate's fields (in any order where it declares them, else in the order of its arguments), and `time`,
    or `from` and `to`, unless the dialect says otherwise. With `timeless` there is no time column.
    """
    if not dialect.ignores:
        _refuse_twice(header, header, what)
    known = schema.predicates.get(predicate)
    fields = known.fields if known else ()
    times = () if timeless else _times_of(header, fields, what, dialect)
    rest = [name for name in header if name not in times]
    if dialect.names_columns:
        arguments_ = _told_columns(predicate, fields, rest, what, dialect)
    else:
        arguments_ = [(name, name) for name in fields or rest]
        if fields:
            match_fields(predicate, fields, rest, what)
    if not fields and known is not None and len(arguments_) != known.arity:
        expected = f"{known.arity} columns beside the time, got {len(arguments_)}"
        raise DataError(f"`{predicate}` has {expected}: {', '.join(name for _, name in arguments_) or 'none'}")
    _refuse_twice([*times, *(name for _, name in arguments_)], header, what)
    arguments = tuple((header.index(name), _is_text(known, field)) for field, name in arguments_)
    places = [header.index(name) for name in times]
    if len(places) == 2:
        return Columns(len(header), arguments, bounds=(places[0], places[1]))
    return Columns(len(header), arguments, time=places[0] if places else None)


def _refuse_twice(names: Sequence[str], header: Sequence[str], what: str) -> None:
    for name in names:
        if header.count(name) > 1:
            raise DataError(f"column `{shorten(name)}` stands twice in {what}")


def _times_of(header: Sequence[str], fields: tuple[str, ...], what: str, dialect: Dialect) -> tuple[str, ...]:
    """The columns that hold the time: those that the dialect tells."""
    told = {"time": dialect.time} if dialect.time else {"from": dialect.begin, "to": dialect.end}
    if not any(told.values()):
        free = [name for name in header if name not in dict(dialect.columns).values()]
        return _time_columns(free, fields, what)
    for option, name in told.items():
        if (name or option) not in header:
            raise _no_column(name or option, f"as `{option}`", header, what)
    return tuple(name or option for option, name in told.items())


def _told_columns(
    predicate: str, fields: tuple[str, ...], rest: Sequence[str], what: str, dialect: Dialect
) -> list[tuple[str, str]]:
    """The fields with their columns, where the dialect names them; without declared fields, in the order it tells."""
    told = dict(dialect.columns)
    for field, name in told.items():
        if fields and field not in fields:
            raise DataError(f"`{predicate}` has no field `{shorten(field)}`{suggest(field, fields)}")
        if name not in rest:
            raise _no_column(name, f"for `{field}`", rest, what)
    wanted = [(field, told.get(field, field)) for field in fields] or list(told.items()) or [(name, name) for name in rest]
    for field, name in wanted:
        if name not in rest:
            hint = f": say `columns={field}:COLUMN`, with one of {_listed(rest)}{suggest(name, rest)}"
            raise DataError(f"{what} lacks the field `{field}` of `{predicate}`{hint}")
    taken = {name for _, name in wanted}
    for name in rest:
        if name not in taken and not dialect.ignores:
            raise DataError(f"`{predicate}` has no field `{shorten(name)}`: `extra=ignore` passes over such columns")
    return wanted


def _no_column(name: str, role: str, header: Sequence[str], what: str) -> DataError:
    found = f"the columns are {_listed(header)}{suggest(name, header)}"
    return DataError(f"{what} has no column `{shorten(name)}` {role}: {found}")


def _listed(names: Sequence[str]) -> str:
    names = [name for name in names if not name.startswith("\0")]  # those are made while reading
    return shorten(", ".join(names), 80) or "none"


def _time_columns(header: Sequence[str], fields: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The columns that hold the time; a field of that name gives way only where the other form is there."""
    has_bounds = "from" in header and "to" in header
    if "time" in header and not (has_bounds and "time" in fields):
        if has_bounds and not {"from", "to"} & set(fields):
            raise DataError(f"{what} has `time`, and `from` and `to`: one of them is enough")
        return ("time",)
    if has_bounds:
        return ("from", "to")
    raise DataError(
        f"{what} needs a column `time`, or `from` and `to`, got: {shorten(', '.join(header), 80)}{_nearest(header, fields)}"
    )


def _nearest(header: Sequence[str], fields: tuple[str, ...]) -> str:
    """The name of a time column that the first unknown column was probably meant to have; empty if none is near."""
    told = (suggest(name, TIMES) for name in header if name not in fields and name not in TIMES)
    return next(filter(None, told), "")


def match_fields(predicate: str, fields: tuple[str, ...], columns: Sequence[str], what: str = "the header") -> None:
    """DataError unless the columns are the declared fields, in whatever order."""
    for name in columns:
        if name not in fields:
            raise DataError(f"`{predicate}` has no field `{shorten(name)}`{suggest(name, fields)}")
    for name in fields:
        if name not in columns:
            raise DataError(f"{what} lacks the field `{name}` of `{predicate}`")


def _is_text(schema: PredicateSchema | None, name: str) -> bool:
    if schema is None or name not in schema.fields or not schema.types:
        return False
    return schema.types[schema.fields.index(name)] == "text"


def beside(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Names for other columns beside those of arguments: with `_` behind each where one of them is an argument's.

    >>> beside(["room"], ["from", "to"]), beside(["to", "from_"], ["from", "to"])
    (('from', 'to'), ('from__', 'to__'))
    """
    while not set(others).isdisjoint(names):
        others = [f"{name}_" for name in others]
    return tuple(others)
