"""Actors: one task a chain of operators, with an inbox and outlets; what the engine is made of.

A channel is a bounded anyio memory stream, so a slow receiver slows down its senders, up to the sources. An actor takes all
that waits in its inbox before it sends, so batches grow under load, and a lone event goes through at once. Inside a loop
channels are unbounded, since a circle of bounded ones could block itself; there the gate admits one batch at a time, and
counts what is in flight.

Where a step outside loops is read by one other step alone, the two share an actor (operator chaining, as in Flink): what one
sends to the other needs no channel, and the facts of a turn reach it together.

An actor ends when all that send to it have ended, and then closes its outlets: so the end of the sources runs through the
graph behind the last facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from tidelog.plans.facts import Fact
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.graph import Graph, PortMessage
from tidelog.runtime.intake import Delivery
from tidelog.runtime.interfaces import AnyAnswer
from tidelog.runtime.loop_control import SETTLED, LoopControl, LoopMessage
from tidelog.runtime.questions import Inquiry

CHANNEL_BOUND = 16
"""How many messages wait in a channel before its senders have to."""

T = TypeVar("T")
AnswerStream = MemoryObjectSendStream[Sequence[AnyAnswer]]
"""What leads to a sink."""


class Channel(Generic[T]):
    """An inbox: its receiving end, and a sending end to be cloned by each sender."""

    __slots__ = ("_sender", "inbox")

    def __init__(self, bound: float = CHANNEL_BOUND) -> None:
        self._sender: MemoryObjectSendStream[T]
        self.inbox: MemoryObjectReceiveStream[T]
        self._sender, self.inbox = anyio.create_memory_object_stream[T](bound)

    def sender(self) -> MemoryObjectSendStream[T]:
        """A sending end of its own for one sender, which closes it."""
        return self._sender.clone()

    def seal(self) -> None:
        """All senders have theirs: from now on the channel ends with the last of them."""
        self._sender.close()


async def everything_waiting(inbox: MemoryObjectReceiveStream[T]) -> list[T]:
    """Wait for a message, and take the others that are there by then; EndOfStream when there will be none."""
    messages = [await inbox.receive()]
    for _ in range(CHANNEL_BOUND):
        try:
            messages.append(inbox.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return messages


async def tell(answers: Sequence[AnyAnswer], sinks: Sequence[AnswerStream]) -> None:
    """Send answers to every sink; nothing if there are none."""
    for sink in sinks if answers else ():
        await sink.send(answers)


class Outlets:
    """Where a step's coverage goes: ports, each behind the channel of its actor."""

    __slots__ = ("_targets", "_told")

    def __init__(self, targets: list[tuple[MemoryObjectSendStream[PortMessage], str, int]]) -> None:
        self._targets = targets
        self._told = NEG

    async def send(self, facts: Sequence[Fact], frontier: int) -> None:
        """Send new coverage and the frontier behind it; nothing if there is no news."""
        if not facts and frontier <= self._told:
            return
        self._told = max(self._told, frontier)
        for stream, step, port in self._targets:
            await stream.send((step, port, facts, frontier))

    def close(self) -> None:
        for stream, _, _ in self._targets:
            stream.close()


def chains_of(graph: Graph) -> dict[str, list[str]]:
    """The chains of the steps outside loops: for each step that ends one, its steps in the plan's order."""
    outside = [step.id for step in graph.plan.steps if step.loop is None]
    ends: dict[str, str] = {}
    for name in reversed(outside):
        readers = {reader for reader, _ in graph.outer[name]}
        reader = readers.pop() if len(readers) == 1 and name not in graph.watched else name
        ends[name] = ends.get(reader, name)
    chains: dict[str, list[str]] = {}
    for name in outside:
        chains.setdefault(ends[name], []).append(name)
    return chains


