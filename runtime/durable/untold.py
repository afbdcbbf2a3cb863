"""What actors that were set aside have not told: the run that goes on tells it, and nothing twice.

While an actor is set aside no snapshot is taken. So the run that goes on is told all again that has come since the last one.
What follows then, and was not told, is what is missing. To know it, answers are kept since the last snapshot, also where all
sinks have taken them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tidelog.plans.data.changes import RetractedChange
from tidelog.plans.data.facts import Record, Row, format_predicate
from tidelog.plans.data.intervals import Range, Ranges, subtracted, united
from tidelog.runtime.journal.manifest import Head
from tidelog.runtime.ports.changelog import unpack_told
from tidelog.runtime.ports.durability import StateStore
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")


class Untold:
    """Hears what a replay tells from the snapshot on; of the outputs of actors that were set aside, some was not told."""

    def __init__(self, head: Head) -> None:
        self._head, self._outputs = head, frozenset(head.untold)
        self._heard: list[Record] = []

    def hear(self, records: Iterable[Record]) -> None:
        """What the replay tells."""
        self._heard += [record for record in records if record[0] in self._outputs]

    def missing(self, store: StateStore) -> list[Record]:
        """What was not told, in the order of the replay. Raises what the store raises."""
        if not self._heard:
            return []
        told = [record for record in told_since(store, self._head) if record[0] in self._outputs]
        by_ranges = self._head.options.get("emit") == "intervals"
        found = [*(_beyond if by_ranges else _more)(self._heard, told)]
        if found:
            names = ", ".join(f"`{format_predicate(name)}`" for name in self._head.untold)
            logger.warning("an actor was set aside: %d answers of %s that it has not told are told now", len(found), names)
        return found


def told_since(store: StateStore, head: Head) -> Iterator[Record]:
    """The facts, or changes, that were told since the last snapshot, as far as they are kept."""
    number = head.snapshot_answers + 1
    while number <= head.answers:
        block = store.answers(number)
        if block is None:
            return
        for group in unpack_told(block.data):
            yield from _records(group.answers[max(0, number - group.first) :])
        number = block.last + 1


def _records(answers: Sequence[AnyAnswer]) -> Iterator[Record]:
    for answer in answers:
        if isinstance(answer, tuple):
            yield answer


def _more(heard: Iterable[Record], told: Iterable[Record]) -> Iterator[Record]:
    """What was heard more often than it was told."""
    counts = Counter((isinstance(record, RetractedChange), record) for record in told)
    for record in heard:
        key = isinstance(record, RetractedChange), record
        if counts[key]:
            counts[key] -= 1
        else:
            yield record


def _beyond(heard: Iterable[Record], told: Iterable[Record]) -> Iterator[Record]:
    """Where what was heard holds, and was not told: the same may have been told in other pieces."""
    covered: dict[tuple[str, Row], Ranges] = {}
    for name, row, lo, hi in told:
        covered.setdefault((name, row), []).append((lo, hi))
    known = {key: united(ranges) for key, ranges in covered.items()}
    for name, row, lo, hi in heard:
        piece: list[Range] = [(lo, hi)]
        yield from ((name, row, *rest) for rest in subtracted(piece, known.get((name, row), [])))
