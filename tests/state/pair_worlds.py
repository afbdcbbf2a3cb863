"""Two nodes with a state each, in one process: one leads a run, the other one follows it, and faults are drawn.

States, sessions, what waits for a copy, and what follows are the real ones. The lease, the network, devices and receivers
are the world's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, cast

import anyio
import anyio.lowlevel

from state.drawn_worlds import KilledError, Machine
from tidelog import Engine, MemorySource
from tidelog.connectors.standby.keeper import Keeper
from tidelog.connectors.standby.leader import Leader, NotLeadingError, OutrunError
from tidelog.connectors.standby.lease import Lease
from tidelog.connectors.standby.partner import Partner
from tidelog.connectors.standby.shared_state import Entry, Position, SharedState
from tidelog.connectors.standby.wire import Reply
from tidelog.gateway.engines import Running
from tidelog.gateway.pair.following import Follower
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError, FencedError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.durable.hot import Hot
from tidelog.runtime.ports.durability import Changes, Heading, Kept, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, EmitMode

PATIENCE = 0.5
NAME = "plant"


class Held:
    """The lease of a node, which the world gives and takes; and what looks after it."""

    def __init__(self, node: str) -> None:
        self.node, self.epoch, self.copied, self.holds = node, 0, "", False

    def check(self) -> None:
        if not self.holds:
            raise FencedError("the world has given the lease to nobody, or another one")

    def say_copied(self, node: str) -> int:
        self.copied = node
        return 0

    async def wait_said(self, number: int) -> None:
        await anyio.lowlevel.checkpoint()
        self.check()


class MortalState(SharedState):
    """A state on a machine that is killed before or after it has stored something."""

    machine: Machine

    def _store(self, changes: Changes, data: bytes) -> Kept:
        return self.machine.write(lambda: super(MortalState, self)._store(changes, data))


class Device(MemorySource):
    """Says facts one by one; what it has a receipt for it never says again."""

    is_replayable = True

    def __init__(self, world: PairWorld) -> None:
        self._world = world
        super().__init__(self._from(world.received), name="device")

    def _from(self, begin: int) -> list[Batch]:
        facts = self._world.facts
        return [Batch([fact], position={"at": i + 1}) for i, fact in enumerate(facts) if i >= begin]

    def resume(self, position: dict[str, Any]) -> None:
        assert self._world.is_forced or position["at"] >= self._world.received, "what has a receipt is lost"
        self._rest = iter(self._from(max(position["at"], self._world.received)))

    async def receive(self) -> Batch | None:
        await anyio.sleep(self._world.chance.choice((0, 0, 0.05)))
        return await super().receive()

    def acknowledge(self, position: dict[str, Any]) -> None:
        self._world.received = max(self._world.received, position["at"])


class Receiver:
    """Is told answers, each at least once, with its id, by a node that may be killed before or after that."""

    promise: Promise = "at least once"
    name = "receiver"

    def __init__(self, world: PairWorld, node: Node) -> None:
        self._world, self._node = world, node
        self._heading = Heading("", 1, 0)

    async def __aenter__(self) -> Receiver:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def number(self, heading: Heading) -> None:
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        assert self._node.held.holds, "told after the lease was over"
        for i, answer in enumerate(answers):
            await anyio.lowlevel.checkpoint()
            name = f"{self._heading.run}-{self._heading.first + i}"
            epoch = self._heading.epoch
            self._node.machine.write(lambda name=name, answer=answer, epoch=epoch: self._world.hear(name, answer, epoch))  # type: ignore[misc] # of a loop


class Node:
    """One of the two: its machine, its lease and what it runs."""

    def __init__(self, world: PairWorld, name: str) -> None:
        self.world, self.name = world, name
        self.machine, self.held = Machine(), Held(name)
        self.partner = Partner(cast(Keeper, self.held), PATIENCE)
        self.is_there = True

    def open(self) -> SharedState:
        state = MortalState(str(self.world.folder / self.name), cast(Lease, self.held), self.partner)
        state.machine = self.machine
        return state

    def make(self, state: SharedState) -> Running:
        return cast(Running, Run(self.world, self, state))

    def follower(self) -> Follower:
        leader = cast(Leader, Wire(self.world, self))
        return Follower(NAME, self.world.folder / self.name, leader, self.open, self.make)


class Run:
    """What a gateway runs, without all that is shown of it."""

    def __init__(self, world: PairWorld, node: Node, state: SharedState) -> None:
        self.state = state
        self.engine = Engine(
            world.plan,
            [Device(world)],
            [Receiver(world, node)],
            emit=world.emit,
            state=state,
            commit_every=0,
            **world.spread,
        )

    async def stand_by(self) -> Hot | None:
        return await self.engine.stand_by()

    def leave(self) -> None:
        self.engine.give_up()

    def discard(self) -> None:
        self.leave()
        self.state.close()


class Wire:
    """The other node, as one that follows reaches it, or does not."""

    def __init__(self, world: PairWorld, node: Node) -> None:
        self._world, self._node = world, node

    def _state(self) -> SharedState:
        if self._world.is_cut:
            raise ConnectorError("the wire is cut")
        state = self._world.leading
        if state is None or not state.is_leading:
            raise NotLeadingError("nobody leads")
        return state

    async def behind(self, name: str, position: Position, wait: float) -> Reply:
        await self._world.delay()
        state, partner = self._state(), self._world.leader.partner
        self._world.pass_()
        entries: list[Entry] | None = state.behind(position)
        if entries is None:
            raise OutrunError("a copy is needed")
        partner.taken(self._node.name, state, position.commit)
        if not entries:
            await state.wait_for_news(wait)
            entries = state.behind(position) or []
        self._world.pass_()
        await self._world.delay()
        self._state()
        return Reply(state.epoch, state.commits, entries)

    async def copy(self, name: str, path: str) -> None:
        await anyio.lowlevel.checkpoint()
        self._state().copy_to(path)


class PairWorld:
    """Gives the lease now to one node, now to the other, as long as it has all, or, where it is forced to, whatever it has.

    `emit` is how the run tells its answers.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        facts: Sequence[Record],
        emit: EmitMode,
        chance: Random,
        *,
        is_forced: bool = False,
        spread: Mapping[str, Any] | None = None,
    ) -> None:
        self.spread = {} if spread is None else spread
        self.is_forced = is_forced
        self.folder, self.plan, self.facts, self.emit, self.chance = folder, plan, facts, emit, chance
        self.received = 0
        self.told: dict[str, AnyAnswer] = {}
        self.epoch = 0
        self.is_cut = False
        self.left_on_wire: int | None = None
        self.nodes = [Node(self, name) for name in "ab"]
        self.leader = self.nodes[0]
        self.leading: SharedState | None = None
        self.copied = ""
        self.kinds: set[str] = set()
        self._hot: dict[str, Follower] = {}

    def hear(self, name: str, answer: AnyAnswer, epoch: int | None) -> None:
        """Somebody is told an answer: whatever comes again is what came before, and nobody older tells anything."""
        assert epoch == self.epoch, (epoch, self.epoch)
        assert self.told.setdefault(name, answer) == answer, name

    def pass_(self) -> None:
        """Something passes the wire, unless it is cut just now."""
        if self.left_on_wire is not None:
            self.left_on_wire -= 1
            self.is_cut = self.is_cut or self.left_on_wire <= 0
        if self.is_cut:
            raise ConnectorError("the wire is cut")

    async def delay(self) -> None:
        """What passes the wire takes a while."""
        for _ in range(self.chance.choice((0, 1, 5, 30))):
            await anyio.lowlevel.checkpoint()

    async def _follower(self, node: Node) -> Follower:
        """The node as it goes on: the process that has followed so far, or a new one."""
        follower = self._hot.pop(node.name, None)
        if follower is None:
            follower = node.follower()
            await follower.open()
        return follower

    async def live(self, *, disturbed: bool) -> bool:
        """One leads until it is killed, fenced, or has come to its end; returns whether it has."""
        chance = self.chance
        is_first = self.is_forced or not self.epoch
        able = [node for node in self.nodes if is_first or node.name in (self.leader.name, self.copied)]
        leader = chance.choice(able)
        other = self.nodes[1 - self.nodes.index(leader)]
        self.kinds.add("again" if leader is self.leader else "taken over")
        self.leader, self.is_cut, self.left_on_wire = leader, False, None
        for node in self.nodes:
            node.machine.revive(None)
            node.held.holds = False
        first, second = await self._follower(leader), await self._follower(other)
        await first.make_ready()
        if first.is_hot and self.kinds & {"taken over"}:
            self.kinds.add("hot")
        fault = chance.choice(("kill", "kill", "fence", "cut", "cut", "follower", "both")) if disturbed else "none"
        if fault in ("kill", "both"):
            leader.machine.revive(chance.randint(1, 25))
        if fault in ("follower", "both"):
            other.machine.revive(chance.randint(1, 12))
        if fault == "cut":
            self.left_on_wire = chance.randint(2, 20)
        self.epoch += 1
        leader.held.epoch, leader.held.holds, leader.held.copied = self.epoch, True, ""
        self.leading = first.state
        leader.partner.states = {NAME: first.state}
        leader.partner.begin()
        is_done = False
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, second, other)
                if fault in ("fence", "cut", "follower"):
                    tasks.start_soon(self._fence, leader.held, tasks, chance.randint(0, 120))
                with suppress(KilledError, FencedError):
                    await cast(Run, first.running).engine.run()
                    is_done = True
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            _, rest = group.split((KilledError, FencedError))
            if rest is not None:
                raise rest from None
        self.copied = leader.held.copied
        self.leading = None
        leader.held.holds = False
        first.state.stop_leading()
        first.state.close()
        if other.name not in self._hot:
            second.state.close()
        self.kinds |= {fault, "alone" if not self.copied else "together"}
        return is_done

    async def _fence(self, held: Held, tasks: anyio.abc.TaskGroup, steps: int) -> None:
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        if self.chance.random() < 0.7:
            await anyio.sleep(self.chance.uniform(0, 3 * PATIENCE))
        held.holds = False
        if self.chance.random() < 0.3:
            tasks.cancel_scope.cancel()  # otherwise it has to notice by itself

    async def _follow(self, follower: Follower, node: Node) -> None:
        """Follow until the life ends; who is not killed is hot then."""
        try:
            self._hot[node.name] = follower
            await follower.run()
        except KilledError:
            del self._hot[node.name]
