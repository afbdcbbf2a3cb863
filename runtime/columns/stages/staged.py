"""A stage of a program over history, in columns: what runs for each bucket, where the stage's plan allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch, batch_of, joined
from tidelog.operators.columns.pool import Pool
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.telling import telling
from tidelog.runtime.ports.interfaces import StageAnswers, StageHistory, StageMode
from tidelog.runtime.sessions.staged import open_stage

STRETCH = 1 << 16
"""So many facts are gathered before the steps go through them: a worker holds them beside what its steps keep."""
_name = itemgetter(0)
_begin = itemgetter(1)


def open_history(
    stage: Stage,
    owns: Callable[[Value], bool],
    *,
    emit: StageMode = "intervals",
    start: int | None = None,
    stretch: int = STRETCH,
) -> StageHistory:
    """A stage over history, for the values of its key that it owns: in columns where its plan allows it, else row by row."""
    if stage.asked is not None or refused(stage.plan) is not None or _goes_on(stage.plan):
        return open_stage(stage, owns, emit=emit, start=start)
    return StageCourse(stage, owns, emit=emit, start=start, stretch=stretch)


def _goes_on(plan: Plan) -> bool:
    """Whether a recursion moves into the future. How far one without an end is followed, each session tells by its facts."""
    return any(loop.holds for loop in plan.loops)


class StageCourse:
    """Implements `runtime.frames.stages.ColumnHistory`: what is told follows once a stretch has been gathered."""

    def __init__(
        self,
        stage: Stage,
        owns: Callable[[Value], bool],
        *,
        emit: StageMode,
        start: int | None,
        stretch: int,
    ) -> None:
        self._stage, self._owns, self._stretch = stage, owns, stretch
        self.pool = Pool()
        self._course = ColumnCourse(stage.plan, self.pool, start=start)
        self._telling = telling(emit, stage.told, self.pool)
        self._gathered: list[Record] = []
        self._columns: dict[str, list[Batch]] = {}
        self._fresh = self._late = 0
        self._passed: list[tuple[str, Batch]] = []
        self._answers = StageAnswers()

    def take(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """Take facts, named as the stage's program names them; over history none is late."""
        self._gathered += records
        self._fresh += len(records)
        return []

    def take_columns(self, name: str, batch: Batch) -> None:
        """Take facts of one predicate, named as the stage's program names it."""
        self._columns.setdefault(name, []).append(batch)
        self._fresh += len(batch)

    def advance(self, watermark: int) -> None:
        """All facts up to the watermark are there."""
        if self._fresh >= max(self._stretch, self._late // 2):  # so that what waits is not looked at over and over
            self._go_on(watermark)

    def finish(self, last: int | None) -> None:
        """All facts are there; what recurs without an end is followed up to the `last` fact's begin."""
        if last is not None:
            self._go_on(last if self._stage.plan.timeline.is_integer else last + 1)
        self._go_on(POS)
        self._answers.told += self._telling.finish()

    def pull(self) -> StageAnswers:
        """What became known since the last call."""
        answers, self._answers = self._answers, StageAnswers()
        for name, batch in self.pull_columns():
            facts = batch.facts(self.pool)
            facts.sort(key=_begin)
            answers.passed += [(name, *fact) for fact in facts]
        return answers

    def pull_columns(self) -> list[tuple[str, Batch]]:
        """The facts for later stages that became known since the last call."""
        passed, self._passed = self._passed, []
        return passed

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went."""
        return self._course.unfinished()

    def _go_on(self, watermark: int) -> None:
        """Go through what begins at or before the watermark."""
        said = self._course.advance(self._due(watermark), watermark)
        for name in self._stage.outputs:
            if name in said:
                self._tell(name, rows_owned(self._stage, self._owns, name, said[name], self.pool))
        for found in self._course.pull_violations():
            self._answers.violations.append((found.rule, found.facts, found.during, found.lo, found.hi))

    def _due(self, watermark: int) -> dict[str, Batch]:
        """The facts that begin at or before the watermark; the others wait."""
        self._gathered.sort(key=_name)
        for name, records in groupby(self._gathered, _name):
            facts: list[Fact] = [record[1:] for record in records]
            self._columns.setdefault(name, []).append(batch_of(facts, len(facts[0][0]), self.pool))
        due, columns = dict[str, Batch](), self._columns
        self._gathered, self._columns, self._fresh, self._late = [], {}, 0, 0
        for name, batches in columns.items():
            due[name], later = joined(batches, batches[0].width, self.pool).parted(watermark)
            if len(later):
                self._columns[name] = [later]
                self._late += len(later)
        return due

    def _tell(self, name: str, batch: Batch) -> None:
        batch = batch.tidied(self.pool)
        self._passed.append((name, batch))
        if name in self._stage.told:
            self._answers.told += self._telling.receive(name, batch, self._course.reached(name))


def rows_owned(stage: Stage, owns: Callable[[Value], bool], name: str, batch: Batch, pool: Pool) -> Batch:
    """What of an output is about keys that a session owns, if it shows one."""
    key = stage.key
    if key is None or name not in key or not len(batch):
        return batch
    values, places = np.unique(batch.columns[key[name]], return_inverse=True)
    is_own = np.array(list(map(owns, pool.listed(values))), np.bool_)
    return batch if is_own.all() else batch.take(is_own[places])
