"""Aggregate, where its input announces what goes on holding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.standing.spells import Spells, earlier
from tidelog.operators.stores.open_rows import OPEN
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import AggregateShape


class OpenAggregate(Aggregate):
    """`M'(G, A) ← A = f(V) over M in [n step d] by G`, with announcements at the port and in what it sends.

    Intervals: those of `Aggregate`. A row that goes on is counted from its begin on, and its group is looked at when it
    ends; in between nothing is done, but while a window fills with it, where that changes the value. State, beyond that of
    `Aggregate`: what comes, and the rows that go on (`Spells`). Final: as `Aggregate`.

    >>> from tidelog.operators.stores.open_rows import SHUT
    >>> op = OpenAggregate(AggregateShape("count", 0, 1, (), None), lambda row: ())
    >>> op.receive(0, [(("a",), 3, OPEN), (("b",), 5, OPEN)], 9)
    [((1,), 3, 4), ((2,), 5, 4611686018427387905)]
    >>> op.deadline(), op.receive(0, [(("b",), 5, SHUT), (("b",), 5, 11)], 12)
    (None, [((2,), 5, 4611686018427387906), ((2,), 5, 11), ((1,), 12, 12)])
    """

    __slots__ = ("spells",)

    def __init__(self, shape: AggregateShape, key: Callable[[Row], Row], back: int = 0) -> None:
        super().__init__(shape, key)
        self.spells = Spells(back)

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        for row, hi in self.spells.take(facts):
            group = self.groups.get(self._key(row))
            if group is not None:
                group.close(row, hi)
                if hi < POS:
                    self.note(group, self.first_end(hi + 1))
        return []

    def settle(self, port: int) -> list[Fact]:
        self.enter(self.spells.begun(self.frontiers[0]))
        return super().settle(port)

    def enter(self, begun: Sequence[Fact]) -> None:
        """Let groups know what has begun."""
        for row, lo, hi in begun:
            if hi == OPEN:
                self._open(row, lo)
        super().feed(0, [fact for fact in begun if fact[2] != OPEN])

    def _open(self, row: Row, lo: int) -> None:
        value = self.value_of(row)
        if self.takes(value):
            group = self.group(self._key(row))
            group.open(row, lo, value)
            self.note(group, self.first_end(lo))

    def deadline(self) -> tuple[int, int] | None:
        return earlier(super().deadline(), self.spells.deadline())

    def entries(self) -> int:
        return super().entries() + self.spells.entries()

    def state(self) -> dict[str, Any]:
        return {**super().state(), "spells": self.spells.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.spells.load(state["spells"])
