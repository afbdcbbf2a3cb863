"""What two programs tell of the same rows, beside labels, as a timeline: what only one of them tells stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.plans.data.facts import Fact, Row, Schema, format_atom, format_record
from tidelog.plans.explaining.showing.timelines import Choice, Clock
from tidelog.plans.pictures.lanes import Bar, BarLane, Lane, Note, Timeline, Tone
from tidelog.plans.pictures.paint import cool

MOST_ROWS = 12
"""How many rows of an output are drawn unless told otherwise."""
MOST_OUTPUTS = 12
"""How many outputs are drawn."""
_LABEL, _BOTH, _ONE = "muted", cool(0), "alarm"
_LEGEND = "blue: both programs tell it; red: only this one does; grey: labels"


@dataclass(frozen=True, slots=True)
class Told:
    """What one program tells of a row: ranges that the other one tells, too, and those that it does not."""

    both: Sequence[Fact]
    alone: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row as the old and the new program tell it (None: the program does not have the output), and its labels."""

    row: Row
    labels: Sequence[Fact] | None
    old: Told | None
    new: Told | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows of an output, those first that differ for the longest; how many `more` there are, and how many of them `differ`.

    `labels` are those without arguments, of every row.
    """

    predicate: str
    labels: Sequence[Fact]
    rows: Sequence[RowDifference]
    more: int
    differ: int


def timeline_of_differences(found: Sequence[Difference], schema: Schema, span: Fact | None, title: str) -> Timeline:
    """The timeline of some outputs over a history, from its first fact to its last (`span`; None where it has none)."""
    clock = Clock(schema.timeline)
    lanes: list[Lane] = [Note(_LEGEND)]
    for difference in found[:MOST_OUTPUTS]:
        lanes += _lanes(difference, schema, clock)
    if len(found) > MOST_OUTPUTS:
        lanes.append(Note(f"and {len(found) - MOST_OUTPUTS:,} more outputs"))
    facts = [fact for difference in found[:MOST_OUTPUTS] for fact in _facts(difference)]
    begin, end = clock.range(facts if span is None else [span, *facts], Choice())
    return Timeline(lanes, begin, end, clock.is_date(begin), title, clock.is_whole, hidden_title="a backtest")


def _facts(difference: Difference) -> Iterator[Fact]:
    """All that is drawn of an output."""
    yield from difference.labels
    for row in difference.rows:
        yield from row.labels or ()
        for told in (row.old, row.new):
            if told is not None:
                yield from (*told.both, *told.alone)


def _lanes(difference: Difference, schema: Schema, clock: Clock) -> Iterator[Lane]:
    name = difference.predicate

    def bars(facts: Sequence[Fact], row: Row, tone: Tone | None = None) -> list[Bar]:
        return [
            Bar(clock.begin(lo), clock.end(hi), format_record((name, row, lo, hi), schema.timeline), tone=tone)
            for _, lo, hi in facts
        ]

    if difference.labels:
        yield BarLane(f"{name}: label", bars(difference.labels, ()), _LABEL)
    for each in difference.rows:
        yield Note(format_atom(name, each.row))
        if each.labels is not None:
            yield BarLane("label", bars(each.labels, each.row), _LABEL, level=1)
        for side, told in (("old", each.old), ("new", each.new)):
            if told is not None:
                yield BarLane(side, bars(told.both, each.row) + bars(told.alone, each.row, _ONE), _BOTH, level=1)
    if not difference.rows:
        yield Note(f"no {format_atom(name, ())}")
    if difference.more:
        what = f"{difference.differ:,} of them differ" if difference.differ else "none of them differs"
        yield Note(f"and {difference.more:,} more rows of {name}: {what}")
