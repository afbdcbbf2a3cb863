"""Told: what is announced, piece by piece, for those who take no announcements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.coverage import Coverage
from tidelog.operators.open_rows import Pieces
from tidelog.operators.operator import Operator, behind, shift
from tidelog.plans.facts import Fact


class Told(Operator):
    """The rows that a step announces (`operators/open_rows.py`), told anew at each time as far as they are known.

    Rule form: none; the plan puts it between a step that announces and those of its readers that take no announcements.
    Intervals: those of the step, known `beyond` its frontier. State: the open rows, and how far each has been told; where
    the step tells the same times twice (`is_fed`), the coverage sent beyond the frontier. Final: as its port.

    >>> from tidelog.operators.open_rows import OPEN, SHUT
    >>> op = Told(beyond=0, is_fed=False)
    >>> op.receive(0, [(("a",), 3, OPEN)], 5), op.receive(0, [], 7), op.receive(0, [(("a",), 3, SHUT), (("a",), 3, 9)], 9)
    ([(('a',), 3, 5)], [(('a',), 6, 7)], [(('a',), 8, 9)])
    """

    __slots__ = ("_beyond", "_open", "coverage")

    settles_by_port = False

    def __init__(self, beyond: int, is_fed: bool) -> None:
        super().__init__(1)
        self._beyond = beyond
        self._open = Pieces()
        self.coverage = Coverage() if is_fed else None

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        new = self._open.take(facts)
        new += self._open.tell(self._open.fresh, self.known())
        return self._untold(new)

    def _untold(self, facts: list[Fact]) -> list[Fact]:
        """What of some coverage has not been told; what lies before the frontier has, or does not matter."""
        new = behind(self.frontier, facts)
        return new if self.coverage is None else self.coverage.insert(new)

    def settle(self, port: int) -> list[Fact]:
        new = self._untold(list(self._open.tell(self._open.open, self.known())))
        self.frontier = self.frontiers[0]
        if self.coverage is not None:
            self.coverage.forget(self.frontier)
        return new

    def known(self) -> int:
        return shift(self.frontiers[0], self._beyond)

    def deadline(self) -> tuple[int, int] | None:
        return (0, self.frontier + 1) if self._open.open else None

    def entries(self) -> int:
        return len(self._open.open) + (0 if self.coverage is None else self.coverage.entries())

    def state(self) -> dict[str, Any]:
        coverage = [] if self.coverage is None else self.coverage.snapshot()
        return {"open": self._open.state(), "coverage": coverage}

    def load(self, state: dict[str, Any]) -> None:
        self._open.load(state["open"])
        if self.coverage is not None:
            self.coverage.restore(state["coverage"])
