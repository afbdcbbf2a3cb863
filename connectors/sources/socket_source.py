"""Facts from a server that this source connects to, by TCP or a Unix-domain socket."""

from __future__ import annotations

import anyio

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.transport.addresses import Address, Stream
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.runtime.ports.interfaces import Batch


class SocketSource:
    """Connects when entered and reads until the server ends the stream. Entered again, it connects anew.

    Where a connection breaks, `receive` raises OSError, and the line that was cut off is rejected after the next one.
    """

    def __init__(self, address: Address, decoder: Decoder, *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self._address = address
        self._decoder = decoder
        self._max_line = max_line
        self._lost = Batch()
        self._stream: Stream | None = None
        self._reader = LineReader(decoder, max_line)
        self._is_finished = False

    async def __aenter__(self) -> SocketSource:
        self._stream = await self._address.connect()
        self._reader = LineReader(self._decoder.for_stream(self.name), self._max_line)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.aclose()

    async def receive(self) -> Batch | None:
        """The facts that have come, once some have. Raises OSError, and DataError as the decoder does."""
        if self._stream is None:
            raise ValueError("a source is used within `async with`")
        if not is_empty(self._lost):
            lost, self._lost = self._lost, Batch()
            return lost
        while not self._is_finished:
            batch = await self._read(self._stream)
            if not is_empty(batch):
                return batch
        return None

    async def _read(self, stream: Stream) -> Batch:
        try:
            return self._reader.feed(await stream.receive(READ_SIZE))
        except anyio.EndOfStream:
            self._is_finished = True
            return self._reader.finish()
        except anyio.BrokenResourceError as error:
            self._lost = self._reader.abandon()
            raise ConnectionResetError(f"{self._address}: connection lost") from error
