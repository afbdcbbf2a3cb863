"""How `intervals` tells standing rows: how far each has been told, and whose turn is next.

What stands (`operators/stores/notices.py`) grows with the frontier. If it is little, all of it is told at each move.
If it is more, a row is told when it begins and when it ends, and in between by turns: with each answer that is new, one row.
So a row that does not change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any

from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.pieces import Pieces
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS


class Growing:
    """One output: its standing rows, and what has been told of it beyond its frontier, or behind what is untold.

    Standing rows are known `beyond` (encoded) the frontier. Where the same times may come twice (`is_fed`), it is noted what
    has been told; a step with which standing rows begin tells each time once.

    >>> growing = Growing()
    >>> growing.take([], 4, Notices([(("a",), 3)])), growing.take([], 6)
    ([(('a',), 3, 4)], [(('a',), 5, 6)])
    >>> growing.take([], 9, Notices([], [(("a",), 3, 8)]))
    [(('a',), 7, 8)]
    """

    __slots__ = ("_begins", "_beyond", "_count", "_known", "_pieces", "frontier")

    def __init__(self, beyond: int = 0, *, is_fed: bool = True) -> None:
        self.frontier = NEG
        self._beyond = beyond
        self._pieces = Pieces()
        self._known = Coverage() if is_fed else None
        self._begins: list[tuple[int, int, Row]] = []  # standing rows that begin behind the frontier
        self._count = 0  # rows need not be comparable

    def take(self, facts: Sequence[Fact], frontier: int, notices: Notices | None = None) -> list[Fact]:
        """Take new coverage, and the frontier behind it; returns what is to be told."""
        promised, frontier = frontier, shift(frontier, self._beyond)
        pieces, moved = self._pieces, frontier > self.frontier
        if moved:
            self.frontier = frontier
        new = self._unknown(pieces.take(facts, notices)) if facts or notices is not None else []
        if pieces.standing:
            if notices is not None and notices.begun:
                new += self._tell(self._fresh(new))
            if moved:
                if self._begins and self._begins[0][0] <= frontier:
                    new += self._tell(self._begun())
                if frontier >= POS or len(pieces.standing) <= LIMITS.prompt:
                    new += self._tell(list(pieces.standing))
            if new:
                new += self._tell(list(islice(pieces.standing, len(new))))
        if self._known is not None and (promised >= POS or self._known.grown > max(LIMITS.round, len(pieces.standing))):
            # A row that begins later counts as told up to its begin, so the first row in turn is not always told least far.
            # All rows are compared, but only once as many ranges are new: so it costs each new range one look.
            untold = min([told for _, told in pieces.standing.values()], default=POS)
            self._known.forget(min(promised, untold))
        return new

    def standing(self) -> list[tuple[Row, int]]:
        """What stands, and since when."""
        return [(row, since) for row, (since, _) in self._pieces.standing.items()]

    def rest(self) -> list[Fact]:
        """All that is known and untold."""
        return self._tell(list(self._pieces.standing))

    def _tell(self, rows: Iterable[Row]) -> list[Fact]:
        """How far standing rows have come; it is the others' turn then."""
        told = list(self._pieces.tell(rows, self.frontier))
        if not told:
            return told
        for row, _, _ in told:
            self._pieces.standing.move_to_end(row)
        return self._unknown(told)

    def _unknown(self, facts: list[Fact]) -> list[Fact]:
        """What of some coverage has not been told."""
        return facts if self._known is None else self._known.insert(facts)

    def _fresh(self, told: Sequence[Fact]) -> list[Row]:
        """The rows that stand by the last message, and have begun; the others wait, unless they go on with a fact."""
        begun: list[Row] = []
        followed = {(row, hi + 1) for row, _, hi in told}
        for row in self._pieces.fresh:
            since, _ = self._pieces.standing[row]
            if since <= self.frontier:
                begun.append(row)
            elif (row, since) not in followed:
                self._count += 1
                heappush(self._begins, (since, self._count, row))
        return begun

    def _begun(self) -> Iterator[Row]:
        while self._begins and self._begins[0][0] <= self.frontier:
            row = heappop(self._begins)[2]
            if row in self._pieces.standing:
                yield row

    def deadline(self) -> int:
        """The least frontier at which there is something to tell though nothing new comes; POS if nothing waits."""
        if 0 < len(self._pieces.standing) <= LIMITS.prompt:
            return self.frontier + 1 - self._beyond
        return self._begins[0][0] - self._beyond if self._begins else POS

    def due(self) -> int:
        """The least frontier at which a row begins that is known to; what goes on holding may wait until then."""
        return self._begins[0][0] - self._beyond if self._begins else POS

    def entries(self) -> int:
        """How many rows stand, and how many ranges are stored."""
        return len(self._pieces.standing) + (0 if self._known is None else self._known.entries())

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        begins = [[since, list(row)] for since, _, row in sorted(self._begins)]
        known = [] if self._known is None else self._known.snapshot()
        return {"frontier": self.frontier, "pieces": self._pieces.state(), "known": known, "begins": begins}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.frontier = data["frontier"]
        self._pieces.load(data["pieces"])
        if self._known is not None:
            self._known.restore(data["known"])
        self._begins = [(since, i, tuple(row)) for i, (since, row) in enumerate(data["begins"])]
        heapify(self._begins)
        self._count = len(self._begins)
