"""Hold: where a loop closes, what lies in the future waits until its time has come."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG


class Hold(Operator):
    """The edge on which a recursive component feeds itself.

    Rule form: none; the plan puts it behind a predicate of each cycle that moves through time. Intervals: a fact that
    begins at or before the bound passes; a later one waits in a heap until `release`. So `boxplus[1,1] p :- p` derives one
    step at a time as the stream goes on, instead of without end. Port 1, if there is one, is the clock of a loop that no
    stream feeds: it brings the watermark alone. State: what waits, each row and time once. Final: as its ports.

    >>> hold = Hold()
    >>> hold.release(5), hold.receive(0, [((), 4, 4), ((), 6, 6)], 4), hold.release(6)
    ([], [((), 4, 4)], [((), 6, 6)])
    """

    __slots__ = ("_count", "bound", "waiting")

    def __init__(self, ports: int = 1) -> None:
        super().__init__(ports)
        self.bound = NEG
        self._count = 0  # facts that begin together leave in order of arrival; rows need not be comparable
        self.waiting: list[tuple[int, int, Fact]] = []

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        bound = self.bound
        out = []
        for fact in facts:
            if fact[1] <= bound:
                out.append(fact)
            else:
                self._count += 1
                heappush(self.waiting, (fact[1], self._count, fact))
        return out

    def release(self, bound: int) -> list[Fact]:
        """Let everything pass that begins at or before `bound`, from now on too."""
        self.bound = max(self.bound, bound)
        out = []
        while self.waiting and self.waiting[0][0] <= self.bound:
            out.append(heappop(self.waiting)[2])
        self.sent += len(out)
        return out

    def next_begin(self) -> int | None:
        """When the first fact that waits begins, if any waits."""
        return self.waiting[0][0] if self.waiting else None

    def settle(self, port: int) -> list[Fact]:
        self.frontier = min(self.frontiers)
        return []

    def entries(self) -> int:
        return len(self.waiting)

    def state(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "waiting": [[list(fact[0]), fact[1], fact[2]] for *_, fact in sorted(self.waiting)],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.bound = state["bound"]
        self._count = len(state["waiting"])
        self.waiting = [(lo, i, (tuple(row), lo, hi)) for i, (row, lo, hi) in enumerate(state["waiting"])]
