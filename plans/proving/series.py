"""What is reported again and again: guesses for rules that compare a reading with many before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from tidelog.plans.proving.guessing import Fact
from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Aggregate, Atom, Field, Formula, Latest, Period, Value, Window
from tidelog.plans.tree.traverse import subformulas

_MOST = 120
"""So many readings of an input, at the most."""
_FEW = 30
"""So many are spread over all windows, where no window has a step."""
_SHAPES: tuple[Callable[[int, int], int], ...] = (
    lambda place, last: 1_000 if place == last else place % 2,
    lambda place, last: -1_000 if place == last else place % 2,
    lambda place, last: place % 2,
    lambda place, _: place,
    lambda place, last: last - place,
    lambda *_: 0,
)
"""The number that is read, by its place and that of the last one: to and fro, then far away; rising; falling; the same."""


def series(book: Rulebook, fields: Mapping[str, Sequence[Field]], predicate: str) -> Iterator[tuple[Fact, ...]]:
    """Readings of all inputs on which a predicate rests, at even distances: as many as fill its windows, and one more."""
    parts = parts_behind(book, predicate)
    inputs = sorted({part.predicate for part in parts if isinstance(part, Atom)}.intersection(fields))
    for distance, count in _distances(parts):
        for shape in _SHAPES if inputs else ():
            yield tuple(
                Fact(place * distance, place * distance, name, _row(fields[name], shape(place, count - 1)))
                for place in range(count)
                for name in inputs
            )


def parts_behind(book: Rulebook, predicate: str) -> list[Formula]:
    """All formulas of the rules on which a predicate rests."""

    def parts_of(name: str) -> Iterator[Formula]:
        return (part for clause in book.of(name) for formula in clause.body for part in subformulas(formula))

    def reads(name: str) -> list[str]:
        return [part.predicate for part in parts_of(name) if isinstance(part, Atom)]

    return [part for name in sorted(reachable([predicate], reads)) for part in parts_of(name)]


def _distances(parts: Sequence[Formula]) -> Iterator[tuple[Fraction, int]]:
    """How far readings may be apart, and how many there are then."""
    windows = [
        part.window
        for part in parts
        if isinstance(part, Window | Latest | Aggregate) and not isinstance(part.window, Period) and not part.window.tuples
    ]
    sizes = {Fraction(window.size) for window in windows if window.size < math.inf}
    steps = {Fraction(window.step) for window in windows if window.step is not None}
    whole = sum(sizes, Fraction(0))
    for distance in sorted(steps | {Fraction(max(1, math.ceil(whole / _FEW)))} if sizes else ()):
        count = math.ceil(whole / distance) + 1
        if count <= _MOST:
            yield distance, count


def _row(fields: Sequence[Field], number: int) -> tuple[Value, ...]:
    return tuple(_value(field, number) for field in fields)


def _value(field: Field, number: int) -> Value:
    if field.type in ("number", "integer"):
        return number
    return "true" if field.type == "boolean" else f"{field.name}1"
