"""Distances in time at which a program changes something: guesses put facts so far from one another."""

from __future__ import annotations

from fractions import Fraction

from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.tree.syntax import Aggregate, Binary, Latest, Period, Time, Unary, Window
from tidelog.plans.tree.traverse import subformulas


def tick_of(book: Rulebook) -> Fraction:
    """What lies beside an end: the next tick, or half a unit where there is none."""
    return Fraction(1) if book.is_integer else Fraction(1, 2)


def distances(book: Rulebook) -> list[Fraction]:
    """Distances at which something changes: the ends of the program's intervals, and a tick beside them."""
    tick = tick_of(book)
    found: set[Fraction] = set()
    for clause in (each for clauses in book.clauses.values() for each in clauses):
        ends: list[Time] = [clause.low, -clause.low, clause.high, -clause.high]
        for part in (each for formula in clause.body for each in subformulas(formula)):
            if isinstance(part, Unary | Binary):
                ends += [part.interval.low, part.interval.high]
            elif isinstance(part, Window | Latest | Aggregate) and not isinstance(part.window, Period):
                ends.append(Fraction(0) if part.window.tuples else part.window.size)
        for end in ends:
            if isinstance(end, Fraction) and end >= 0:
                found |= {end, end + tick, max(end - tick, Fraction(0))}
    return sorted(found)
