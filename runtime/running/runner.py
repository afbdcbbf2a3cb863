"""The runner: sources and sinks as actors, with a session between them in a task of its own, on trio or asyncio.

The operators run to completion in one task, since tasks on one thread gain nothing from each other. The session takes all
that waits at once, so batches grow under load; a lone event it takes in the turn of its source, while nothing else waits.
Answers go to the sinks through channels (`runtime/actors/direct.py`), so that a slow sink slows down the sources. In a run
with a state they go through a ledger (`runtime/durable/ledger.py`), which first stores them, and the input.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from tidelog.plans.diagnostics.errors import ConnectorError, MethodError, StateError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.brief import brief, named
from tidelog.runtime.actors.alignment import Alignment
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.actors.clock import NAME, Clock, ahead_of, start_sources
from tidelog.runtime.actors.dead_letters import Letters
from tidelog.runtime.actors.direct import Direct
from tidelog.runtime.actors.listening import Sources
from tidelog.runtime.actors.supervision import Rest, RestartPolicy, SinkActor, SourceEvent
from tidelog.runtime.corrections.taking_back import check_corrections, check_takes_back, pieces_of
from tidelog.runtime.corrections.taking_back import refused as refused_retractions
from tidelog.runtime.durable.storing import Ends, Storing
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.journal.events import Ended, Event, Ignored, Left, Opened, Passed, Taken
from tidelog.runtime.journal.manifest import plain_settings
from tidelog.runtime.network.state_bound import ON_THE_WAY, Holding
from tidelog.runtime.ports.channels import CHANNEL_BOUND, Channel
from tidelog.runtime.ports.durability import Backlog
from tidelog.runtime.ports.interfaces import (
    AnyAnswer,
    Batch,
    Listener,
    Rejected,
    Sink,
    Source,
    Tick,
    WritesTimes,
)
from tidelog.runtime.ports.observing import ObservesSinks
from tidelog.runtime.running.asked import Asked
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings

if TYPE_CHECKING:
    from tidelog.runtime.durable.hot import Hot
    from tidelog.runtime.durable.ledger import Ledger
    from tidelog.runtime.migration.changing import Becoming
    from tidelog.runtime.running.flights import Arrival, Flights

logger = logging.getLogger("tidelog")

_LONE = 8
"""How many facts come as a lone event, at most."""
_IN_A_ROW = CHANNEL_BOUND
"""How many batches are taken in the turns of sources that perhaps let nobody else run, before the reasoner has its turn."""
GRACE = 5.0
"""How many seconds sinks have, after `stop`, to take what is in flight."""


class Runner(Asked):
    """Runs a plan from sources to sinks as `Engine` says, by its settings and those of the run.

    Building it starts nothing. Raises what `Engine` does.
    """

    def __init__(
        self, plan: Plan, sources: Sequence[Source | Listener], sinks: Sequence[Sink], settings: Settings, run: RunSettings
    ) -> None:
        self._clock: Clock | None = None
        self._times: WritesTimes | None = None
        self._sources = Sources(sources, RestartPolicy() if run.restarts is None else run.restarts, run.idle_after)
        patience = RestartPolicy() if run.state is None else RestartPolicy(attempts=None)
        policy = patience if run.restarts is None else run.restarts
        self._letters = Letters(run.dead_letters, run.observer)
        backlog = run.backlog or Backlog()
        told = run.observer if isinstance(run.observer, ObservesSinks) else None
        give_up = self._letters.give_up
        self._sinks = [SinkActor(sink, policy, give_up, backlog.of(sink.name).rate, told) for sink in sinks]
        if run.clock is not None:
            ahead = ahead_of(plan.timeline, settings.max_ahead, settings.lateness)
            self._clock = Clock(plan.timeline, run.clock, run.now, ahead)
        ahead_at_most = None if settings.max_ahead == math.inf else settings.max_ahead
        settings = replace(settings, max_ahead=ahead_at_most, sources=self._sources.names, held=run.held)
        self._flights: Flights | None = None
        self._answers_within = math.inf
        self._session = self._session_of(plan, settings, run)
        self._at_end = run.at_end
        self._max_lead = settings.max_lead
        self._ignores_silence = run.idle_after is not None
        if run.corrections:
            check_corrections(plan, settings.emit, keeps=run.state is not None and run.keep is not None)
            check_takes_back(sinks)
        self._way = self._way_of(sources, run)
        self._alignment: Alignment
        self._on_violation = run.on_violation
        self._observer = run.observer
        self._scope: anyio.CancelScope | None = None
        self._grace = math.inf
        self._started = anyio.Event()
        self._in_a_row = 0

    def _session_of(self, plan: Plan, settings: Settings, run: RunSettings) -> Reasoner:
        """The session, which may be spread over actors."""
        if run.cut == "one":
            return Reasoner(plan, settings)
        from tidelog.runtime.islands.spreading import Layout, SpreadReasoner  # noqa: PLC0415 - few runs are spread
        from tidelog.runtime.islands.supervision import Supervision  # noqa: PLC0415 - likewise
        from tidelog.runtime.running.flights import Flights  # noqa: PLC0415 - likewise

        supervision = run.supervision or Supervision()
        session = SpreadReasoner(
            plan,
            settings,
            Layout(run.cut, 0 if run.workers == 1 else run.workers, supervision=supervision),
        )
        self._answers_within = supervision.answers_within
        self._flights = Flights(session, self._arrive)
        return session

    @property
    def plan(self) -> Plan:
        """The plan that runs: once it has begun, that of its state, where another version of tidelog has made this."""
        return self._session.plan

    def __repr__(self) -> str:
        ends = named(self._sources.names, "source"), named([sink.name for sink in self._sinks], "sink")
        return brief(self, self.plan.name, f"emit {self._session.settings.emit}", *ends, *self._session.standing())

    def _way_of(self, sources: Sequence[Source | Listener], run: RunSettings) -> Direct | Ledger:
        """What lies between the session and the sinks."""
        if run.state is None:
            return Direct(self._sources.actors, self._sinks)
        from tidelog.runtime.durable.ledger import Ledger  # noqa: PLC0415 - few runs have a state, and all have to start at once

        storing = Storing(run.state, run.commit_every, run.keep, run.backlog or Backlog(), run.reload, run.corrections)
        ends = Ends(dict(zip(self._sources.names, sources, strict=True)), self._sources.actors, self._sinks)
        stored = plain_settings(self._session.settings, self.plan.timeline) | {"corrections": run.corrections}
        ledger = Ledger(self.plan, self._session, ends, stored, storing, run.observer)
        ledger.settle = self._settle_all
        return ledger

    async def wait_started(self) -> None:
        """Wait until it is at work: what an earlier run has stored is there."""
        await self._started.wait()

    async def changes(self) -> list[Becoming]:
        """What would become of the outputs of a stored run with this program, if it is another one; runs nothing.

        SpecError or SnapshotError where it cannot go on, whatever is dropped. Empty where nothing changes.
        """
        return [] if isinstance(self._way, Direct) else await self._way.changes()

    async def stand_by(self) -> Hot | None:
        """Load what is stored, to follow what another process commits to it until this one is to `run`.

        None where nothing is stored yet, or by another program: then `run` loads it. MethodError without a state.
        """
        if isinstance(self._way, Direct):
            raise MethodError("a run without a state follows nobody")
        return await self._way.stand_by(self._show)

    def give_up(self) -> None:
        """It is not to be run: the workers that it has started to follow another run end."""
        self._session.close()

    async def run(self) -> None:
        """Run to the end; OperatorError, ConnectorError or another TidelogError if something fails for good.

        StateError if what is held grows beyond `max_state`; it tells how many answers every sink had taken by then, or, with
        a state, how many are stored. SpecError or SnapshotError where the state is that of another run, or damaged.
        """
        try:
            await self._way.begin()
        except BaseException:
            self._session.close()
            raise
        if self._flights is not None:
            self._flights.begin()
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
            self._session.close()
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
    def is_storing(self) -> bool:
        """Whether something is being stored for good, so that no one should interrupt."""
        return self._way.is_storing

    def snapshot(self) -> dict[str, Any]:
        """The whole state of what has been taken so far, as `Session.snapshot` has it. Within the event loop, if it runs."""
        self._settle()
        return self._session.snapshot()

    def write_times(self, times: WritesTimes) -> None:
        """Write times so in what is said of facts that are refused. To be called before `run`."""
        self._times = times

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
                    if self._flights is not None:
                        beside.start_soon(self._flights.keep_landing, self._pass_on)
                        beside.start_soon(self._flights.keep_passing, self._pass_on)
                        beside.start_soon(self._flights.keep_checking, self._answers_within)
                    with suppress(anyio.EndOfStream):
                        while await self._wait_for_room():
                            await self._take_all(await inbox.receive_all())
                    beside.cancel_scope.cancel()
                if not self._session.is_finished and not self._way.goes_on:
                    self._session.rest()
                    self._tell()
                self._settle()
                await self._pass_on()
                await self._way.finish()
            finally:
                if self._way.goes_on:
                    await self._take_rest(inbox)
                    await self._take_landing()
                self._way.close()

    async def _take_rest(self, inbox: Channel[SourceEvent]) -> None:
        """Where a source has failed for good, what the others and it had said by then still counts."""
        with anyio.CancelScope(shield=True):
            while not self._way.is_spoiled and not self._is_late():
                try:
                    await self._take_all([inbox.receive_nowait()])
                except (anyio.EndOfStream, anyio.WouldBlock):
                    return

    async def _take_landing(self) -> None:
        """And what followed from it, where that is still on the way."""
        if self._flights is not None and not self._way.is_spoiled and not self._session.has_failed:
            with anyio.CancelScope(shield=True):
                await self._flights.wait_for_answers()
                self._settle()

    def _is_late(self) -> bool:
        """Whether what the sources have said is left there, since the run was to have stopped by now."""
        return self._scope is not None and anyio.current_time() >= self._scope.deadline

    async def _wait_for_room(self) -> bool:
        """Wait until more can be taken; returns False where the run is to end."""
        if self._flights is not None:
            await self._flights.wait_for_room()
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
        if self._flights is not None and self._flights.is_full:
            return news
        self._in_a_row += 1
        try:
            refused = self._take(name, event, moment)
            if self._flights is not None:
                self._flights.wait_a_moment()
            if not way.pass_on_nowait() or refused:
                return name, Rest(refused), moment
            self._alignment.taken(name)
        except Exception as error:
            return name, Rest(error=error), moment
        return None

    async def _take_all(self, news: Sequence[SourceEvent]) -> None:
        """Take what sources have said; where the run has a state all of it is, though all stop meanwhile."""
        self._in_a_row = 0
        for name, event, moment in news:
            refused: Sequence[Rejected]
            if isinstance(event, Rest):
                if event.error is not None:
                    raise event.error
                refused = event.refused
            elif isinstance(event, Batch) and event.retractions:
                with self._begun():
                    refused = await self._take_back(name, event, moment)
            else:
                refused = self._take(name, event, moment)
            self._alignment.taken(name)
            if refused:
                with self._begun():
                    await self._letters.reject(refused)
        await self._pass_on()

    async def _pass_on(self) -> None:
        """Pass on what became known; facts that no actor can take are dead letters."""
        if self._flights is not None and (found := self._flights.left_out()):
            with self._begun():
                await self._letters.reject(found)
        await self._way.pass_on()

    def _begun(self) -> anyio.CancelScope:
        """What has to be waited for inside, where the run has a state also if all stop meanwhile."""
        return anyio.CancelScope(shield=self._way.goes_on)

    def _tell(self) -> None:
        """Note what became known by no event."""
        answers = self._pull()
        self._way.tell(answers, self._session.frontier)
        self._show(answers)

    def _pull(self) -> list[AnyAnswer]:
        """What became known since the last time."""
        self._settle()
        return [*self._session.pull_records(), *self._session.pull_hypothetical()]

    def _settle(self) -> None:
        """Wait until nothing is on its way from the session, and note what was."""
        if self._flights is not None:
            self._flights.settle()

    async def _settle_all(self) -> None:
        """The same, and let all be told that is known, as before a state is stored."""
        if self._flights is not None and not self._session.has_failed:
            await self._flights.wait_for_answers()
            self._flights.come_up()

    def _arrive(self, arrival: Arrival) -> None:
        """Note what has followed from an event that was told some time ago."""
        if arrival.event is None:
            self._way.tell(arrival.answers, arrival.frontier)
        else:
            self._way.note(arrival.event, arrival.position, arrival.answers, arrival.frontier)
        self._show(arrival.answers, arrival.violations)

    def _show(self, answers: Sequence[AnyAnswer], violations: Sequence[Violation] = ()) -> None:
        """Tell whoever listens for violations, and whoever observes."""
        found = self._session.pull_violations() if self._flights is None else ()
        for violation in (*violations, *found):
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
            position = event.position if isinstance(event, Batch) else None
            answers: list[AnyAnswer] = []
            if self._flights is not None:
                self._flights.depart(noted, position)
            else:
                answers = self._pull()
                if noted is not None:
                    way.note(noted, position, answers, self._session.frontier)
        if self._clock is not None:
            self._clock.heard(name, event, moment)
        if self._flights is None:
            self._show(answers)
        if self._observer is not None:
            self._observer.took(name, event if isinstance(event, Batch) else None, refused)
        return refused

    async def _take_back(self, name: str, batch: Batch, moment: float) -> list[Rejected]:
        """Let the session take a batch that takes facts back, too, in one commit; returns what was refused."""
        way = self._way
        if isinstance(way, Direct) or not way.corrects:
            return [*refused_retractions(self.plan, batch), *self._take(name, batch, moment)]
        refused: list[Rejected] = []
        async with way.correcting():
            for piece in pieces_of(batch):
                refused += self._take(name, piece, moment)
                self._settle()
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
