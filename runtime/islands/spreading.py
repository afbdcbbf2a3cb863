"""A reasoner whose operators are spread over actors: the same intake, the same answers, row by row in the same order."""

from __future__ import annotations

import logging
import os
import selectors
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.analysis.horizons.absences import absences
from tidelog.plans.data.facts import Fact, Record, format_record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SnapshotError, TidelogError
from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.islands.actors import Actor
from tidelog.runtime.islands.cutting import cut_state, join_states
from tidelog.runtime.islands.dividing import State, divide, spread_plan, unite
from tidelog.runtime.islands.lines import MOST_UNSENT, LocalLine, Opened, WorkerLink
from tidelog.runtime.islands.messages import Count, Counted, Reply, Save, Saved, unpacked_sent
from tidelog.runtime.islands.network import IslandNetwork, Landed
from tidelog.runtime.islands.nursery import Nursery, Worker
from tidelog.runtime.islands.part import Work
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.network.graph import Hear as Listener
from tidelog.runtime.ports.actors import SILENT, Actors, ActorStatistics
from tidelog.runtime.ports.interfaces import Rejected, Tick
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings
from tidelog.runtime.sessions.statistics import SessionStatistics

logger = logging.getLogger("tidelog")
_PATIENCE = 0.1
"""How many seconds the figures of the actors are waited for at once, before it is looked whether a worker hangs."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the operators of a run are spread: over which actors, and how many workers they live in (0: in this process).

    An island with a key has a shard in each worker, or, in this process, so many `shards`.
    """

    actors: Actors = "islands"
    workers: int = 0
    shards: int = 1
    supervision: Supervision = field(default_factory=Supervision)


