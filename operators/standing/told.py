"""Told: what stands, piece by piece, for those who take no notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator, behind, shift
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.pieces import Pieces
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG


class DistinctPieces(Pieces):
    """Pieces of a step that may tell the same times twice, as facts and as part of what stands; each time at most once.

    State, beside that of `Pieces`: the coverage told beyond the frontier.

    >>> pieces = DistinctPieces()
    >>> pieces.follow([], 5, 5, Notices([(("a",), 3)])), pieces.follow([(("a",), 7, 8)], 6, 6), pieces.follow([], 9, 9)
    ([(('a',), 3, 5)], [(('a',), 7, 8), (('a',), 6, 6)], [(('a',), 9, 9)])
    """

    __slots__ = ("coverage", "promised")

    def __init__(self) -> None:
        super().__init__()
        self.coverage = Coverage()
        self.promised = NEG

    def follow(self, facts: Sequence[Fact], reach: int, frontier: int, notices: Notices | None = None) -> list[Fact]:
        new = self.coverage.insert(behind(self.promised, super().follow(facts, reach, frontier, notices)))
        self.promised = frontier
        self.coverage.forget(frontier)
        return new

    def entries(self) -> int:
        return super().entries() + self.coverage.entries()

    def state(self) -> dict[str, Any]:
        return {**super().state(), "coverage": self.coverage.snapshot(), "promised": self.promised}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.coverage.restore(state["coverage"])
        self.promised = state["promised"]


class Told(Operator):
    """The rows of a step that stand (`operators/stores/notices.py`), told anew at each time as far as they are known.

    Rule form: none; the plan puts it between a step that tells notices and those of its readers that take none.
    Intervals: those of the step, known `beyond` its frontier. State: the rows that stand, and how far each has been told;
    where the step tells the same times twice (`is_fed`), the coverage sent beyond the frontier. Final: as its port.

    >>> op = Told(beyond=0, is_fed=False)
    >>> op.receive(0, [], 5, Notices([(("a",), 3)])), op.receive(0, [], 7)
    ([(('a',), 3, 5)], [(('a',), 6, 7)])
    >>> op.receive(0, [], 9, Notices([], [(("a",), 3, 9)]))
    [(('a',), 8, 9)]
    """

    __slots__ = ("_beyond",)

    settles_by_port = False

    def __init__(self, beyond: int, is_fed: bool) -> None:
        super().__init__(1)
        self._beyond = beyond
        self.pieces = DistinctPieces() if is_fed else Pieces()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        return list(facts)

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for row, lo, hi in notices.ended:
            self.notices.end(row, lo, hi, [])
        self.notices.begun.update(notices.begun)
        return list(facts)

    def settle(self, port: int) -> list[Fact]:
        self.frontier = self.frontiers[0]
        return []

    def known(self) -> int:
        return shift(self.frontier, self._beyond)

    def deadline(self) -> tuple[int, int] | None:
        return (0, self.frontier + 1) if self.pieces is not None and self.pieces.standing else None

    def entries(self) -> int:
        return 0 if self.pieces is None else self.pieces.entries()

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """All that it knows are its pieces."""
