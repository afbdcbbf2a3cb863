"""What `for 10 min` and `within 10 min` say in a rule, as a sentence about what they stand behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tidelog.editing.names import Names
from tidelog.plans.data.timeline import format_time
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import subformulas

_UNITS = {
    "": "unit of time",
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "min": "minute",
    "h": "hour",
    "d": "day",
}
_WORD = re.compile(r"\b(?:for|within)\s+$", re.IGNORECASE)


def lasting_at(names: Names, offset: int) -> tuple[str, Span] | None:
    """Markdown on the `for 10 min` at a place, and where that begins and ends; None where there is none."""
    number = names.statement_at(offset)
    reading = names.readings[number] if number is not None else None
    if number is None or reading is None or not isinstance(reading.statement, syntax.Rule):
        return None
    begin = names.raws[number].start
    for part in _lasting(reading.statement):
        word = _WORD.search(names.text, begin + part.operand.span.end, begin + part.interval.span.start)
        span = Span(word.start() if word else 0, begin + part.interval.span.end)
        if word is not None and span.start <= offset <= span.end:
            operator = format_formula(replace(part, word=""))
            return f"{_sentence(part)}\n\nthe same as `{operator}`", span
    return None


def _lasting(rule: syntax.Rule) -> Iterator[syntax.Unary]:
    for formula in (rule.head, *rule.body):
        for part in subformulas(formula):
            if isinstance(part, syntax.Unary) and part.word:
                yield part


def _plural(unit: str) -> str:
    return "units of time" if unit == "unit of time" else f"{unit}s"


def _sentence(part: syntax.Unary) -> str:
    what, time = format_formula(part.operand), format_time(part.interval.high)
    unit = _UNITS[part.interval.high_unit]
    long = f"1 {unit}" if time == "1" else f"{time} {_plural(unit)}"
    last = f"the last {unit if time == '1' else long}"
    if part.operator == "boxplus":
        return f"`{what}` holds from now on for {long}"
    if part.word == "for":
        return f"`{what}` has held without a break for {last}"
    return f"`{what}` has held at some time within {last}"
