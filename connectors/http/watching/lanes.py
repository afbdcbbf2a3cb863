"""When answers held: for each predicate and row a lane of maximal intervals, whatever the form in which they are told."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import unite
from tidelog.plans.data.timeline import POS

MAX_LANES = 500
MAX_BARS = 200
"""How many lanes there are at most, and how many intervals in each: the last ones."""

Bar = tuple[int, int]
"""A closed range, encoded; its end is `POS` where none is known."""


@dataclass(slots=True)
class Lane:
    """When one answer held: ranges in order, that do not touch. `dropped` are older ones that are not kept."""

    predicate: str
    row: Row
    bars: list[Bar] = field(default_factory=list)
    dropped: int = 0

    def add(self, lo: int, hi: int, *, is_change: bool) -> None:
        """The answer holds over this range, too; as a change, it is the range that begins there."""
        if is_change:
            self._replace(lo, hi)
        else:
            unite(self.bars, lo, hi)
        while len(self.bars) > MAX_BARS:
            del self.bars[0]
            self.dropped += 1

    def at(self, present: int) -> Bar | None:
        """The range in which the present lies; None where it does not hold now."""
        return next((bar for bar in reversed(self.bars) if bar[0] <= present <= bar[1]), None)

    def _replace(self, lo: int, hi: int) -> None:
        place = bisect_left(self.bars, (lo,))
        found = place < len(self.bars) and self.bars[place][0] == lo
        self.bars[place : place + found] = [(lo, hi)]


class Lanes:
    """The lanes of all answers, the one that changed last at the end; of too many the one goes that changed first.

    `version` grows with each change.

    >>> lanes = Lanes()
    >>> lanes.add(("hot", ("p1",), 1, 2)); lanes.add(("hot", ("p1",), 3, 5))
    >>> [(lane.row, lane.bars) for lane in lanes]
    [(('p1',), [(1, 5)])]
    """

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, Row], Lane] = {}
        self.version = 0
        self.dropped = 0

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def add(self, record: Record) -> None:
        """An answer, or the begin or the end of one."""
        predicate, row, lo, hi = record
        lane = self._lanes.pop((predicate, row), None) or Lane(predicate, row)
        lane.add(lo, hi, is_change=isinstance(record, ChangeRecord))
        self._lanes[predicate, row] = lane
        self.version += 1
        if len(self._lanes) > MAX_LANES:
            self._drop_one()

    def _drop_one(self) -> None:
        """The lane goes that changed first, of those in which nothing holds without an end, if there are such."""
        ended = (key for key, lane in self._lanes.items() if lane.bars[-1][1] < POS)
        del self._lanes[next(ended, next(iter(self._lanes)))]
        self.dropped += 1
