"""Facts from all who connect: a source that listens, on TCP or a Unix-domain socket."""

from __future__ import annotations

import anyio

from tidelog.connectors.acceptor import Acceptor, ClientLimits
from tidelog.connectors.addresses import Address
from tidelog.connectors.connection import Connection
from tidelog.connectors.decoding import Decoder
from tidelog.connectors.descriptors import READ_SIZE
from tidelog.connectors.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.merging import merge_batches
from tidelog.runtime.interfaces import Batch, ConnectionStatistics

MAX_WAITING = 4
"""How many batches, of 64 KiB at most, wait to be received before the connections do; one `receive` takes them all."""


class ListenerSource:
    """Serves many connections at once, each with lines of its own; it never ends by itself.

    `port` is the TCP port once entered. A connection that breaks is told as rejected, one whose header is wrong
    has every line rejected; neither costs another. `clients` bounds how many there are, and how long they are silent.
    """

    def __init__(
        self, address: Address, decoder: Decoder, *, max_line: int = MAX_LINE, clients: ClientLimits | None = None
    ) -> None:
        self.name = decoder.name
        self._address = address
        self._decoder = decoder
        self._max_line = max_line
        self._acceptor = Acceptor(address, self._serve, clients or ClientLimits())

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port

    def connections(self) -> ConnectionStatistics:
        """How many clients there were."""
        return self._acceptor.statistics()

    async def __aenter__(self) -> ListenerSource:
        self._sender, self._receiver = anyio.create_memory_object_stream[Batch](MAX_WAITING)
        try:
            await self._acceptor.__aenter__()
        except BaseException:
            self._close_queue()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self._acceptor.__aexit__(*exc)
        finally:
            self._close_queue()

    def _close_queue(self) -> None:
        self._sender.close()
        self._receiver.close()

    async def receive(self) -> Batch | None:
        """What all connections have brought, once there is something."""
        batches = [await self._receiver.receive()]
        while self._receiver.statistics().current_buffer_used:
            batches.append(self._receiver.receive_nowait())
        return merge_batches(batches)

    async def _serve(self, connection: Connection, number: int) -> None:
        decoder = self._decoder.for_stream(self._address.peer_name(connection.stream, number))
        reader = LineReader(decoder, self._max_line, goes_on=True)
        with self._sender.clone() as sender:
            is_open = True
            while is_open:
                batch, is_open = await _read(connection, reader)
                if not is_empty(batch):
                    await sender.send(batch)


async def _read(connection: Connection, reader: LineReader) -> tuple[Batch, bool]:
    """The next batch of a connection, and whether more may come."""
    try:
        return reader.feed(await connection.receive(READ_SIZE)), True
    except anyio.EndOfStream:
        return reader.finish(), False
    except anyio.BrokenResourceError:
        return reader.abandon(), False
