"""The engine: sources, intake, operators and sinks as actors, on trio or asyncio."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from tidelog.operators.ask.telling import Telling
from tidelog.operators.room import NoRoomError
from tidelog.plans.errors import StateError, TidelogError
from tidelog.plans.facts import Fact, Record
from tidelog.plans.plan import Plan
from tidelog.plans.questions import Status
from tidelog.plans.stopping import Stopped
from tidelog.plans.timeline import POS
from tidelog.plans.times import TimeLike, TimeReader
from tidelog.runtime.actors import (
    AnswerStream,
    ChainActor,
    Channel,
    LoopGate,
    Outlets,
    QuestionActor,
    chains_of,
    everything_waiting,
    tell,
)
from tidelog.runtime.alignment import Alignment
from tidelog.runtime.arguments import AtEnd, check_at_end, check_lead, require_stream_plan
from tidelog.runtime.clock import Clock, start_sources
from tidelog.runtime.emission import emission
from tidelog.runtime.graph import Graph, PortMessage
from tidelog.runtime.intake import MAX_LEAD, Delivery, Intake, IntakeStatistics
from tidelog.runtime.interfaces import (
    AnyAnswer,
    Batch,
    DeadLetters,
    EmitMode,
    Listener,
    Rejected,
    Sink,
    SinkStatistics,
    Source,
    Tick,
)
from tidelog.runtime.listening import Sources
from tidelog.runtime.questions import answer_filter, inquiries
from tidelog.runtime.session import SessionStatistics
from tidelog.runtime.state_bound import MAX_STATE, ON_THE_WAY, Holding, StateBound
from tidelog.runtime.supervision import RestartPolicy, SinkActor, SourceEvent
from tidelog.runtime.violations import Violation, Violations

logger = logging.getLogger("tidelog")

GRACE = 5.0
"""How many seconds sinks have, after `stop`, to take what is in flight."""

_ARRIVALS = -3
"""In place of a port: the time points at which input facts arrived, and the watermark, for the emission."""


class Engine:
    """Runs a plan from sources to sinks until every source has ended, or `stop` is called.

    A source that is a `Listener` brings others while the engine runs.

    `emit`, `lateness`, `start`, `max_ahead`, `prospects`, `min_evidence`, `count_absences`, `warn`, `grouped`, `statuses`
    and `max_state` are those of `Session`; what waits for the sinks counts as held. `idle_after` (seconds) tells to ignore a
    source that has been silent for so long, until it speaks again; without it each source holds back the watermark. A source
    that is more than `max_lead` facts ahead of the slowest is not read until that one has come nearer.
    With `at_end="stop"` the end of all sources is not the stream's: nothing is claimed about times behind those that they
    have promised. With `clock`, a duration, time also moves with the machine's clock, which `now` reads (the seconds since
    1970): facts are expected at most so far behind it. It needs a program with a unit.
    `dead_letters` takes what could not be read or was refused; `on_violation` is told when a constraint begins to be
    violated. Raises TypeError, ValueError or DataError for an option that is none.

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
    ) -> None:
        require_stream_plan(plan)
        check_at_end(at_end)
        times = TimeReader(plan.timeline)
        self.plan = plan
        self._bound = StateBound(max_state)
        self.graph = Graph(plan, prospects, patience=emit == "intervals", bound=self._bound)
        policy = RestartPolicy() if restarts is None else restarts
        self._sources = Sources(sources, policy, idle_after)
        self._sinks = [SinkActor(sink, policy) for sink in sinks]
        begin = None if start is None else times.point(start)
        ahead = None if max_ahead is None else times.duration(max_ahead)
        self._at_end = at_end
        self._ignores_silence = idle_after is not None
        self._clock = None if clock is None else Clock(plan.timeline, clock, now)
        self._intake = Intake(plan, self._sources.names, times.duration(lateness), begin, ahead, check_lead(max_lead))
        self._alignment = Alignment(self._intake.watermarks, self._sources.actors, max_lead)
        self._emission = emission(emit, plan.outputs)
        self._emission.room = self._bound.room
        self._bound.watch("answers", self._holdings)
        self._told = 0
        self._asked: list[QuestionActor] = []
        self._violations = Violations(plan)
        near = None if warn is None else times.duration(warn)
        chosen = answer_filter(Telling(min_evidence, count_absences, near, grouped), statuses)
        self._inquiries = inquiries(plan, chosen, times.duration(lateness), self._bound)
        self._dead_letters = dead_letters
        self._on_violation = on_violation
        self._scope: anyio.CancelScope | None = None
        self._grace = math.inf
        self.rejected = 0

    async def run(self) -> None:
        """Run to the end; OperatorError, ConnectorError or another TidelogError if something fails for good.

        StateError if what is held grows beyond `max_state`; it tells how many answers every sink had taken by then.
        """
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._grace) as self._scope:
                async with anyio.create_task_group() as tasks:
                    self._deploy(tasks)
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        else:
            if self._scope.cancelled_caught:
                logger.warning("not all answers were taken before the engine stopped")
            return
        if isinstance(cause, StateError):
            cause.accepted = self._intake.accepted
            cause.told = min((sink.taken for sink in self._sinks), default=0)
        raise cause  # with its own cause, not with the group's

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
        """Whether something is being stored for good, so that no one should interrupt: an engine stores nothing."""
        return False

    def intake_statistics(self) -> IntakeStatistics:
        """The intake's part of `statistics`, which is there at once, and also after a failure."""
        return self._intake.statistics()

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        questions = {inquiry.question.name: inquiry.statistics() for inquiry in self._inquiries}
        intake, sources = self._intake.statistics(), self._intake.watermarks.statistics()
        return SessionStatistics(intake, self.graph.statistics(), self._violations.count, questions, sources)

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]:
        """For each sink, with its name: how often it broke, and how many answers may be lost or there twice for that."""
        return [(sink.name, sink.statistics()) for sink in self._sinks]

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went, or as it was told to."""
        return self.graph.unfinished() + [line for inquiry in self._inquiries for line in inquiry.unfinished()]

    # --- deployment -----------------------------------------------------------------------------------------------------

    def _deploy(self, tasks: TaskGroup) -> None:
        """Start an actor for each source, step, loop, question and sink, and join them by channels."""
        channels = self._channels()
        answers: Channel[PortMessage] = Channel()
        events: Channel[SourceEvent] = Channel()
        start_sources(tasks, self._sources.fixed, self._sources.actors, events, self._clock)
        entries = {step: channels[step].sender() for step in channels}
        ends: list[Channel[Sequence[AnyAnswer]]] = [Channel() for _ in self._sinks]
        asked = self._deploy_questions(tasks, ends)
        tasks.start_soon(self._run_intake, events.inbox, entries, answers.sender(), asked, name="intake")
        self._deploy_steps(tasks, channels, answers)
        tasks.start_soon(self._run_emission, answers.inbox, [end.sender() for end in ends], name="emission")
        for sink, end in zip(self._sinks, ends, strict=True):
            tasks.start_soon(sink.run, end.inbox, name=sink.name)
            end.seal()
        for channel in {id(channel): channel for channel in channels.values()}.values():
            channel.seal()
        answers.seal()
        events.seal()

    def _channels(self) -> dict[str, Channel[PortMessage]]:
        """The inbox of each step: that of its chain, or that of its loop's gate."""
        channels: dict[str, Channel[PortMessage]] = {}
        for chain in [*chains_of(self.graph).values(), *(loop.members for loop in self.plan.loops)]:
            channels |= dict.fromkeys(chain, Channel())
        return channels

    def _deploy_steps(
        self, tasks: TaskGroup, channels: dict[str, Channel[PortMessage]], answers: Channel[PortMessage]
    ) -> None:
        gates = [LoopGate(self.graph, control, channels[control.loop.members[0]]) for control in self.graph.controls]
        for gate, loop in zip(gates, self.plan.loops, strict=True):
            tasks.start_soon(gate.run, name="loop")
            for name in loop.members:
                tasks.start_soon(gate.run_member, name, self._outlets(name, channels, answers), name=name)
        for last, chain in chains_of(self.graph).items():
            actor = ChainActor(self.graph, chain, channels[last], self._outlets(last, channels, answers))
            tasks.start_soon(actor.run, name=last)

    def _deploy_questions(
        self, tasks: TaskGroup, ends: list[Channel[Sequence[AnyAnswer]]]
    ) -> list[MemoryObjectSendStream[Delivery]]:
        """Start the questions; returns where the intake's deliveries go."""
        entries = []
        for inquiry in self._inquiries:
            channel: Channel[Delivery] = Channel()
            actor = QuestionActor(inquiry, channel, [end.sender() for end in ends])
            self._asked.append(actor)
            tasks.start_soon(actor.run, name=f"ask {inquiry.question.name}")
            entries.append(channel.sender())
            channel.seal()
        return entries

    def _outlets(self, step: str, channels: dict[str, Channel[PortMessage]], answers: Channel[PortMessage]) -> Outlets:
        targets = [(channels[name].sender(), name, port) for name, port in self.graph.outer[step]]
        if step in self.graph.watched:
            targets.append((answers.sender(), step, 0))
        return Outlets(targets)

    # --- intake and emission --------------------------------------------------------------------------------------------

    async def _run_intake(
        self,
        inbox: MemoryObjectReceiveStream[SourceEvent],
        entries: dict[str, MemoryObjectSendStream[PortMessage]],
        answers: MemoryObjectSendStream[PortMessage],
        asked: list[MemoryObjectSendStream[Delivery]],
    ) -> None:
        with inbox, answers:
            try:
                await self._enter(self.graph.beginning(), entries)
                async with anyio.create_task_group() as beside:
                    beside.start_soon(self._alignment.watch)
                    async for name, event, moment in inbox:
                        for delivery in await self._take(name, event, moment):
                            arrivals: list[Fact] = [((), point, point) for point in delivery.points]
                            await answers.send(("", _ARRIVALS, arrivals, delivery.frontier))
                            await self._enter(self.graph.entering(delivery), entries)
                            for question in asked:
                                await question.send(delivery)
                        self._alignment.taken(name)
                    beside.cancel_scope.cancel()
            finally:
                for stream in entries.values():
                    stream.close()
                for question in asked:
                    question.close()

    async def _take(self, name: str, event: Batch | Tick | str, moment: float) -> list[Delivery]:
        """Let the intake take it, and hand what was refused to the dead letters."""
        if isinstance(event, Batch):
            deliveries = [self._intake.take(name, event, moment)]
            await self._reject(event.rejected)
        elif isinstance(event, Tick):
            deliveries = [self._intake.pass_time(event)]
        elif event == "opened":
            deliveries = [self._intake.open(name)]
        elif event == "ended" and (self._at_end == "finish" or name not in self._sources.names):
            deliveries = self._intake.finish(name)
        elif event == "ended":
            self._alignment.leave(name)
            deliveries = self._intake.leave(name) if self._ignores_silence else []
        else:
            deliveries = [self._intake.ignore(name, moment)]
        await self._reject([item for delivery in deliveries for item in delivery.refused])
        return deliveries

    async def _reject(self, rejected: list[Rejected]) -> None:
        self.rejected += len(rejected)
        if not rejected or self._dead_letters is None:
            return
        try:
            await self._dead_letters.send(rejected)
        except OSError as error:  # a bad record is never fatal, nor is a full disk beside the stream
            logger.warning("dead letters cannot be written any more: %s", error)
            self._dead_letters = None

    async def _enter(self, messages: list[PortMessage], entries: dict[str, MemoryObjectSendStream[PortMessage]]) -> None:
        for message in messages:
            await entries[message[0]].send(message)

    async def _run_emission(self, inbox: MemoryObjectReceiveStream[PortMessage], sinks: list[AnswerStream]) -> None:
        with inbox:
            try:
                while True:
                    answers: list[Record] = []
                    for message in await everything_waiting(inbox):
                        answers += self._answers_to(message)
                    self._told += len(answers)
                    await tell(answers, sinks)
            except NoRoomError as full:
                raise self._bound.too_many_answers(full) from None
            except anyio.EndOfStream:
                if self._intake.frontier >= POS:  # the stream has ended, not only the engine
                    await tell(self._emission.finish(), sinks)
            finally:
                for sink in sinks:
                    sink.close()

    def _answers_to(self, message: PortMessage) -> list[Record]:
        step, port, facts, frontier = message
        if port == _ARRIVALS:
            return self._emission.arrive([lo for _, lo, _ in facts], frontier)
        self.graph.left(step, len(facts))
        if step in self.plan.constraints:
            for violation in self._violations.receive(step, facts, frontier):
                if self._on_violation is not None:
                    self._on_violation(violation)
            return []
        return self._emission.receive(step, facts, frontier)

    def _holdings(self) -> Iterator[Holding]:
        """What waits to be told, and for the sinks."""
        for name, rows in self._emission.entries().items():
            yield self.graph.answers_of(name, rows)
        told = self._told + sum(actor.told for actor in self._asked)
        waiting = told - min((sink.taken for sink in self._sinks), default=told)
        yield Holding(waiting // ON_THE_WAY, lambda: ("answers that wait for a sink", ""))


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to show: an error of ours before any other, since others often only follow from it."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop()
        if isinstance(error, BaseExceptionGroup):
            pending += reversed(error.exceptions)
        else:
            leaves.append(error)
    return min(leaves, key=_consequence)


def _consequence(error: BaseException) -> int:
    """How likely an error only follows from another: that somebody stops it least, a cancellation (no Exception) most."""
    if isinstance(error, Stopped | TidelogError):
        return 0
    return 1 if isinstance(error, Exception) else 2
