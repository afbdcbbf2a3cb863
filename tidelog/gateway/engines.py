"""One program of a gateway while it runs: its engine, its ends, and who listens in on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskStatus

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.http.desk.acting import ShowsAlarms
from tidelog.connectors.http.watching.devices import PostedTo
from tidelog.connectors.http.watching.watch import KEPT_FACTS, Watch
from tidelog.connectors.mapping.messages import HearsMessages, Message, write_recorded
from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.outbox.sink import OutboxSink
from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
from tidelog.connectors.sinks.explaining import Explaining
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.connectors.transport.links import Linked
from tidelog.gateway.building import Unit
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.listening.observing import Observers, TapObserver, TracedObservers, TracesSinks
from tidelog.gateway.listening.step_taps import StepTaps
from tidelog.gateway.listening.taps import Taps
from tidelog.gateway.outboxes import close_outboxes
from tidelog.gateway.reasons import Reasons
from tidelog.runtime.actors.clock import read_max_ahead
from tidelog.runtime.actors.supervision import RestartPolicy
from tidelog.runtime.durable.hot import Hot
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.actors import read_actors
from tidelog.runtime.ports.durability import Backlog, Keep, SinkLimits
from tidelog.runtime.ports.interfaces import Observer
from tidelog.runtime.running.runner import GRACE, Runner
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.settings import Settings

logger = logging.getLogger("tidelog")

PATIENCE = RestartPolicy(attempts=1_000_000_000, delay=0.5, longest=60.0)
"""A gateway tries for ever: what it is connected to may be away for days."""


class Running:
    """Runs one program until it is stopped, or its sources have ended; with a `store`, from where an earlier run has come.

    `watch` shows it over HTTP, `tracing` makes spans of what it does.
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        unit: Unit,
        settings: GatewaySettings,
        letters: DeadLetterWriter,
        taps: Taps,
        *,
        watch: Watch | None = None,
        store: StateDirectory | None = None,
        outboxes: Mapping[str, Outbox] | None = None,
        tracing: TracesSinks | None = None,
    ) -> None:
        self._tracing = tracing
        self.unit, self._settings, self._taps, self._watch, self._store = unit, settings, taps, watch, store
        self._outboxes = outboxes or {}
        self._times = TimeFormatter(unit.plan.timeline, settings.iso and unit.plan.timeline.unit is not None)
        self._ended = anyio.Event()
        self._mapped = []
        for name, source in unit.sources.items():
            if isinstance(source, HearsMessages):
                source.on_messages = partial(self._pass_on, name)
                self._mapped.append(name)
        for sink in unit.sinks.values():
            if isinstance(sink, ShowsAlarms) and watch is not None:
                sink.show_of(watch)
        if watch is not None:
            ends = (*unit.sources.items(), *unit.sinks.items())
            watch.links = {name: end for name, end in ends if isinstance(end, Linked)}
            watch.devices = [source for source in unit.sources.values() if isinstance(source, PostedTo)]
        explaining = [sink for sink in unit.sinks.values() if isinstance(sink, Explaining) and sink.asks_why]
        self.engine = self._make(letters, remembers=watch is not None or bool(explaining))
        self.engine.write_times(self._times)
        for sink in explaining:
            sink.explain_by(Reasons(self.engine, self._times.at).why)
        prefix = f"{unit.settings.name}:" if len(settings.programs) > 1 else ""
        listen = self.engine.listen
        self._steps = StepTaps(unit.plan, taps, listen, self._times, taken=self._ends(), prefix=prefix)

    def _make(self, letters: DeadLetterWriter, *, remembers: bool) -> Runner:
        program, limits = self.unit.settings, self._settings.limits
        sources = list(self.unit.sources.values())
        if self._watch is not None and self._settings.http is not None and self._settings.http.ingest:
            sources.append(self._watch.ingest)
        if self._watch is not None and self.unit.plan.alarms:
            sources.append(self._watch.desk.actions)
        sinks = [
            *self.unit.sinks.values(),
            *[OutboxSink(outbox, name, self.unit.plan.spoken) for name, outbox in self._outboxes.items()],
        ]
        settings = Settings(
            emit=program.emit,
            lateness=program.lateness,
            max_ahead=read_max_ahead(program.max_ahead),
            max_state=limits.rows,
            remember=KEPT_FACTS if remembers else 0,
        )
        run = RunSettings(
            clock=program.clock,
            idle_after=program.idle_after,
            dead_letters=letters,
            on_violation=self._violated,
            restarts=PATIENCE,
            at_end="finish" if self._store is None else "stop",
            state=self._store,
            commit_every=self._settings.commit_every,
            keep=Keep(limits.journal_seconds, limits.journal_bytes),
            backlog=Backlog(limits.owed_bytes, limits.when_full, self._sink_limits()),
            reload="drop" if self._settings.when_program_changes == "drop" else "refuse",
            observer=self._observer(),
            held=self._watch is not None,
            workers=program.workers,
            actors=read_actors(program.actors, program.workers),
            supervision=self._supervision(),
        )
        return Runner(self.unit.plan, sources, sinks, settings, run)

    def _supervision(self) -> Supervision:
        """What becomes of actors that fail."""
        told = self._settings.supervision
        return Supervision(
            told.strategy, told.restarts, told.within, told.poisons, told.worker_bytes, told.spares, told.answers_within
        )

    def _sink_limits(self) -> dict[str, SinkLimits]:
        """What sinks are spared, by the names that the engine knows."""
        names = {name: sink.name for name, sink in self.unit.sinks.items()}
        return {names.get(name, name): limits for name, limits in self.unit.limits.items()}

    def _observer(self) -> Observers:
        """Those who are told what the engine does."""
        names = [f"{name} facts" if name in self._mapped else name for name in self.unit.sources]
        taps = TapObserver(self._taps, self.unit.plan, names, self.unit.choices, iso=not self._times.is_plain)
        observers: list[Observer] = [taps] if self._watch is None else [self._watch, taps]
        sinks = self.unit.sinks.values()
        return Observers(observers, sinks) if self._tracing is None else TracedObservers(observers, sinks, self._tracing)

    @property
    def tapped(self) -> list[str]:
        """What there is to listen to: of a source that has messages these, and its facts."""
        return [*self._ends(), *self._steps.names.values()]

    def _ends(self) -> list[str]:
        return [*self.unit.sources, *[f"{name} facts" for name in self._mapped], *self.unit.choices]

    @property
    def is_storing(self) -> bool:
        """Whether something is being stored, so that nobody should interrupt."""
        return self.engine.is_storing

    async def stand_by(self) -> Hot | None:
        """Come to where the state stands, and follow what another process commits to it, until this one is to `run`.

        None where nothing is stored yet, or by another program. The page shows what is followed.
        """
        self._attach()
        return await self.engine.stand_by()

    def discard(self) -> None:
        """Give up what was never run, and its state."""
        self.leave()
        if self._store is not None:
            self._store.close()

    def leave(self) -> None:
        """Give up what was never run, but for its state."""
        self.engine.give_up()

    def _attach(self) -> None:
        if self._watch is not None:
            by_clock = self.unit.settings.clock is not None
            self._watch.attach(self.engine, is_durable=self._store is not None, goes_by_clock=by_clock)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run; says that it has started once its state is restored. Raises what the engine raises."""
        self._attach()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._wait_started, task_status)
                await self.engine.run()
                tasks.cancel_scope.cancel()
        except BaseException:
            if self._watch is not None:
                self._watch.failed()
            raise
        finally:
            self._steps.stop()
            if self._watch is not None:
                self._watch.is_ready = False
            close_outboxes(self._outboxes)
            if self._store is not None:
                self._store.close()
            self._ended.set()

    async def _wait_started(self, task_status: TaskStatus[None]) -> None:
        await self.engine.wait_started()
        if self._watch is not None:
            self._watch.is_ready = True
        self._steps.start(self.engine.plan)
        task_status.started()

    def stop(self, grace: float) -> None:
        """Take nothing more, and tell what is in flight."""
        self.engine.stop(grace)

    async def end(self) -> None:
        """Stop, and wait until that is done."""
        self.stop(GRACE)
        await self.wait_ended()

    async def wait_ended(self) -> None:
        """Wait until it has ended, for whatever reason."""
        await self._ended.wait()

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    @property
    def has_set_aside(self) -> bool:
        """Whether an actor was set aside."""
        return bool(self.engine.set_aside())

    def show(self, show: Callable[[Any], None]) -> None:
        """Show what has been done."""
        show(self.engine)

    def _pass_on(self, name: str, messages: Sequence[Message]) -> None:
        self._taps.pass_on(name, messages, _recorded)

    def _violated(self, violation: Violation) -> None:
        logger.warning("%s", violation.told(self._times.at(violation.lo, violation.hi)))
        if self._watch is not None:
            self._watch.violated(violation)


def _recorded(messages: Sequence[Message]) -> bytes:
    return b"".join(map(write_recorded, messages))
