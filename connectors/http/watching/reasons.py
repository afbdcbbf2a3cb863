"""Why an answer holds, as the page shows it: as text, as a picture, and the numbers behind it to draw a chart of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tidelog.connectors.http.watching.watched import Reasons
from tidelog.plans.data.facts import Record, Schema, format_constant, format_record
from tidelog.plans.data.timeline import NEG, POS, Timeline

MOST_POINTS: Final = 1_000
"""So many of the facts with numbers are told, those that are the latest."""


def reason(known: Reasons, schema: Schema, fact: Record) -> dict[str, Any]:
    """A reason as the page shows it; an error where the fact does not hold by what is known."""
    found = known.why(fact)
    note = "; ".join(found.notes)
    if found.holds:
        return {"text": found.text(), "svg": found.svg(), "note": note, "values": values(found.given(), schema, fact[2])}
    name = format_record(fact, schema.timeline)
    return {"error": f"`{name}` does not follow from what is known" + (f": {note}" if note else "")}


def values(facts: Iterable[Record], schema: Schema, begin: int) -> dict[str, Any]:
    """The numbers of facts: a series for each predicate, its other arguments, and the place of the number.

    A point is when the fact begins and ends, and its number; `left_out` is how many earlier facts are not among them.
    """
    telling = [fact for fact in facts if any(not isinstance(value, str) for value in fact[1])]
    series: dict[tuple[object, ...], dict[str, Any]] = {}
    for predicate, row, lo, hi in telling[-MOST_POINTS:]:
        others = [value for value in row if isinstance(value, str)]
        ends = [_number(schema.timeline, lo, is_low=True), _number(schema.timeline, hi, is_low=False)]
        for i, value in enumerate(row):
            if not isinstance(value, str):
                key = predicate, *others, i
                found = series.setdefault(key, {"name": _name(schema, predicate, others, i), "points": []})
                found["points"].append([*ends, float(value)])
    return {
        "begin": _number(schema.timeline, begin, is_low=True),
        "series": [*series.values()],
        "left_out": max(0, len(telling) - MOST_POINTS),
    }


def _name(schema: Schema, predicate: str, others: list[str], place: int) -> str:
    """What a series is called: its predicate, the arguments that are no numbers, and the number's name where it has one."""
    known = schema.predicates.get(predicate)
    field = known.fields[place] if known is not None and place < len(known.fields) else ""
    return ", ".join(
        [f"{predicate}({', '.join(map(format_constant, others))})" if others else predicate, *filter(None, [field])]
    )


def _number(timeline: Timeline, time: int, *, is_low: bool) -> float | None:
    """An encoded time as a number to draw with, in seconds where there is a unit; None for what is not finite."""
    if not NEG < time < POS:
        return None
    interval = timeline.decode_interval(time, time)
    return float(interval.low if is_low else interval.high) * float(timeline.unit or 1)
