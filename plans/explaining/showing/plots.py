"""Pictures and tables of facts, as the front door gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypedDict, Unpack, get_args

from tidelog.plans.data.facts import Record, Schema, format_constant
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.explaining.showing.order import shown_order
from tidelog.plans.explaining.showing.timelines import MOST_ROWS, Choice, timeline_of
from tidelog.plans.explaining.showing.usage import usage_of
from tidelog.plans.pictures.paint import Theme
from tidelog.plans.pictures.picture import Picture
from tidelog.plans.pictures.text import table_html
from tidelog.plans.pictures.timeline import WIDTH, draw
from tidelog.plans.tree.declared.alarms import alarms_of, is_within_alarm
from tidelog.plans.tree.syntax import Program


class PlotOptions(TypedDict, total=False):
    """How a timeline is drawn: from `begin` to `end` (without: as far as facts reach), so many `rows` of each predicate at
    most (12), so many pixels wide (960), in the colours of `theme` (`auto`, `light` or `dark`), with a `title`."""

    begin: TimeLike | None
    end: TimeLike | None
    rows: int
    width: int
    theme: Theme
    title: str


def plot(
    records: Iterable[Record],
    schema: Schema,
    program: Program,
    predicates: Sequence[str] | None = None,
    **options: Unpack[PlotOptions],
) -> Picture:
    """The timeline of facts: of these predicates, in this order, or of all; of alarms what people do, and their states.

    A predicate whose last argument is a number that changes is drawn as lines, on a scale for each of its measures, with the
    numbers that rules compare it with; of any other each row is a lane. DataError for a time that the timeline cannot hold;
    ValueError for an end that is not after the begin, for a width below 300, for no rows, and for an unknown theme.
    """
    width, theme = options.get("width", WIDTH), options.get("theme", "auto")
    if theme not in get_args(Theme):
        raise ValueError(f"a theme is one of {', '.join(get_args(Theme))}; got `{theme}`")
    if width < 300:
        raise ValueError(f"a picture is 300 pixels wide or more, got {width}")
    choice = _choice(schema, predicates, shown_order(program), options)
    if predicates is None and (alarms := alarms_of(program)):
        is_within = cache(lambda name: is_within_alarm(name, alarms))
        records = (record for record in records if not is_within(record[0]))
    return Picture(draw(timeline_of(records, schema, choice, usage_of(program)), width=width, theme=theme))


def encoded_ends(schema: Schema, options: PlotOptions) -> tuple[int | None, int | None]:
    """When a picture begins and ends, encoded, where it is told; DataError for what is no time, ValueError for no length."""
    times = TimeReader(schema.timeline)
    begin, end = options.get("begin"), options.get("end")
    first = None if begin is None else times.point(begin)
    last = None if end is None else times.last(end)
    if first is not None and last is not None and first >= last:
        raise ValueError(f"a picture begins before it ends, got {begin} to {end}")
    return first, last


def _choice(schema: Schema, predicates: Sequence[str] | None, order: Sequence[str], options: PlotOptions) -> Choice:
    first, last = encoded_ends(schema, options)
    rows = options.get("rows", MOST_ROWS)
    if rows < 1:
        raise ValueError(f"a picture has a row or more of each predicate, got {rows}")
    return Choice(predicates, order, first, last, rows, options.get("title", ""))


def facts_table(records: Iterable[Record], schema: Schema) -> str:
    """Facts as a table of HTML."""
    shown = list(records)
    arity = max((len(row) for _, row, _, _ in shown), default=0)
    head = ["predicate", *(f"{i + 1}" for i in range(arity)), "holds at"]
    rows = [
        [predicate, *map(format_constant, row), *[""] * (arity - len(row)), schema.timeline.format_range(lo, hi)]
        for predicate, row, lo, hi in shown
    ]
    return table_html(head, rows)
