"""Answers to all who connect: a sink that listens, on TCP or a Unix-domain socket."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import anyio

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.backlog import Backlog
from tidelog.connectors.sinks.giving_up import GivingUp
from tidelog.connectors.sinks.outgoing import Outgoing
from tidelog.connectors.transport.acceptor import Acceptor, ClientLimits
from tidelog.connectors.transport.addresses import Address
from tidelog.connectors.transport.connection import Connection
from tidelog.connectors.transport.media import LARGEST_WINDOW, SocketMedium, socket_medium
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer, ConnectionStatistics, SinkStatistics


class ListenerSink(GivingUp):
    """Sends each answer to everyone connected at that time; while there is nobody, it waits for the first.

    A receiver that is slow holds up all: that is the backpressure. One that has gone is forgotten; if it was the last, the
    next one goes on with the first line that nobody took. `port` is the TCP port once entered. `clients` bounds how many
    there are; silent they may be for as long as they like.
    """

    takes_back = True

    def __init__(
        self, address: Address, encoder: Encoder, *, name: str | None = None, clients: ClientLimits | None = None
    ) -> None:
        self.name = name or str(address)
        self._encoder = encoder
        self._acceptor = Acceptor(address, self._serve, ClientLimits((clients or ClientLimits()).most))
        self._receivers: dict[int, _Receiver] = {}
        self._backlog = Backlog(LARGEST_WINDOW)
        self._resume = 0  # all before was given to somebody
        self._taken = self._read = 0  # by those who have gone
        self._heading: Heading | None = None
        self._numbers: deque[tuple[int, int]] = deque()  # where answers end, and the number of the last of them
        self._confirmed = 0
        self._statistics = SinkStatistics()
        self._changed: anyio.Event

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port

    @property
    def receivers(self) -> int:
        """How many are connected."""
        return len(self._receivers)

    def connections(self) -> ConnectionStatistics:
        """How many receivers there were."""
        return self._acceptor.statistics()

    def statistics(self) -> SinkStatistics:
        """What is not certain about the answers: those that nobody else was given when a receiver went."""
        return self._statistics

    @property
    def promise(self) -> Promise:
        """What nobody has taken yet is sent again, with its id."""
        return "at least once"

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers, which they are written with."""
        self._heading = heading

    def confirmed(self) -> int:
        """The number of the last answer that somebody has taken."""
        for receiver in self._receivers.values():
            with suppress(OSError):  # that it has gone is noticed where it is sent something
                receiver.taken = receiver.outgoing.taken()
        taken = max([self._taken, *(receiver.taken for receiver in self._receivers.values())])
        while self._numbers and self._numbers[0][0] <= taken:
            self._confirmed = self._numbers.popleft()[1]
        return self._confirmed

    async def __aenter__(self) -> ListenerSink:
        self._changed = anyio.Event()
        await self._acceptor.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            if not any(exc):
                await self._finish()
                self._taken = self._backlog.end
        finally:
            await self._acceptor.__aexit__(*exc)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Returns once at least one receiver, and everyone connected, has been given these."""
        self._backlog.append(await self._lines(self._encoder, answers, self._heading))
        if self._heading is not None and answers:
            self._numbers.append((self._backlog.end, self._heading.first + len(answers) - 1))
        while self._resume < self._backlog.end:
            await self._wait_for_receiver()
            for receiver in list(self._receivers.values()):
                await self._flush(receiver)

    async def _wait_for_receiver(self) -> None:
        while not self._receivers:
            self._changed = anyio.Event()
            await self._changed.wait()

    async def _finish(self) -> None:
        """Wait until all is taken by those who are connected; what the last of them did not take is for the next one."""
        while True:
            await self.send(())
            async with anyio.create_task_group() as tasks:
                for receiver in self._receivers.values():
                    tasks.start_soon(self._finish_one, receiver)
            if self._resume >= self._backlog.end:
                return

    async def _finish_one(self, receiver: _Receiver) -> None:
        try:
            await receiver.medium.finish()
        except OSError as error:
            self._leave(receiver, error)

    async def _flush(self, receiver: _Receiver) -> None:
        """Give a receiver all that it was not given yet."""
        try:
            async with receiver.turn:
                await receiver.outgoing.flush()
            receiver.taken = receiver.outgoing.taken()
        except OSError as error:
            self._leave(receiver, error)
            return
        if receiver.number in self._receivers:
            self._resume = max(self._resume, receiver.outgoing.handed)
            everyone = self._receivers.values()
            given = min(item.outgoing.handed for item in everyone)
            self._backlog.take(min(given, max(item.taken for item in everyone)))

    async def _serve(self, connection: Connection, number: int) -> None:
        """Keep a connection until it is found broken, or the sink is left."""
        medium = await socket_medium(connection.stream)
        receiver = _Receiver(number, medium, Outgoing(self._backlog, medium, self._resume))
        self._receivers[number] = receiver
        self._changed.set()
        try:
            with receiver.scope:
                await self._flush(receiver)
                await receiver.watch(connection)
        except (OSError, anyio.BrokenResourceError) as error:
            self._leave(receiver, error if isinstance(error, OSError) else OSError(errno.EPIPE, str(error)))
        finally:
            self._receivers.pop(number, None)
            medium.close()

    def _leave(self, receiver: _Receiver, error: OSError) -> None:
        """A receiver has gone: what it may not have taken is for the next one, or lost where others have gone further."""
        if self._receivers.pop(receiver.number, None) is None:
            return
        receiver.scope.cancel()
        broken = receiver.outgoing.broken(error)
        if self._receivers:
            begin = min(item.outgoing.begin for item in self._receivers.values())
            until = max(broken.read, min(broken.handed, begin))
            lost = self._backlog.lines(max(broken.read, self._read), until)
            self._statistics += SinkStatistics(1 if lost else 0, lost)
        else:
            self._resume = min(self._resume, max(broken.resume, self._backlog.line_start(self._taken)))
            found = broken.statistics(self._backlog, self._resume)
            self._statistics += found if found.lost or found.repeated else SinkStatistics()
        self._taken, self._read = max(self._taken, broken.taken), max(self._read, broken.read)


class _Receiver:
    """A connected receiver: how far it was given the answers, and how far it has taken them."""

    def __init__(self, number: int, medium: SocketMedium, outgoing: Outgoing) -> None:
        self.number, self.medium, self.outgoing = number, medium, outgoing
        self.taken = outgoing.begin
        self.scope = anyio.CancelScope()
        self.turn = anyio.Lock()

    async def watch(self, connection: Connection) -> None:
        """Notice that it goes: OSError; BrokenResourceError where it has ended its side, and its place is needed."""
        while not self.medium.has_ended:
            await anyio.wait_readable(self.medium.socket)
            self.medium.hear()
        await connection.wait_for(anyio.sleep_forever)
