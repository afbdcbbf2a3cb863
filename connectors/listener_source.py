"""Facts from all who connect: each connection is a source, on TCP or a Unix-domain socket."""

from __future__ import annotations

import anyio

from tidelog.connectors.acceptor import Acceptor
from tidelog.connectors.addresses import Address, Stream
from tidelog.connectors.decoding import Decoder
from tidelog.connectors.descriptors import READ_SIZE
from tidelog.connectors.framing import MAX_LINE, LineReader, is_empty
from tidelog.runtime.interfaces import Batch


class ListenerSource:
    """Serves many connections at once, each a source with lines and a watermark of its own; it never ends by itself.

    `port` is the TCP port once entered. A connection that breaks ends, with what is cut off of its last line rejected; one
    whose header is wrong has every line rejected. Neither costs another.
    """

    def __init__(self, address: Address, decoder: Decoder, *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self._address = address
        self._decoder = decoder
        self._max_line = max_line
        self._error: OSError | None = None
        self._acceptor: Acceptor | None = None

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port if self._acceptor else None

    async def __aenter__(self) -> ListenerSource:
        self._error = None
        self._sender, self._receiver = anyio.create_memory_object_stream[Connection](0)
        try:
            self._acceptor = await Acceptor(self._address, self._serve, self._fail).__aenter__()
        except BaseException:
            self._close_queue()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._acceptor is not None:
            acceptor, self._acceptor = self._acceptor, None
            try:
                await acceptor.__aexit__(*exc)
            finally:
                self._close_queue()

    def _close_queue(self) -> None:
        self._sender.close()
        self._receiver.close()

    async def accept(self) -> Connection:
        """The next connection. Raises OSError where listening has failed."""
        try:
            return await self._receiver.receive()
        except anyio.EndOfStream:
            raise self._error or OSError(f"{self._address}: no longer listening") from None

    def _fail(self, error: OSError) -> None:
        self._error = error
        self._sender.close()

    async def _serve(self, stream: Stream, number: int) -> None:
        """Offer the connection as a source; it stays open until that source is left."""
        decoder = self._decoder.for_stream(self._address.peer_name(stream, number))
        connection = Connection(stream, decoder, self._max_line)
        with self._sender.clone() as sender:
            await sender.send(connection)
        await connection.wait_left()


class Connection:
    """What one client sends, until it closes the connection, or it breaks."""

    def __init__(self, stream: Stream, decoder: Decoder, max_line: int) -> None:
        self.name = decoder.name
        self._stream = stream
        self._reader = LineReader(decoder, max_line, goes_on=True)
        self._left = anyio.Event()
        self._is_finished = False

    async def __aenter__(self) -> Connection:
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
            return self._reader.feed(await self._stream.receive(READ_SIZE))
        except anyio.EndOfStream:
            self._is_finished = True
            return self._reader.finish()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._is_finished = True
            return self._reader.abandon()
