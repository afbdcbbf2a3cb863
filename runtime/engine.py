"""The engine: sources and sinks as actors, with a session between them in a task of its own, on trio or asyncio.

The operators run to completion in one task, since tasks on one thread gain nothing from each other. The session takes all
that waits at once, so batches grow under load; a lone event it takes in the turn of its source, while nothing else waits.
Answers go to the sinks through channels (`runtime/actors/direct.py`), so that a slow sink slows down the sources. In a run
with a state they go through a ledger (`runtime/durable/ledger.py`), which first stores them, and the input.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from tidelog.plans.data.facts import Record
from tidelog.plans.data.times import TimeLike
from tidelog.plans.diagnostics.errors import ConnectorError, StateError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import Status
from tidelog.runtime.actors.alignment import Alignment
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.actors.clock import NAME, Clock, ahead_of, start_sources
from tidelog.runtime.actors.dead_letters import Letters
from tidelog.runtime.actors.direct import Direct
from tidelog.runtime.actors.listening import Sources
from tidelog.runtime.actors.silence import check_seconds
from tidelog.runtime.actors.supervision import Rest, RestartPolicy, SinkActor, SourceEvent
from tidelog.runtime.corrections.taking_back import check_corrections, check_takes_back, pieces_of
from tidelog.runtime.corrections.taking_back import refused as refused_retractions
from tidelog.runtime.durable.ledger import EVERY, Ledger
from tidelog.runtime.durable.reloading import Reload, check_reload
from tidelog.runtime.durable.storing import Ends, Storing
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.arguments import AtEnd, check_at_end
from tidelog.runtime.intake.intake import MAX_LEAD, IntakeStatistics
from tidelog.runtime.journal.events import Ended, Event, Ignored, Left, Opened, Passed, Taken
from tidelog.runtime.journal.manifest import plain_settings
from tidelog.runtime.migration.changing import Becoming
from tidelog.runtime.network.graph import Hear
from tidelog.runtime.network.state_bound import MAX_STATE, ON_THE_WAY, Holding
from tidelog.runtime.ports.channels import CHANNEL_BOUND, Channel
from tidelog.runtime.ports.durability import Backlog, Keep, StateStore
from tidelog.runtime.ports.interfaces import (
    AnyAnswer,
    Batch,
    DeadLetters,
    EmitMode,
    Listener,
    Observer,
    Rejected,
    Sink,
    SinkStatistics,
    Source,
    Tick,
    WritesTimes,
)
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings
from tidelog.runtime.sessions.statistics import SessionStatistics

if TYPE_CHECKING:
    from tidelog.runtime.why.evidence.model import Writing
    from tidelog.runtime.why.memory import Known

logger = logging.getLogger("tidelog")

_LONE = 8
"""How many facts come as a lone event, at most."""
_IN_A_ROW = CHANNEL_BOUND
"""How many batches are taken in the turns of sources that perhaps let nobody else run, before the reasoner has its turn."""
GRACE = 5.0
"""How many seconds sinks have, after `stop`, to take what is in flight."""


class Engine:
    """Runs a plan from sources to sinks until every source has ended, or `stop` is called.

    A source that is a `Listener` brings others while the engine runs.

    `emit`, `lateness`, `start`, `max_ahead`, `prospects`, `min_evidence`, `count_absences`, `warn`, `grouped`, `statuses`
    and `max_state` are those of `Session`; what waits for the sinks counts as held. With `remember`, `known` explains, by so
    many facts at the most. With `explain`, changes carry
    their premises, from as many of the facts accepted last. `idle_after` (seconds) tells to ignore a
    source that has been silent for so long, until it speaks again; without it each source holds back the watermark. A source
    that is more than `max_lead` facts ahead of the slowest is not read until that one has come nearer.
    With `at_end="stop"` the end of all sources is not the stream's: nothing is claimed about times behind those that they
    have promised. With `clock`, a duration, time also moves with the machine's clock, which `now` reads (the seconds since
    1970): facts are expected at most so far behind it, and at most `max_ahead` ahead of it, which is then the lateness and
    five minutes unless told (`math.inf`: any distance). It needs a program with a unit.
    With `state`, a store such as `tidelog.StateDirectory`, a run that was killed goes on with the next one: no fact is lost
    that a source can bring again, and no answer; `runtime/ports/durability.py` has what sources and sinks promise. A commit
    is due `commit_every` seconds after the last one, once something happens. `keep` says how long input stays in the
    journal, `backlog` how much may wait for sinks. A run goes on with a program that has changed; `reload` says what becomes
    of state that the program does not take up: `refuse` (SpecError), or `drop`.
    A sink that is away is then tried again without end, unless `restarts` says so.
    With `corrections`, facts that are in the journal can be taken back (`Batch.retractions`): what would not have been told
    without them is taken back, too. It needs `emit="changes"`, and sinks that take it; SpecError otherwise.
    `dead_letters` takes what could not be read or was refused, and answers that a sink can never deliver. `on_violation` is
    told when a constraint begins to be violated, `observer` of all that is done. Raises TypeError, ValueError or DataError
    for an option that is none.

    Building an engine starts nothing. Memory is bounded by the plan and the channels: a slow sink slows down the sources.

    >>> import anyio, tidelog
    >>> plan = tidelog.compile("alarm(X) :- diamondminus[0,5] hot(X).")
    >>> source, sink = tidelog.MemorySource([("hot", ("pump",), 0, 0)]), tidelog.MemorySink()
    >>> anyio.run(tidelog.Engine(plan, [source], [sink]).run, backend="trio")
    >>> [str(plan.answer(record)) for record in sink.answers]
    ['alarm(pump)@[0,5]']
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        plan: Plan,
        sources: Sequence[Source | Listener],
        sinks: Sequence[Sink],
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
        min_evidence: int = 0,
        count_absences: bool = False,
        warn: TimeLike | timedelta | None = None,
        grouped: bool = False,
        statuses: Collection[Status] | None = None,
        at_end: AtEnd = "finish",
        clock: TimeLike | timedelta | None = None,
        now: Callable[[], float] = time.time,
        max_state: int | None = MAX_STATE,
        state: StateStore | None = None,
        commit_every: float = EVERY,
        keep: Keep | None = None,
        backlog: Backlog | None = None,
        reload: Reload = "refuse",
        corrections: bool = False,
        explain: int = 0,
        remember: int = 0,
        observer: Observer | None = None,
    ) -> None:
        check_at_end(at_end)
        check_seconds("commit_every", commit_every)
        check_reload(reload)
        self._clock: Clock | None = None
        self._times: WritesTimes | None = None
        self.plan = plan
        self._sources = Sources(sources, RestartPolicy() if restarts is None else restarts, idle_after)
        patience = RestartPolicy() if state is None else RestartPolicy(attempts=None)
        self._letters = Letters(dead_letters, observer)
        policy = patience if restarts is None else restarts
        self._sinks = [SinkActor(sink, policy, self._letters.give_up) for sink in sinks]
        if clock is not None:
            self._clock = Clock(plan.timeline, clock, now, ahead_of(plan.timeline, max_ahead, lateness))
        settings = Settings(
            emit=emit,
            lateness=lateness,
            start=start,
            max_ahead=None if max_ahead == math.inf else max_ahead,
            max_lead=max_lead,
            prospects=prospects,
            min_evidence=min_evidence,
            count_absences=count_absences,
            warn=warn,
            grouped=grouped,
            statuses=statuses,
            sources=self._sources.names,
            max_state=max_state,
            remember=max(explain, remember),
            explain=bool(explain),
            held=observer is not None,
        )
        self._session = Reasoner(plan, settings)
        self._at_end = at_end
        self._max_lead = max_lead
        self._ignores_silence = idle_after is not None
        self._way: Direct | Ledger = Direct(self._sources.actors, self._sinks)
        if corrections:
            check_corrections(plan, emit, keeps=state is not None and keep is not None)
            check_takes_back(sinks)
        if state is not None:
            storing = Storing(state, commit_every, keep, backlog or Backlog(), reload, corrections)
            ends = Ends(dict(zip(self._sources.names, sources, strict=True)), self._sources.actors, self._sinks)
            observed = None if observer is None else observer.committed
            self._way = Ledger(
                plan,
                self._session,
                ends,
                plain_settings(settings, plan.timeline) | {"corrections": corrections},
                storing,
                observed,
            )
        self._alignment: Alignment
        self._on_violation = on_violation
        self._observer = observer
        self._scope: anyio.CancelScope | None = None
        self._grace = math.inf
        self._started = anyio.Event()
        self._in_a_row = 0

    async def wait_started(self) -> None:
        """Wait until it is at work: what an earlier run has stored is there."""
        await self._started.wait()

    async def changes(self) -> list[Becoming]:
        """What would become of the outputs of a stored run with this program, if it is another one; runs nothing.

        SpecError or SnapshotError where it cannot go on, whatever is dropped. Empty where nothing changes.
        """
        return await self._way.changes() if isinstance(self._way, Ledger) else []

    async def run(self) -> None:
        """Run to the end; OperatorError, ConnectorError or another TidelogError if something fails for good.

        StateError if what is held grows beyond `max_state`; it tells how many answers every sink had taken by then, or, with
        a state, how many are stored. SpecError or SnapshotError where the state is that of another run, or damaged.
        """
        await self._way.begin()
        if self._times is not None:
            self._session.watermarks.times = self._times
        marks = self._session.watermarks
        if self._clock is not None:
            self._clock.go_on(marks.floor)
        elif marks.holds:  # an earlier run had a clock, which stood
            self._take(NAME, Tick(marks.floor, marks.present, marks.ceiling), 0.0)
        self._session.watch("sinks", self._holdings)
        self._alignment = Alignment(self._session.watermarks, self._sources.actors, self._max_lead)
        cause: BaseException | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._grace) as self._scope:
                async with anyio.create_task_group() as tasks:
                    self._deploy(tasks)
                    self._started.set()
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        finally:
            self._way.close()
            with anyio.CancelScope(shield=True):
                await self._way.end()
        if isinstance(cause, StateError):
            cause.told = self._way.stored
        if cause is not None:
            raise cause  # with its own cause, not with the group's
        if self._scope is not None and self._scope.cancelled_caught:
            logger.warning("not all answers were taken before the engine stopped")

    def stop(self, grace: float = GRACE) -> None:
        """Shut down cleanly: take nothing more from the sources; what is in flight goes on to the sinks.

        A sink that has not taken it after `grace` seconds is left. To be called within the engine's event loop.
        """
        if self._clock is not None:
            self._clock.stop()
        self._sources.stop()
        self._grace = grace
        if self._scope is not None:
            self._scope.deadline = min(self._scope.deadline, anyio.current_time() + grace)

    @property
    def rejected(self) -> int:
        """How many records of the sources could not be used."""
        return self._letters.rejected

    @property
    def is_storing(self) -> bool:
        """Whether something is being stored for good, so that no one should interrupt."""
        return self._way.is_storing

    def snapshot(self) -> dict[str, Any]:
        """The whole state of what has been taken so far, as `Session.snapshot` has it. Within the event loop, if it runs."""
        return self._session.snapshot()

    def intake_statistics(self) -> IntakeStatistics:
        """The intake's part of `statistics`, which is there at once, and also after a failure."""
        return self._session.intake.statistics()

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        return self._session.statistics()

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]:
        """For each sink, with its name: how often it broke, and how many answers may be lost or there twice for that."""
        return [(sink.name, sink.statistics()) for sink in self._sinks]

    def waiting(self) -> list[tuple[str, int]]:
        """For each sink, with its name: how many answers wait for it."""
        return [(sink.name, self._way.waiting(sink)) for sink in self._sinks]

    def connected(self) -> list[tuple[str, bool]]:
        """For each source that has not ended, and each sink, with its name: whether it is open, and the other side there."""
        return [*self._sources.connected(), *[(sink.name, sink.standing.is_connected) for sink in self._sinks]]

    def holding(self, present: int) -> list[Record]:
        """All answers that hold at a time (encoded), where there is an observer: see `Session.holding`."""
        return self._session.holding(present)

    def listen(self, step: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self._session.listen(step, hear)

    def write_times(self, times: WritesTimes) -> None:
        """Write times so in what is said of facts that are refused. To be called before `run`."""
        self._times = times

    @property
    def remembers(self) -> bool:
        """Whether facts are remembered, so that there is something to explain by."""
        return self._session.settings.remember > 0

    def known(self, at: Writing = None) -> Known:
        """What is remembered now; another thread may explain by it while the engine runs. `at` writes times.

        To be called within the event loop; MethodError where nothing is remembered.
        """
        return self._session.memory.known(at)

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went, or as it was told to."""
        return self._session.unfinished()

    # --- actors ---------------------------------------------------------------------------------------------------------

    def _deploy(self, tasks: TaskGroup) -> None:
        """Start an actor for each source and sink, and one for what lies between."""
        events: Channel[SourceEvent] = Channel()
        way = self._way
        if isinstance(way, Direct):
            events.at_once = partial(self._take_at_once, way)
        self._tell()
        going_on = [actor for actor in self._sources.fixed if not way.has_ended(actor.name)]
        start_sources(tasks, going_on, self._sources.actors, events, self._clock)
        tasks.start_soon(self._reason, events, name="reasoner")
        for sink in self._sinks:
            tasks.start_soon(sink.run, way.feed(sink), name=sink.name)
        events.seal()

    async def _reason(self, inbox: Channel[SourceEvent]) -> None:
        """Let the operators take what the sources say, and tell the sinks what follows; all that waits is taken at once."""
        with inbox:
            try:
                await self._take_all([(name, "ended", 0.0) for name in self._session.watermarks.temporary()])
                async with anyio.create_task_group() as beside:
                    beside.start_soon(self._alignment.watch)
                    beside.start_soon(self._way.keep_going)
                    with suppress(anyio.EndOfStream):
                        while await self._wait_for_room():
                            await self._take_all(await inbox.receive_all())
                    beside.cancel_scope.cancel()
                if not self._session.is_finished and not self._way.goes_on:
                    self._session.rest()
                    self._tell()
                await self._way.finish()
            finally:
                if self._way.goes_on:
                    await self._take_rest(inbox)
                self._way.close()

    async def _take_rest(self, inbox: Channel[SourceEvent]) -> None:
        """Where a source has failed for good, what the others and it had said by then still counts."""
        with anyio.CancelScope(shield=True):
            while not self._way.is_spoiled and not self._is_late():
                try:
                    await self._take_all([inbox.receive_nowait()])
                except (anyio.EndOfStream, anyio.WouldBlock):
                    return

    def _is_late(self) -> bool:
        """Whether what the sources have said is left there, since the run was to have stopped by now."""
        return self._scope is not None and anyio.current_time() >= self._scope.deadline

    async def _wait_for_room(self) -> bool:
        """Wait until more can be taken; returns False where the run is to end."""
        if await self._way.wait_for_room():
            return True
        raise ConnectorError("too many answers wait for the sinks")

    def _take_at_once(self, way: Direct, news: SourceEvent) -> SourceEvent | None:
        """Take a lone event while the reasoner waits; returns what is left for it: all, where it is no such event.

        An error is the reasoner's, too: the source has no part in it.
        """
        name, event, moment = news
        if not isinstance(event, Batch) or event.retractions or len(event.records) > _LONE or self._in_a_row >= _IN_A_ROW:
            return news
        self._in_a_row += 1
        try:
            refused = self._take(name, event, moment)
            if not way.pass_on_nowait() or refused:
                return name, Rest(refused), moment
            self._alignment.taken(name)
        except Exception as error:
            return name, Rest(error=error), moment
        return None

    async def _take_all(self, news: Sequence[SourceEvent]) -> None:
        """Take what sources have said; where the run has a state all of it is, though all stop meanwhile."""
        self._in_a_row = 0
        if self._way.goes_on:
            with anyio.CancelScope(shield=True):
                await self._take_each(news)
        else:
            await self._take_each(news)

    async def _take_each(self, news: Sequence[SourceEvent]) -> None:
        for name, event, moment in news:
            refused: Sequence[Rejected]
            if isinstance(event, Rest):
                if event.error is not None:
                    raise event.error
                refused = event.refused
            elif isinstance(event, Batch) and event.retractions:
                refused = await self._take_back(name, event, moment)
            else:
                refused = self._take(name, event, moment)
            self._alignment.taken(name)
            if refused:
                await self._letters.reject(refused)
        await self._way.pass_on()

    def _tell(self) -> None:
        """Note what became known by no event."""
        answers = self._pull()
        self._way.tell(answers, self._session.frontier)
        self._show(answers)

    def _pull(self) -> list[AnyAnswer]:
        """What became known since the last time."""
        return [*self._session.pull_records(), *self._session.pull_hypothetical()]

    def _show(self, answers: Sequence[AnyAnswer], violations: Sequence[Violation] = ()) -> None:
        """Tell whoever listens for violations, and whoever observes."""
        for violation in (*violations, *self._session.pull_violations()):
            if self._on_violation is not None:
                self._on_violation(violation)
        if answers and self._observer is not None:
            self._observer.told(answers)

    def _take(self, name: str, event: Batch | Tick | str, moment: float) -> list[Rejected]:
        """Let the session take it; returns what was refused.

        An event is noted together with what follows from it, before anybody else runs: a commit has both, or neither.
        """
        way = self._way
        if self._clock is not None:
            tick, event = self._clock.before(event)
            if tick is not None:
                self._take(NAME, tick, 0.0)
        with way.noting():
            noted, refused = self._tell_session(name, event, moment)
            answers = self._pull()
            if noted is not None:
                way.note(noted, event.position if isinstance(event, Batch) else None, answers, self._session.frontier)
        if self._clock is not None:
            self._clock.heard(name, event, moment)
        self._show(answers)
        if self._observer is not None:
            self._observer.took(name, event if isinstance(event, Batch) else None, refused)
        return refused

    async def _take_back(self, name: str, batch: Batch, moment: float) -> list[Rejected]:
        """Let the session take a batch that takes facts back, too, in one commit; returns what was refused."""
        way = self._way
        if not isinstance(way, Ledger) or not way.corrects:
            return [*refused_retractions(self.plan, batch), *self._take(name, batch, moment)]
        refused: list[Rejected] = []
        async with way.correcting():
            for piece in pieces_of(batch):
                refused += self._take(name, piece, moment)
                done = await way.correct(name, piece.retractions)
                refused += done.refused
                self._session.watch("sinks", self._holdings)
                self._show(done.answers, done.violations)
        return refused

    def _tell_session(self, name: str, event: Batch | Tick | str, moment: float) -> tuple[Event | None, list[Rejected]]:
        """Returns what the session has been told, and what was refused."""
        if isinstance(event, Batch):
            taken = Taken(name, moment, event.records, event.watermark, event.parts)
            return taken, [*event.rejected, *self._session.take(name, event, moment)]
        if isinstance(event, Tick):
            self._session.pass_time(event)
            return Passed(event.watermark, event.present, event.ceiling, event.holds, event.unheard), []
        if event == "opened":
            self._session.open(name)
            return Opened(name), []
        if event == "ended" and (self._at_end == "finish" or name not in self._sources.names):
            return Ended(name), self._session.end(name)
        if event == "ended":
            self._alignment.leave(name)
            return (Left(name), self._session.leave(name)) if self._ignores_silence else (None, [])
        return Ignored(name, moment), self._session.ignore(name, moment)

    def _holdings(self) -> Iterator[Holding]:
        """What waits for the slowest sink."""
        yield Holding(self._way.untaken // ON_THE_WAY, lambda: ("answers that wait for a sink", ""))
