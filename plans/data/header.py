"""Which columns of a table hold a fact's arguments, and which its time, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    schema: Schema, predicate: str, header: Sequence[str], *, timeless: bool = False, what: str = "the header"
) -> Columns:
    """The columns of a predicate's facts; DataError where the header is wrong. `what` is what has it, for messages.

    They are the predicate's fields (in any order where it declares them, else in the order of its arguments), and `time`,
    or `from` and `to`. With `timeless` there is no time column.
    """
    for name in header:
        if header.count(name) > 1:
            raise DataError(f"column `{shorten(name)}` stands twice in {what}")
    known = schema.predicates.get(predicate)
    fields = known.fields if known else ()
    times = () if timeless else _time_columns(header, fields, what)
    rest = [name for name in header if name not in times]
    if fields:
        match_fields(predicate, fields, rest, what)
    elif known is not None and len(rest) != known.arity:
        expected = f"{known.arity} columns beside the time, got {len(rest)}"
        raise DataError(f"`{predicate}` has {expected}: {', '.join(rest) or 'none'}")
    arguments = tuple((header.index(name), _is_text(known, name)) for name in fields or rest)
    places = [header.index(name) for name in times]
    if len(places) == 2:
        return Columns(len(header), arguments, bounds=(places[0], places[1]))
    return Columns(len(header), arguments, time=places[0] if places else None)


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
