"""Facts changed a little: other values at the thresholds of two programs, a fact more beside them, and longer or shorter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.proving.ending import constants_of, rows_beside
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.numbers.distances import distances
from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.tree.syntax import Field, Value

_MOST = 40


def variants(
    facts: Sequence[Fact], books: Sequence[Rulebook], fields: Mapping[str, Sequence[Field]]
) -> Iterator[tuple[Fact, ...]]:
    """Facts that differ from some in one thing."""
    values = list(dict.fromkeys(value for book in books for value in constants_of(book, numbers_too=True)))
    numbers = sorted({near for value in values if not isinstance(value, str) for near in (value - 1, value, value + 1)})
    texts = [value for value in values if isinstance(value, str)]
    for place, fact in enumerate(facts):
        for row in _rows(fact, numbers, texts):
            yield (*facts[:place], replace(fact, row=row), *facts[place + 1 :])
    near = dict.fromkeys(Fraction(time) + step for fact in facts for time in (fact.high, fact.low) for step in (0, 1, -1))
    far = dict.fromkeys(Fraction(fact.high) + way * step for fact in facts for step in _changed(books) for way in (-1, 1))
    rows = list(dict.fromkeys(rows_beside(facts, fields, values)))
    for times in (far, near):
        for predicate, row in rows:
            for time in list(times)[:_MOST]:
                yield (*facts, Fact(time, time, predicate, row))


def _changed(books: Sequence[Rulebook]) -> list[Fraction]:
    """Distances at which one program changes something, and another does not."""
    found = [distances(book) for book in books]
    known = {each for ends in found for each in ends}
    return sorted(each for each in known if any(each not in ends for ends in found))


def _rows(fact: Fact, numbers: Sequence[int | float], texts: Sequence[str]) -> Iterator[tuple[Value, ...]]:
    for place, value in enumerate(fact.row):
        others: Sequence[Value] = texts if isinstance(value, str) else numbers
        for changed in others:
            if changed != value:
                yield (*fact.row[:place], changed, *fact.row[place + 1 :])
