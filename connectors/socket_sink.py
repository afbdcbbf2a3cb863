"""Answers to a server that this sink connects to, by TCP or a Unix-domain socket."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from tidelog.connectors.addresses import Address, Stream
from tidelog.connectors.formatting import Encoder
from tidelog.runtime.interfaces import AnyAnswer


class SocketSink:
    """Connects when entered. Entered again, it connects anew."""

    def __init__(self, address: Address, encoder: Encoder, *, name: str | None = None) -> None:
        self.name = name or str(address)
        self._address = address
        self._encoder = encoder
        self._stream: Stream | None = None

    async def __aenter__(self) -> SocketSink:
        self._stream = await self._address.connect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.aclose()

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Waits while the server is behind. Raises BrokenPipeError where the connection is lost."""
        if self._stream is None:
            raise ValueError("a sink is used within `async with`")
        try:
            await self._stream.send(self._encoder.encode(answers))
        except anyio.BrokenResourceError as error:
            raise BrokenPipeError(f"{self._address}: connection lost") from error