class SpreadReasoner(Reasoner):
    """Takes what each source says, and lets actors find what follows.

    What is told is what a `Reasoner` tells, and each row's answers come in the same order. What was handed in is on the way
    to actors, or back: `land` takes what has landed, and hands it to `landing`; all that has to know everything waits until
    all has. Unless somebody else takes it, what has landed waits to be pulled. To be closed by `close`.
    """

    is_spread = True

    def __init__(self, plan: Plan, settings: Settings, layout: Layout) -> None:
        super().__init__(plan, settings)
        self.layout = layout
        self._listeners: dict[str, Listener] = {}
        self._close: Callable[[], None] = _nothing
        self.landing: Callable[[Landed], None] = self._await_pull
        """Who takes what has landed, in order."""
        self._network_of: IslandNetwork | None = None
        self._last_ended = -1
        self.left_out: list[Rejected] = []
        """Facts that were accepted, but by which an actor fails, until somebody takes them."""
        self.asked: Callable[[TidelogError | None], None] = _unasked
        """Told that what has landed was taken by who only asked for something, or why that failed."""
        self._counts: list[tuple[ActorStatistics, Counted | None]] = []
        self._counted: dict[Actor, Counted] = {}
        self._hosts: list[Worker] = []
        self._deployed = plan
        self.islands = self._cut()

    @property
    def _islands(self) -> IslandNetwork:
        """The actors, which are started when they are needed."""
        if self._network_of is None:
            self._network_of = self._deploy()
        return self._network_of

    def _cut(self) -> tuple[Island, ...]:
        """The islands of the plan; of one without steps, which asks questions alone, one that does nothing."""
        found = islands_of(self.plan, "rule" if self.layout.actors == "rule" else "islands")
        return found or (Island(0, "(nothing)", (), (), None, {}, (), ()),)

    def _plan_of_states(self) -> Plan:
        """The plan of which the state is one: where nothing is to be dropped early, nothing is known of what may be."""
        return self.plan if self.settings.prospects else replace(self.plan, prospects=Prospects())

    def _deploy(self) -> IslandNetwork:
        """Start the actors of the plan."""
        if self.plan is not self._deployed:
            self._deployed, self.islands = self.plan, self._cut()
        plan, settings, workers = self.plan, self.settings, self.layout.workers
        kept = frozenset() if self._outlet.held is None else self._outlet.held.outputs
        works = [_work(plan, island, settings, kept, workers or self.layout.shards) for island in self.islands]
        self._selector = selectors.DefaultSelector()
        nursery = Nursery(works, self._selector, self.layout.supervision) if workers else None
        hosts = self._hosts = [Worker(nursery) for _ in range(workers)] if nursery is not None else []
        busy = [0] * workers
        actors: list[list[Actor]] = []
        for number, island in enumerate(self.islands):
            if island.key is not None and workers:
                where = list(range(workers))
            elif workers:
                where = [busy.index(min(busy))]
            else:
                where = [0] * (1 if island.key is None else self.layout.shards)
            for host in where if workers else ():
                busy[host] += len(island.steps)
            starts = [partial(hosts[host].open, number) if hosts else partial(_local, works[number]) for host in where]
            actors.append([self._actor(island, shard, start) for shard, start in enumerate(starts)])
        network = IslandNetwork(
            self.islands,
            actors,
            follows_arrivals=self._outlet.follows_arrivals,
            are_changes=settings.emit == "changes",
            held=kept,
        )

        def close() -> None:
            network.close()
            for host in hosts:
                host.close()
            if nursery is not None:
                nursery.close()
            self._selector.close()

        self._close = close
        if self._listeners:
            network.listen(list(self._listeners))
        return network

    def _actor(self, island: Island, shard: int, start: Callable[..., Opened]) -> Actor:
        actor = Actor(island.name, island.number, shard, start, self.layout.supervision)
        actor.poisoned = self._leave_out
        actor.aside_told = self._tell_aside
        actor.restarted = self._tell_ended
        return actor

    def _tell_ended(self, process: int, was_hung: bool) -> None:
        """Several actors may have lived in one process."""
        if process == self._last_ended:
            return
        self._last_ended = process
        if was_hung:
            logger.error("the worker with process id %d has not answered, and was ended", process)
        logger.warning("the worker with process id %d has ended: its actors are started anew in another one", process)

    def _tell_aside(self, actor: Actor) -> None:
        shard = f", shard {actor.shard}" if len(self._islands.shards[actor.island]) > 1 else ""
        logger.error("`%s`%s was set aside, and tells nothing more: %s", actor.name, shard, actor.aside)

    def _leave_out(self, actor: Actor, predicate: str, fact: Fact, reason: str) -> None:
        record = (predicate, *fact)
        text = format_record(record, self.plan.timeline)
        self.left_out.append(Rejected("", f"poison: {reason}", text.encode(), record))

    def close(self) -> None:
        """Let the workers end; what was counted by then stays known."""
        if self._network_of is not None and not self.has_failed and not self.on_the_way:
            with suppress(TidelogError):
                self._count()
        self._close()
        self._close, self._network_of = _nothing, None

    # --- what comes in --------------------------------------------------------------------------------------------------

    @property
    def is_beginning(self) -> bool:
        """Whether nothing but a history was handed in as yet: actors are not handed one."""
        return False

    def pass_time(self, tick: Tick) -> None:
        """The machine's clock has gone on: a floor for what every source promises."""
        if tick.unheard:
            until = {step: tick.present + min(size, tick.unheard) for step, size in absences(self.plan).items()}
            self._begin()
            self._islands.presume(until)
        self._deliver(self._intake.pass_time(tick))

    def _end(self, source: str) -> list[Delivery]:
        deliveries = self._intake.finish(source)
        for delivery in deliveries:
            self._deliver(delivery, is_last=self.is_finished)
        if self.is_finished:
            self._islands.finish()
        return deliveries

    def rest(self) -> None:
        """Nothing more is handed in, though the stream has not ended: what is known by now waits to be pulled."""
        self._begin()
        self._islands.rest()

    def _begin(self) -> None:
        if not self._islands.has_begun:
            self._islands.begin()

    def _deliver(self, delivery: Delivery, *, is_last: bool = False) -> None:
        self._begin()
        if self._memory is not None:
            self._memory.take(delivery)
        if delivery.start is not None or delivery.frontier >= POS:
            self._outlet.begin(delivery.start)
        self._islands.deliver(delivery, is_last=is_last)
        for inquiry in self._inquiries:
            self._hypothetical += inquiry.take(delivery)
        self._bound.moved(0)

    def _take_one(self, source: str, record: Record, moment: float = 0.0) -> bool:
        is_taken = self._intake.take_one(source, record, moment) is not None
        if is_taken:
            self._deliver(self._intake.one(record))
        return is_taken

    # --- what is on the way ---------------------------------------------------------------------------------------------

    @property
    def sent(self) -> int:
        """The number of the last delivery that was sent on its way."""
        return self._islands.number

    @property
    def on_the_way(self) -> int:
        """How many deliveries have not landed."""
        return self._islands.on_the_way

    def fileno(self) -> int:
        """What becomes readable when an actor in a worker has answered."""
        return self._selector.fileno()

    @property
    def is_local(self) -> bool:
        """Whether all actors are in this process, so that they answer at once."""
        return not self.layout.workers

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be sent to a worker that it had better take some first."""
        return any(host.unsent > MOST_UNSENT for host in self._hosts)

    @property
    def keeps_waiting(self) -> bool:
        """Whether a worker has not answered for a while: who can do something else does not wait for it."""
        return any(host.unanswered for host in self._hosts)

    def check(self) -> None:
        """End workers that have not answered in time; to be called now and then."""
        for host in self._hosts:
            host.check()

    def wait(self, timeout: float) -> None:
        """Wait until an actor in a worker has answered, at most so many seconds."""
        self._selector.select(timeout)

    def land(self) -> None:
        """Take what has landed, without waiting."""
        islands = self._islands
        for key, _ in self._selector.select(0):
            link = key.fileobj
            if isinstance(link, WorkerLink):
                link.pump()
        islands.pump()
        self._take_landed()

    def drain(self) -> None:
        """Wait until all has landed, and take it."""
        self._begin()
        self._islands.drain()
        self._take_landed()

    def come_up(self) -> None:
        """Let all that is known be told, as before the state is taken."""
        self._begin()
        self._islands.come_up()
        self.drain()

    def _take_landed(self) -> None:
        landed = self._islands.landed
        while landed:
            found = landed.popleft()
            for step, facts, notices in unpacked_sent(found.held):
                self._outlet.keep(step, facts, notices)
            if self._outlet.held is not None:
                self._outlet.forget(found.frontier)  # only now: what goes on behind it has come
            for source, item in found.heard:
                if item.step in self._listeners:
                    ((_, facts, notices),) = unpacked_sent([item])
                    self._listeners[item.step](source, facts, notices)
            self._told += len(found.answers)
            self._outlet.count(len(found.violations))
            self.landing(found)

    def _await_pull(self, found: Landed) -> None:
        self._outlet.answers += found.answers
        self._outlet.violated += found.violations

    # --- what is told ---------------------------------------------------------------------------------------------------

    def pull_records(self) -> list[Record]:
        """The answers since the last call as encoded records, in order, once all has landed."""
        self.drain()
        answers, self._outlet.answers = self._outlet.answers, []
        return self.explained(answers)

    def explained(self, answers: list[Record]) -> list[Record]:
        """Answers with their reasons, where these are wanted."""
        return self._memory.explained(answers) if self._explains and self._memory is not None and answers else answers

    def pull_violations(self) -> list[Violation]:
        """The constraints violated since the last call."""
        self.drain()
        violated, self._outlet.violated = self._outlet.violated, []
        return violated

    @property
    def deadline(self) -> int:
        """The least frontier (encoded) at which something is to be told though no fact comes; POS where nothing is."""
        self.drain()
        return min([self._islands.look(), *(inquiry.deadline for inquiry in self._inquiries)])

    def listen(self, step: str, hear: Listener | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self._listeners.pop(step, None)
        if hear is not None:
            self._listeners[step] = hear
        if self._network_of is not None:
            self._network_of.listen(list(self._listeners))

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went, or was to."""
        counted = [line for _, found in self._count() if found is not None for line in found.unfinished]
        return [*dict.fromkeys(counted), *(line for inquiry in self._inquiries for line in inquiry.unfinished())]

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        found = super().statistics()
        steps = {step.id: OperatorStatistics(0, 0, 0, 0) for step in self.plan.steps}
        for _, counted in self._count():
            for name, numbers in {} if counted is None else counted.steps.items():
                steps[name] = steps[name].plus(OperatorStatistics(**numbers))
        return replace(found, steps=steps)

    def actors(self) -> list[ActorStatistics]:
        """What became of each actor so far; none where none was started yet."""
        return [found for found, _ in self._count()]

    def set_aside(self) -> list[tuple[str, str]]:
        """The actors that were set aside, by their names, with the reasons."""
        if self._network_of is None:
            return [(found.name, found.aside) for found, _ in self._counts if found.aside]
        return [(actor.name, actor.aside) for actor in self._network_of.actors if actor.aside]

    def silent(self) -> list[str]:
        """The outputs of actors that were set aside: of these, answers are missing."""
        if self._network_of is None:
            aside = {found.island for found, _ in self._counts if found.aside}
        else:
            aside = {actor.island for actor in self._network_of.actors if actor.aside}
        steps = {step for island in self.islands if island.number in aside for step in island.steps}
        return [name for name, step in self.plan.outputs.items() if step in steps]

    def _count(self) -> list[tuple[ActorStatistics, Counted | None]]:
        """Ask each actor what it has done; where they are not there yet, or no more, what is known of them.

        So, too, where a worker keeps others waiting.
        """
        if self._network_of is None:
            return self._counts
        standing = {found[0]: found for found in self._network_of.standing()}  # before all of it is waited for
        failure: TidelogError | None = None
        try:
            self._ask_all(Count(), self._take_count, patience=_PATIENCE)
        except TidelogError as error:
            failure = error
            raise
        finally:
            self.asked(failure)
        self._counts = []
        for actor in self._network_of.actors:
            _, waits, frontier, waits_for = standing[actor]
            if actor.unanswered:
                waits_for = f"{SILENT} {actor.unanswered:.0f} s"
            count = self._counted.get(actor)
            rows, seconds = (0, 0.0) if count is None else (count.rows, count.seconds)
            found = actor.statistics(waits, rows, seconds, frontier, waits_for)
            self._counts.append((found, count))
        return self._counts

    def _take_count(self, actor: Actor, reply: Reply) -> None:
        if isinstance(reply, Counted):
            self._counted[actor] = reply

    def _ask_all(self, message: Count | Save, take: Callable[[Actor, Reply], None], patience: float | None = None) -> None:
        """Ask each actor, once all has landed, and wait for the answers: with a patience, for none that comes late."""
        self._begin()
        has_landed = self._islands.drain(patience)
        self._take_landed()
        if not has_landed:
            return
        for actor in self._islands.actors:
            actor.tell(message, take)
        for actor in self._islands.actors:
            while actor.is_awaited and not (patience is not None and actor.unanswered):
                actor.pump(patience)

    # --- state ----------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The whole state, in the form of a reasoner that is not spread."""
        self.come_up()
        saved: dict[Actor, bytes] = {}

        def take(actor: Actor, reply: Reply) -> None:
            if isinstance(reply, Saved):
                saved[actor] = reply.state

        self._ask_all(Save(), take)
        self.check_whole()
        united, whole_plan = [], self._plan_of_states()
        for island, actors in zip(self.islands, self._islands.shards, strict=True):
            states = [msgspec.msgpack.decode(saved[actor]) for actor in actors]
            plan = island_plan(whole_plan, island)
            shards = len(actors)
            united.append(states[0] if shards == 1 else unite(plan, island, states, partial(owner, shards=shards)))
        whole = join_states(whole_plan, self.islands, united)
        held = self._outlet.snapshot()
        outlet = whole["outlet"] | {"held": held["held"], "since": held["since"]}
        return self._state_of(whole["network"], outlet)

    def check_whole(self) -> None:
        """SnapshotError where an actor was set aside: then not all is known that a state has."""
        for name, _ in self.set_aside():
            raise SnapshotError(
                f"`{name}` was set aside: the next run tells it again all that has come since the last snapshot"
            )

    def go_on_as(self, twin: Reasoner) -> None:
        """Go on with all that has followed in a twin that is not spread, and is of no use any more."""
        state = twin.state()
        if self._network_of is not None and self.plan is not self._deployed:
            self.close()
        self._take_over(twin)
        whole: State = {"network": state["network"], "outlet": state["outlet"]}
        self._outlet.restore(state["outlet"])
        self._islands.drain()  # what the program's own facts give was told by then
        self._take_landed()
        whole_plan = self._plan_of_states()
        for island, actors in zip(self.islands, self._islands.shards, strict=True):
            part = cut_state(whole_plan, island, whole)
            shards = len(actors)
            plan = island_plan(whole_plan, island)
            states = [part] if shards == 1 else divide(plan, island, part, partial(owner, shards=shards), shards)
            for actor, found in zip(actors, states, strict=True):
                actor.go_on_from(msgspec.msgpack.encode(found))
        self._islands.go_on(self._intake.frontier)


def _nothing() -> None:
    """There is nothing to close."""


def _unasked(failure: TidelogError | None) -> None:
    """Nobody has to know: what has landed waits to be pulled."""


def _local(work: Work, *, anew: bool = False) -> Opened:
    return Opened(LocalLine(work), os.getpid())


def _work(plan: Plan, island: Island, settings: Settings, kept: frozenset[str], shards: int) -> Work:
    part = island_plan(plan, island)
    shared: frozenset[int] = frozenset()
    if island.key is not None and shards > 1:
        part = spread_plan(part, island)
        shared = frozenset(loop.number for loop in part.loops if loop.order and loop.members[0] in island.columns)
    exports = tuple(dict.fromkeys((*island.exports, *(name for name in kept if name in part.outputs))))
    ahead = min([plan.leads[step] for step in plan.outputs.values()], default=0)
    return Work(part, settings.emit, exports, settings.prospects, settings.max_state, shared, ahead)
