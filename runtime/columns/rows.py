"""A plan that columns cannot carry, row by row over the same stretches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

from tidelog.operators.columns.batch import Batch, batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.course import Course, Coverage
from tidelog.runtime.columns.memory import ROW, Held, of_step
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.ports.interfaces import Batch as Records
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

_begin = itemgetter(2)


class RowCourse(Course):
    """A reasoner in the place of kernels. What begins together comes in the order of the predicates' names."""

    def __init__(self, plan: Plan, pool: Pool, *, emit: EmitMode = "intervals", start: int | None = None) -> None:
        super().__init__(plan, pool)
        self._reasoner = Reasoner(plan, Settings(emit=emit, max_state=None))
        self._reasoner.begin_at(start)

    def advance(self, fresh: Mapping[str, Batch], watermark: int) -> Coverage:
        found: dict[str, list[Fact]] = {name: [] for name in self.plan.outputs}
        for name, row, lo, hi in self.tell(fresh, watermark):
            found[name].append((row, lo, hi))
        return {name: batch_of(facts, self.widths[name], self.pool) for name, facts in found.items()}

    def tell(self, fresh: Mapping[str, Batch], watermark: int) -> list[Record]:
        records = [(name, *fact) for name, batch in sorted(fresh.items()) for fact in batch.facts(self.pool)]
        records.sort(key=_begin)
        if watermark >= POS:
            self._reasoner.take(SOURCE, Records(records))
            self._reasoner.end(SOURCE)
        else:
            self._reasoner.take(SOURCE, Records(records, watermark=watermark))
        return self._reasoner.pull_records()

    def held(self) -> Iterable[Held]:
        size = self._reasoner.statistics().entries * ROW
        return [of_step(size, lambda: ("the rules, which go row by row", ""))]

    def statistics(self) -> dict[str, OperatorStatistics]:
        return self._reasoner.statistics().steps

    def pull_violations(self) -> list[Violation]:
        return self._reasoner.pull_violations()
