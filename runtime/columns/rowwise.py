"""A step that has no kernel over columns: its operator takes the rows of a stretch one by one."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.batch import Batch, batch_of, empty, joined
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.plan.plan import Step
from tidelog.runtime.columns.memory import ROW
from tidelog.runtime.network.deploy import build_operator


class Rowwise(Kernel):
    """The operator of a step, between two stretches of columns. Kept is what it holds, and what it told ahead of time."""

    def __init__(self, step: Step, timeline: Timeline, widths: Sequence[int], width: int, pool: Pool) -> None:
        super().__init__(widths, width, pool)
        self._operator = build_operator(step, timeline)
        self._beyond = empty(width)

    def advance(self, fresh: Sequence[Batch], frontiers: Sequence[int], frontier: int) -> Batch:
        told: list[Fact] = []
        for port, (batch, known) in enumerate(zip(fresh, frontiers, strict=True)):
            facts = batch.tidied(self.pool).facts(self.pool) if len(batch) else []
            facts.sort(key=lambda fact: fact[1])
            told += self._operator.receive(port, facts, known)
        self.failed = self._operator.failed_evaluations()
        found = joined([self._beyond, batch_of(told, self.width, self.pool)], self.width, self.pool)
        out, self._beyond = self.told(found, frontier)
        return out

    def held(self) -> Sequence[Batch]:
        return [self._beyond]

    def kept(self) -> int:
        return super().kept() + self._operator.entries()

    def size(self) -> int:
        return super().size() + self._operator.entries() * ROW
