"""A durable run: what is answered, what has been read, and the state in between, stored together.

The sources are actors, as in the engine; the operators run in a session, since only between two of its batches is there a
state that belongs to exactly what has been read and told. At each commit the log gets the answers since the last one, and a
checkpoint: the session's snapshot, and where each source stood behind the last batch that the session took. All of it is
stored, or nothing. A run that was killed goes on from the last commit: what came after it, nobody has seen, and it is
derived again from sources that can be read again. Of the others (sockets, pipes), what was read since is lost.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream

from tidelog.plans.errors import ConnectorError, DataError, SnapshotError, SpecError, StateError
from tidelog.plans.plan import Plan
from tidelog.plans.printing import format_program
from tidelog.plans.saved import Saved
from tidelog.plans.stopping import Stopped
from tidelog.plans.times import TimeLike, TimeReader
from tidelog.runtime.alignment import Alignment
from tidelog.runtime.arguments import AtEnd, check_at_end
from tidelog.runtime.channels import Channel
from tidelog.runtime.clock import Clock, start_sources
from tidelog.runtime.engine import GRACE, first_cause
from tidelog.runtime.intake import MAX_LEAD, IntakeStatistics
from tidelog.runtime.interfaces import (
    AnswerLog,
    Batch,
    DeadLetters,
    EmitMode,
    Listener,
    Rejected,
    Replayable,
    SinkStatistics,
    Source,
    Tick,
)
from tidelog.runtime.listening import Sources
from tidelog.runtime.session import Session, SessionStatistics
from tidelog.runtime.silence import check_seconds
from tidelog.runtime.state_bound import MAX_STATE
from tidelog.runtime.supervision import RestartPolicy, SourceEvent
from tidelog.runtime.violations import Violation

logger = logging.getLogger("tidelog")

EVERY = 1.0
"""How many seconds lie between two commits unless told otherwise."""
MAX_PENDING = 50_000
"""With how many answers a commit no longer waits for its time."""
_PAUSE = 9
"""A commit is followed by a pause of so many times its own length at least: it costs a tenth of the time at most."""
_ROOM_INTERVAL = 0.05
"""How often, in seconds, a full log is asked for room."""
_VERSION = 2


def fingerprint(plan: Plan) -> str:
    """What tells this plan from another: a hash of its program as printed, and of the facts that it begins with."""
    digest = sha256(format_program(plan.program).encode())
    for record in plan.facts:
        digest.update(repr(record).encode())
    return digest.hexdigest()


class _Standing(Saved):
    """Where a source stands: its last position, if it has one, or that it has ended."""

    name: str
    position: dict[str, Any] | None = None
    ended: bool = False


class _Options(Saved):
    """What may not change from one run to the next."""

    emit: str
    prospects: bool
    start: int | None


class _Checkpoint(Saved):
    version: int
    options: _Options
    sources: list[_Standing]
    session: dict[str, Any]


class DurableRun:
    """Runs a plan from sources into a log until every source has ended, or `stop` is called; goes on where the log stands.

    The options are those of `Engine`; `every` is how many seconds lie between two commits. A log that has no room holds back
    the sources, or stops the run, as it says itself.
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        plan: Plan,
        sources: Sequence[Source | Listener],
        log: AnswerLog,
        *,
        emit: EmitMode = "intervals",
        lateness: TimeLike | timedelta = 0,
        start: TimeLike | None = None,
        max_ahead: TimeLike | timedelta | None = None,
        max_lead: int = MAX_LEAD,
        idle_after: float | None = None,
        dead_letters: DeadLetters | None = None,
        on_violation: Callable[[Violation], None] | None = None,
        restarts: RestartPolicy | None = None,
        prospects: bool = True,
        every: float = EVERY,
        at_end: AtEnd = "finish",
        clock: TimeLike | timedelta | None = None,
        now: Callable[[], float] = time.time,
        max_state: int | None = MAX_STATE,
    ) -> None:
        check_seconds("every", every)
        check_at_end(at_end)
        self._at_end = at_end
        self._ignores_silence = idle_after is not None
        self._clock = None if clock is None else Clock(plan.timeline, clock, now)
        self.plan = plan
        policy = RestartPolicy() if restarts is None else restarts
        self._sources = list(sources)
        self._actors = Sources(sources, policy, idle_after)
        self._standings = {name: _Standing(name) for name in self._actors.names}
        self._options = _Options(emit, prospects, None if start is None else TimeReader(plan.timeline).point(start))
        self._session = Session(
            plan,
            emit=emit,
            lateness=lateness,
            start=start,
            max_ahead=max_ahead,
            max_lead=max_lead,
            prospects=prospects,
            sources=list(self._standings),
            max_state=max_state,
        )
        self._alignment = Alignment(self._session.watermarks, self._actors.actors, max_lead)
        self._stored = 0
        self._log = log
        self._every = every
        self._dead_letters = dead_letters
        self._on_violation = on_violation
        self._turn: anyio.Lock
        self._cost = 0.0
        self._is_changed = True
        self._is_stopping = self._is_full = self._is_broken = False
        self._until = math.inf
        self.is_storing = False  # a commit is not to be interrupted: it is short, and what it stores belongs together
        self.rejected = 0

    async def run(self) -> None:
        """Run to the end; SpecError or SnapshotError where the log is that of another run, and what `Engine.run` raises."""
        await self._resume()
        self._turn = anyio.Lock()
        cause: BaseException | None = None
        events: Channel[SourceEvent] = Channel()
        try:
            async with anyio.create_task_group() as tasks:
                going_on = [actor for actor in self._actors.fixed if not self._standings[actor.name].ended]
                start_sources(tasks, going_on, self._actors.actors, events, self._clock)
                events.seal()
                tasks.start_soon(self._keep_committing)
                tasks.start_soon(self._alignment.watch)
                await self._take_all(events.inbox)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        finally:
            await self._take_rest(events.inbox)
            await self._commit()
        if isinstance(cause, Stopped):
            logger.warning("stopped within a batch: what was taken since the last commit is not stored")
        if isinstance(cause, StateError):
            cause.told = self._stored
        if cause is not None:
            raise cause
        if self._is_full:
            raise ConnectorError(f"outbox `{self._log.name}` is full: what it holds has not been acknowledged")

    def stop(self, grace: float = GRACE) -> None:
        """Shut down cleanly: take nothing more from the sources, and commit what was taken. Within the event loop.

        What the sources have said by now is taken, too, as far as `grace` seconds are enough.
        """
        self._is_stopping = True
        self._until = min(self._until, anyio.current_time() + grace)
        if self._clock is not None:
            self._clock.stop()
        self._actors.stop()

    def intake_statistics(self) -> IntakeStatistics:
        """The intake's part of `statistics`, which is there at once, and also after a failure."""
        return self._session.intake_statistics()

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done, in earlier runs, too, and what is stored."""
        return self._session.statistics()

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went, or as it was told to."""
        return self._session.unfinished() if self._session.is_finished else []

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]:
        """No sink can break: what the log has, it keeps."""
        return []

    # --- going on -------------------------------------------------------------------------------------------------------

    async def _resume(self) -> None:
        """Go on from the log's last checkpoint, if there is one."""
        stored = self._log.checkpoint()
        if stored is None:
            return
        try:
            checkpoint = msgspec.msgpack.decode(stored, type=_Checkpoint)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise SnapshotError(f"outbox `{self._log.name}`: its checkpoint is damaged: {error}") from error
        self._check_same(checkpoint)
        self._session.restore(checkpoint.session)
        self._standings = {standing.name: standing for standing in checkpoint.sources}
        self._is_changed = False
        for name in self._session.watermarks.temporary():
            self._session.end(name)
        for source, standing in zip(self._sources, checkpoint.sources, strict=True):
            await self._resume_source(source, standing)

    def _check_same(self, checkpoint: _Checkpoint) -> None:
        """SpecError unless the log belongs to a run with the same sources and options."""
        if checkpoint.version != _VERSION:
            raise SpecError(f"outbox `{self._log.name}` was filled by another version of tidelog")
        before, now = [standing.name for standing in checkpoint.sources], list(self._standings)
        if before != now:
            told = ", ".join(name.partition(":")[2] for name in before)
            raise SpecError(f"outbox `{self._log.name}` was filled from {told}: go on with the same sources, in this order")
        for name in _Options.__struct_fields__:
            if getattr(checkpoint.options, name) != getattr(self._options, name):
                raise SpecError(f"outbox `{self._log.name}` was filled with another `{name}`: go on with the same")

    async def _resume_source(self, source: Source | Listener, standing: _Standing) -> None:
        can_replay = isinstance(source, Replayable) and source.is_replayable
        if standing.ended:
            if self._session.is_finished and not can_replay:
                raise SpecError(f"the stream of outbox `{self._log.name}` has ended: choose another directory")
            logger.warning("%s: has ended in an earlier run, and is not read again", source.name)
        elif standing.position is not None:
            if not isinstance(source, Replayable):
                raise SpecError(f"{source.name}: was read from a file before: go on with the same sources")
            try:
                await anyio.to_thread.run_sync(source.resume, standing.position, abandon_on_cancel=True)
            except DataError as error:
                raise SnapshotError(f"outbox `{self._log.name}`: its checkpoint is damaged: {error}") from error

    # --- taking ---------------------------------------------------------------------------------------------------------

    async def _take_all(self, inbox: MemoryObjectReceiveStream[SourceEvent]) -> None:
        """Take what the sources say, until they have ended or are stopped; none of it while the log has no room."""
        while not self._is_late():
            await self._wait_for_room()
            try:
                event = await inbox.receive()
            except anyio.EndOfStream:
                return
            with anyio.CancelScope(shield=True):  # what has left the channel is taken, though all stop
                async with self._turn:
                    if not self._is_broken:
                        await self._reject(self._take(*event))
                    if self._log.pending >= MAX_PENDING:
                        await self._commit()

    async def _take_rest(self, inbox: MemoryObjectReceiveStream[SourceEvent]) -> None:
        """Where a source has failed for good, what the others and it had said by then still counts."""
        with inbox, anyio.CancelScope(shield=True):
            while not self._is_broken and not self._is_late():
                try:
                    event = inbox.receive_nowait()
                except (anyio.EndOfStream, anyio.WouldBlock):
                    return
                await self._reject(self._take(*event))

    def _is_late(self) -> bool:
        """Whether what the sources have said is left there, since the run was to have stopped by now."""
        return anyio.current_time() >= self._until

    def _take(self, name: str, event: Batch | Tick | str, moment: float) -> list[Rejected]:
        """Let the session take it, and note where the source now stands; returns what was refused of it."""
        self._is_broken = True  # until all of it is taken, the state belongs to no position
        refused: list[Rejected] = []
        standing = self._standings.get(name)  # a source that has come while the run goes on has none: it cannot come again
        if isinstance(event, Tick):
            self._session.pass_time(event)
        elif isinstance(event, Batch):
            refused = [*event.rejected, *self._session.take(name, event, moment)]
            if standing is not None:
                standing.position = event.position
        elif event == "opened":
            self._session.open(name)
        elif event == "ended" and (self._at_end == "finish" or standing is None):
            refused = self._session.end(name)
            if standing is not None:
                standing.ended = True
        elif event == "ended":
            self._alignment.leave(name)
            refused = self._session.leave(name) if self._ignores_silence else []
        else:
            refused = self._session.ignore(name, moment)
        self._alignment.taken(name)
        has_told = self._pull()
        # a clock that has nothing to tell costs no commit: it goes on from where it then stands
        self._is_broken, self._is_changed = False, self._is_changed or has_told or not isinstance(event, Tick)
        return refused

    def _pull(self) -> bool:
        """Hand the session's answers to the log, and tell what is violated; returns whether there was an answer."""
        told = self._session.pull_records()
        self._log.append(told, self._session.frontier)
        for violation in self._session.pull_violations():
            if self._on_violation is not None:
                self._on_violation(violation)
        return bool(told)

    async def _reject(self, rejected: list[Rejected]) -> None:
        self.rejected += len(rejected)
        if not rejected or self._dead_letters is None:
            return
        try:
            await self._dead_letters.send(rejected)
        except OSError as error:  # a bad record is never fatal, nor is a full disk beside the stream
            logger.warning("dead letters cannot be written any more: %s", error)
            self._dead_letters = None

    async def _wait_for_room(self) -> None:
        """Wait until the log can take more, or stop where it says so."""
        while not self._is_stopping:
            async with self._turn:
                if self._log.has_room():
                    return
                if self._log.pending:  # let it be seen, so that it can be acknowledged
                    await self._commit()
            if self._log.full == "stop":
                self._is_full = True
                self.stop()
            else:
                await anyio.sleep(_ROOM_INTERVAL)

    # --- committing -----------------------------------------------------------------------------------------------------

    async def _keep_committing(self) -> None:
        while True:
            async with self._turn:
                self._log.check()
                await self._commit()
            await anyio.sleep(max(self._every, _PAUSE * self._cost))

    async def _commit(self) -> None:
        """Store what has changed since the last commit; nothing any more once an operator, or storing, has failed."""
        if not self._is_changed or self._is_broken:
            return
        self._is_broken = self.is_storing = True  # unless it succeeds
        began = anyio.current_time()
        try:
            self._pull()  # what follows from the program's own facts, at the beginning
            checkpoint = _Checkpoint(_VERSION, self._options, list(self._standings.values()), self._session.snapshot())
            pending = self._log.pending
            with anyio.CancelScope(shield=True):  # what is taken is stored, though all stop
                await anyio.to_thread.run_sync(self._log.commit, msgspec.msgpack.encode(checkpoint))
            self._stored += pending
        finally:
            self.is_storing = False
        self._cost = anyio.current_time() - began
        self._is_changed = self._is_broken = False
