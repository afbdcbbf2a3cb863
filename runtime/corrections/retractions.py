"""Retractions: what they take away from facts that were accepted before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import subtracted
from tidelog.runtime.journal.events import Event, Retracted

Numbered = tuple[int, Record]
"""A retraction with the number of its event."""


class Cuts:
    """Takes retracted coverage away from facts, as they are accepted in a replay of the events before the retraction.

    Whatever is accepted while `event` is the number of the current event, and the retraction has a greater one, is cut.
    `removed` tells which retractions have taken something away so far, by their place in the order that they were given in.

    >>> cuts = Cuts([(7, ("p", ("a",), 3, 4))])
    >>> cuts([("p", ("a",), 1, 9), ("p", ("b",), 3, 3)])
    [('p', ('a',), 1, 2), ('p', ('a',), 5, 9), ('p', ('b',), 3, 3)]
    >>> cuts.event = 7
    >>> cuts([("p", ("a",), 3, 3)])
    [('p', ('a',), 3, 3)]
    """

    def __init__(self, retractions: Iterable[Numbered]) -> None:
        self.event = 0
        self.removed: set[int] = set()
        self._by_row: dict[tuple[str, Row], list[tuple[int, int, int, int]]] = {}
        for index, (number, (predicate, row, lo, hi)) in enumerate(retractions):
            self._by_row.setdefault((predicate, row), []).append((number, lo, hi, index))

    def __call__(self, records: list[Record]) -> list[Record]:
        """The parts of newly accepted facts that no later retraction takes away."""
        by_row = self._by_row
        left: list[Record] = []
        for record in records:
            if record[:2] in by_row:
                left += self._left_of(record)
            else:
                left.append(record)
        return left

    def _left_of(self, record: Record) -> list[Record]:
        pieces = [record]
        for number, lo, hi, index in self._by_row[record[:2]]:
            if number > self.event and any(lo <= piece[3] and piece[2] <= hi for piece in pieces):
                self.removed.add(index)
                pieces = [left for piece in pieces for left in without(piece, lo, hi)]
        return pieces


def without(record: Record, lo: int, hi: int) -> Iterator[Record]:
    """The parts of a fact that lie outside a range."""
    predicate, row, begin, end = record
    for low, high in subtracted([(begin, end)], [(lo, hi)]):
        yield predicate, row, low, high


def retractions_of(events: Iterable[tuple[int, Event]]) -> list[Numbered]:
    """The retractions among numbered events."""
    return [(number, record) for number, event in events if isinstance(event, Retracted) for record in event.records]
