"""A run over sources that end and are there as a whole: their facts go through the plan in columns.

What is told, refused and counted is what `Runner` tells, refuses and counts. Sinks are actors as there, so that one that
is slow slows down the reading.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint

from tidelog.operators.columns.arrays import Array
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import format_atom
from tidelog.plans.diagnostics.errors import StateError
from tidelog.plans.plan.feeds import ports_fed_by
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.actors.dead_letters import Letters
from tidelog.runtime.actors.direct import Direct
from tidelog.runtime.actors.supervision import RestartPolicy, SinkActor
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.memory import Memory
from tidelog.runtime.columns.stretches import STRETCH, Block, Stretches, blocks_of
from tidelog.runtime.frames.columns import ColumnBatch
from tidelog.runtime.intake.intake import IntakeStatistics
from tidelog.runtime.migration.changing import Becoming
from tidelog.runtime.ports.interfaces import PlainTimes, Rejected, Sink, SinkStatistics, WritesTimes
from tidelog.runtime.running.runner import GRACE
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.settings import Settings
from tidelog.runtime.sessions.statistics import SessionStatistics

logger = logging.getLogger("tidelog")

OpenHistory = Callable[[Pool], Iterable[ColumnBatch]]
"""The facts of a source, block by block, their texts as codes of a pool."""


class Progress(AbstractContextManager[object], Protocol):
    """Shows how far a run has come, as long as it is entered."""

    def rows(self, number: int) -> None:
        """So many facts have been taken so far."""


class HistoryRunner:
    """Runs a plan over histories. Building it starts nothing; ValueError for a plan that columns cannot carry."""

    is_storing = False

    def __init__(
        self,
        plan: Plan,
        histories: Sequence[OpenHistory],
        sinks: Sequence[Sink],
        settings: Settings,
        run: RunSettings,
        memory: Memory | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.plan = plan
        self._histories = histories
        self._letters = Letters(run.dead_letters, run.observer)
        policy = RestartPolicy() if run.restarts is None else run.restarts
        self._sinks = [SinkActor(sink, policy, self._letters.give_up) for sink in sinks]
        encoded = settings.encoded(plan.timeline)
        self._lateness, self._most = encoded.lateness, settings.max_state
        self._progress = progress
        self._memory = Memory() if memory is None else memory
        self._course = ColumnCourse(plan, Pool(), emit=settings.emit, start=encoded.start, memory=self._memory)
        self._used = frozenset(ports_fed_by(plan, "stream"))
        self._on_violation = run.on_violation
        self._times: WritesTimes = PlainTimes(plan.timeline)
        self._refused: list[Rejected] = []
        self._accepted = self._late = self._violations = 0
        self._unused: dict[str, int] = {}
        self._is_stopped = False
        self._grace = math.inf
        self._scope: anyio.CancelScope | None = None

    async def run(self) -> None:
        """Run to the end; the errors are those of `Runner.run`."""
        with nullcontext() if self._progress is None else self._progress:
            await self._run()

    async def _run(self) -> None:
        way = Direct({}, self._sinks)
        await way.begin()
        cause: BaseException | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._grace) as self._scope:
                async with anyio.create_task_group() as tasks:
                    for sink in self._sinks:
                        tasks.start_soon(sink.run, way.feed(sink), name=sink.name)
                    await self._go_through(way)
                    way.close()
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        finally:
            way.close()
        if isinstance(cause, StateError):
            cause.accepted, cause.told = self._accepted, way.stored
        if cause is not None:
            raise cause
        if self._scope is not None and self._scope.cancelled_caught:
            logger.warning("not all answers were taken before the engine stopped")

    async def changes(self) -> list[Becoming]:
        """Nothing: a history leaves no state that another program could go on from."""
        return []

    async def _go_through(self, way: Direct) -> None:
        course = self._course
        stretches = Stretches(
            self.plan.timeline,
            [self._read(history) for history in self._histories],
            course.pool,
            self._lateness,
            self._refuse,
            self._memory.rows(self.plan.schema, STRETCH),
            follows_time=self.plan.follows_time,
        )
        for stretch in stretches:
            self._memory.count([*course.held(), stretches.held()], course.pool)
            way.tell(course.tell(stretch.fresh, stretch.watermark), stretch.watermark)
            for violation in course.pull_violations():
                self._violations += 1
                if self._on_violation is not None:
                    self._on_violation(violation)
            refused, self._refused = self._refused, []
            if refused:
                await self._letters.reject(refused)
            await way.pass_on()
            course.check_room(self._most)
            if self._progress is not None:
                self._progress.rows(self._accepted + sum(self._unused.values()))
            await checkpoint()
            if self._is_stopped:
                return

    def _read(self, history: OpenHistory) -> Iterator[Block]:
        for block in blocks_of(history(self._course.pool)):
            for batch in block:
                self._refused += batch.rejected
                if batch.predicate in self._used:
                    self._accepted += len(batch)
                elif len(batch):
                    self._unused[batch.predicate] = self._unused.get(batch.predicate, 0) + len(batch)
            yield block

    def _refuse(self, batch: ColumnBatch, places: Array, earliest: Array) -> None:
        """These facts are late."""
        self._late += len(places)
        self._accepted -= len(places) if batch.predicate in self._used else 0
        facts = batch.rows.take(places).facts(self._course.pool)
        for place, least, (row, lo, hi) in zip(places.tolist(), earliest.tolist(), facts, strict=True):
            reason = f"late: facts before {self._times.point(least)} can no longer come"
            text = f"{format_atom(batch.predicate, row)}@{self._times.at(lo, hi)}"
            record = (batch.predicate, row, lo, hi)
            self._refused.append(Rejected(batch.place(place), reason, text.encode(), record))

    def stop(self, grace: float = GRACE) -> None:
        """Read nothing more; what is in flight goes on to the sinks. To be called within the event loop."""
        self._is_stopped = True
        self._grace = grace
        if self._scope is not None:
            self._scope.deadline = min(self._scope.deadline, anyio.current_time() + grace)

    @property
    def rejected(self) -> int:
        """How many records of the sources could not be used."""
        return self._letters.rejected

    def intake_statistics(self) -> IntakeStatistics:
        """Counts of facts so far."""
        frontier = self._course.watermark
        unused = sum(self._unused.values())
        return IntakeStatistics(self._accepted, unused, self._late, unused_names=dict(self._unused), frontier=frontier)

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done, and what is kept."""
        return SessionStatistics(self.intake_statistics(), self._course.statistics(), self._violations)

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]:
        """For each sink, with its name, what is not certain of its answers."""
        return [(sink.name, sink.statistics()) for sink in self._sinks]

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went."""
        return self._course.unfinished()

    def write_times(self, times: WritesTimes) -> None:
        """Write times so in what is said of facts that are refused. To be called before `run`."""
        self._times = times
