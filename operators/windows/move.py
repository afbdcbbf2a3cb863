"""Move: a row goes to the time that one of its values names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator, shift
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import LIMIT


class Move(Operator):
    """`M'(X)@T+k :- M(X, T)`.

    Intervals: whenever a row holds, the row without its last column, T, holds at T+k alone. A T that is no whole number, or
    beyond what the timeline can hold, counts as a failed evaluation. State: what was sent beyond the frontier, for
    another time at which the row holds names the same T. Final: `back` behind the input's frontier, for no row goes
    further back from a time at which it holds.

    >>> move = Move(1, back=5)
    >>> move.receive(0, [(("a", 7), 7, 12), (("a", "seven"), 8, 8)], 12), move.frontier, move.failed_evaluations()
    ([(('a',), 8, 8)], 7, 1)
    """

    __slots__ = ("_by", "_failed", "back", "coverage")

    def __init__(self, by: int, back: int) -> None:
        super().__init__(1)
        self._by = by
        self.back = back
        self._failed = 0
        self.coverage = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        moved: list[Fact] = []
        for row, _, _ in facts:
            time = row[-1]
            if not isinstance(time, int) or not -LIMIT <= time + self._by <= LIMIT:
                self._failed += 1
                continue
            at = time + self._by
            moved.append((row[:-1], at, at))
        return self.coverage.insert(moved)

    def settle(self, port: int) -> list[Fact]:
        self.frontier = shift(self.frontiers[0], -self.back)
        return []

    def tidy(self) -> None:
        self.coverage.forget(self.frontier)

    def entries(self) -> int:
        return self.coverage.entries()

    def failed_evaluations(self) -> int:
        return self._failed

    def state(self) -> dict[str, Any]:
        return {"coverage": self.coverage.snapshot(), "failed": self._failed}

    def load(self, state: dict[str, Any]) -> None:
        self.coverage.restore(state["coverage"])
        self._failed = state["failed"]
