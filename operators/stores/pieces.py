"""Pieces: what stands, told piece by piece to whoever takes no notices."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG

Range = tuple[int, int]


class Pieces:
    """What stands, told piece by piece to whoever takes no notices; each time at most once.

    >>> pieces = Pieces()
    >>> pieces.follow([], 5, 5, Notices([(("a",), 3)])), pieces.follow([], 9, 9)
    ([(('a',), 3, 5)], [(('a',), 6, 9)])
    >>> pieces.follow([], 20, 20, Notices((), [(("a",), 3, 12)]))
    [(('a',), 10, 12)]
    """

    __slots__ = ("fresh", "reach", "standing")

    def __init__(self) -> None:
        self.standing: OrderedDict[Row, tuple[int, int]] = (
            OrderedDict()
        )  # row → since when, told up to; told of longest ago first
        self.fresh: list[Row] = []  # begun by the last message
        self.reach = NEG  # all that stands has been told up to here, by `follow`

    def take(self, facts: Sequence[Fact], notices: Notices | None = None) -> list[Fact]:
        """Take a message; returns the facts in it, and what has ended, less what has been told of standing rows."""
        known, fresh = self.standing, self.fresh
        fresh.clear()
        new: list[Fact] = []
        if notices is not None:
            moved: dict[Row, tuple[int, int]] = {}
            for row, lo, hi in notices.ended:
                _, told = moved[row] = known.pop(row)
                if hi > told:
                    new.append((row, max(lo, told + 1), hi))
            for row, lo in notices.begun.items():
                since, told = moved.get(row, (lo, lo - 1))
                known[row] = lo, max(lo - 1, told) if told >= since else lo - 1
                if lo < since <= told:  # its begin has moved: what lies before was not told
                    new.append((row, lo, since - 1))
                fresh.append(row)
        whole: Sequence[Any] = facts  # as in `Coverage.insert`
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            if row in known:
                new += without([fact], {row: [known[row]]})
            else:
                new.append(fact)
        return new

    def tell(self, rows: Iterable[Row], reach: int) -> Iterator[Fact]:
        """How far some standing rows have come; nothing is known before the frontier has moved."""
        if reach <= NEG:
            return
        known = self.standing
        for row in rows:
            since, told = known[row]
            if told < reach:
                known[row] = since, reach
                yield row, told + 1, reach

    def follow(self, facts: Sequence[Fact], reach: int, frontier: int, notices: Notices | None = None) -> list[Fact]:
        """Take a message, and tell how far all that stands has come: nobody has to ask again.

        What stands is known up to `reach`; behind it, nothing comes any more at or before the `frontier`.
        """
        new = self.take(facts, notices)
        if reach > self.reach:
            self.reach = reach
            new += self.tell(self.standing, reach)
        elif self.fresh:
            new += self.tell(self.fresh, reach)
        return new

    def entries(self) -> int:
        """How many rows stand."""
        return len(self.standing)

    def state(self) -> dict[str, Any]:
        """What stands, and how far it has been told, as plain data."""
        return {"open": [[list(row), since, told] for row, (since, told) in self.standing.items()], "reach": self.reach}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self.standing = OrderedDict((tuple(row), (since, told)) for row, since, told in state["open"])
        self.reach = state["reach"]


def without(facts: Sequence[Fact], told: Mapping[Row, Sequence[Range]]) -> list[Fact]:
    """The parts of some facts outside ranges of their rows.

    >>> without([(("a",), 1, 9), (("b",), 1, 9)], {("a",): [(3, 4), (7, 12)]})
    [(('a',), 1, 2), (('a',), 5, 6), (('b',), 1, 9)]
    """
    left: list[Fact] = []
    for fact in facts:
        row, lo, hi = fact
        parts = [(lo, hi)]
        for begin, end in told.get(row, ()):
            if begin <= end:
                parts = [
                    (first, last)
                    for lo, hi in parts
                    for first, last in ((lo, min(hi, begin - 1)), (max(lo, end + 1), hi))
                    if first <= last
                ]
        left += [fact] if parts == [(lo, hi)] else [(row, first, last) for first, last in parts]
    return left