class ChainActor:
    """Runs the operators of a chain in turn; the outlets are those of the last, to which the others lead."""

    def __init__(self, graph: Graph, chain: list[str], channel: Channel[PortMessage], outlets: Outlets) -> None:
        self._graph, self._inbox, self._outlets = graph, channel.inbox, outlets
        *self._before, self._last = chain
        self._waiting: dict[str, list[PortMessage]] = {name: [] for name in chain}

    async def run(self) -> None:
        last = self._graph.operators[self._last]
        with self._inbox:
            try:
                while True:
                    for turn in _turns(await everything_waiting(self._inbox)):
                        out = self._run_chain(turn)
                        await self._outlets.send(out, last.frontier)
            except anyio.EndOfStream:
                await self._outlets.send(self._run_chain([], stopping=True), last.frontier)
            finally:
                self._outlets.close()

    def _run_chain(self, turn: list[PortMessage], stopping: bool = False) -> list[Fact]:
        """Let each operator take what waits for it, and hand on what follows; returns what the last one sends.

        When the actor stops, each tells what it has left untold.
        """
        for message in turn:
            self._waiting[message[0]].append(message)
        for name in self._before:
            operator = self._graph.operators[name]
            told = operator.frontier
            out = self._take(name, stopping)
            if out or operator.frontier > told:
                for reader, port in self._graph.outer[name]:
                    self._waiting[reader].append((reader, port, out, operator.frontier))
        return self._take(self._last, stopping)

    def _take(self, name: str, stopping: bool) -> list[Fact]:
        waiting, self._waiting[name] = self._waiting[name], []
        out: list[Fact] = []
        for _, port, facts, frontier in waiting:
            out += self._graph.receive(name, port, facts, frontier)
        return out + self._graph.operators[name].rest() if stopping else out


def _turns(messages: list[PortMessage]) -> Iterator[list[PortMessage]]:
    """Cut before each port's end: what was known before it is sent by itself, and tells loops how far the stream came."""
    begin = 0
    for i, (_, _, _, frontier) in enumerate(messages):
        if frontier >= POS and i > begin:
            yield messages[begin:i]
            begin = i
    yield messages[begin:]


class QuestionActor:
    """Runs one question: takes all that the intake delivers, and sends what is to be told to every sink."""

    def __init__(self, inquiry: Inquiry, channel: Channel[Delivery], sinks: Sequence[AnswerStream]) -> None:
        self._inquiry, self._inbox, self._sinks = inquiry, channel.inbox, sinks
        self.told = 0

    async def run(self) -> None:
        with self._inbox:
            try:
                async for delivery in self._inbox:
                    answers = self._inquiry.take(delivery)
                    self.told += len(answers)
                    await tell(answers, self._sinks)
            finally:
                for sink in self._sinks:
                    sink.close()


class LoopGate:
    """Runs a recursive component: admits one message at a time, and moves the frontiers when nothing is in flight.

    `members` are the unbounded inboxes of the steps inside. The counter is raised with each message sent into the loop and
    lowered when its handler is done, so zero means that the loop has come to rest.
    """

    def __init__(self, graph: Graph, control: LoopControl, channel: Channel[PortMessage]) -> None:
        self._graph, self._control, self._inbox = graph, control, channel.inbox
        self._members: dict[str, Channel[LoopMessage]] = {name: Channel(math.inf) for name in control.loop.members}
        self._senders = {name: member.sender() for name, member in self._members.items()}
        for member in self._members.values():
            member.seal()
        self._in_flight = 0
        self._at_rest = anyio.Event()
        self._withheld: list[tuple[Outlets, list[Fact]]] = []

    async def run(self) -> None:
        with self._inbox:
            try:
                while True:
                    for message in await everything_waiting(self._inbox):
                        await self._admit(message)
            except anyio.EndOfStream:
                pass
            finally:
                for sender in self._senders.values():
                    sender.close()

    async def _admit(self, message: PortMessage) -> None:
        for messages in self._control.admit(*message):
            if not self._control.withholding:
                await self._send_withheld()
            self._at_rest = anyio.Event()
            for inner in messages:
                self._post(inner)
            if self._in_flight:
                await self._at_rest.wait()

    def _post(self, message: LoopMessage) -> None:
        self._in_flight += 1
        self._senders[message.step].send_nowait(message)

    async def _send_withheld(self) -> None:
        """The loop has come to its end, so what was withheld until then is an answer."""
        withheld, self._withheld = self._withheld, []
        for outlets, facts in withheld:
            await outlets.send(facts, NEG)

    async def run_member(self, name: str, outlets: Outlets) -> None:
        """Run one operator inside the loop."""
        with self._members[name].inbox as inbox:
            try:
                async for message in inbox:
                    await self._handle(message, outlets)
                    self._in_flight -= 1
                    if not self._in_flight:
                        self._at_rest.set()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                await anyio.lowlevel.checkpoint_if_cancelled()  # all stop, and another was the first
                raise
            finally:
                outlets.close()

    async def _handle(self, message: LoopMessage, outlets: Outlets) -> None:
        if message.port == SETTLED:
            await outlets.send((), message.time)
            return
        out = self._graph.receive_in_loop(message)
        if not out:
            return
        for step, port in self._graph.inner[message.step]:
            self._post(LoopMessage(step, port, out, NEG))
        if self._control.withholding:
            self._withheld.append((outlets, out))
        else:
            await outlets.send(out, NEG)
