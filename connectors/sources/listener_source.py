"""Facts from all who connect: each connection is a source, on TCP or a Unix-domain socket."""

from __future__ import annotations

import anyio

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.transport.acceptor import Acceptor, ClientLimits
from tidelog.connectors.transport.addresses import Address
from tidelog.connectors.transport.connection import Connection
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.runtime.ports.interfaces import Batch, ConnectionStatistics


class ListenerSource:
    """Serves many connections at once, each a source with lines and a watermark of its own; it never ends by itself.

    `port` is the TCP port once entered. A connection that breaks ends, with what is cut off of its last line rejected; one
    whose header is wrong has every line rejected. Neither costs another. `clients` bounds how many there are, and how long
    they are silent.
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
        self._sender, self._receiver = anyio.create_memory_object_stream[ConnectionSource](0)
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

    async def accept(self) -> ConnectionSource:
        """The next connection."""
        return await self._receiver.receive()

    async def _serve(self, connection: Connection, number: int) -> None:
        """Offer the connection as a source; it stays open until that source is left."""
        decoder = self._decoder.for_stream(self._address.peer_name(connection.stream, number))
        source = ConnectionSource(connection, decoder, self._max_line)
        with self._sender.clone() as sender:
            await sender.send(source)
        await source.wait_left()


class ConnectionSource:
    """What one client sends, until it closes the connection, or it breaks."""

    def __init__(self, connection: Connection, decoder: Decoder, max_line: int) -> None:
        self.name = decoder.name
        self._connection = connection
        self._reader = LineReader(decoder, max_line, goes_on=True)
        self._left = anyio.Event()
        self._is_finished = False

    async def __aenter__(self) -> ConnectionSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._left.set()

    async def wait_left(self) -> None:
        """Wait until nothing more of it is wanted."""
        await self._left.wait()

    async def receive(self) -> Batch | None:
        """The facts that have come, once some have; None at the end."""
        while not self._is_finished:
            batch = await self._read()
            if not is_empty(batch):
                return batch
        return None

    async def _read(self) -> Batch:
        try:
            return self._reader.feed(await self._connection.receive(READ_SIZE))
        except anyio.EndOfStream:
            self._is_finished = True
            return self._reader.finish()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._is_finished = True
            return self._reader.abandon()
