"""One client of a listener: what it has to say, and for how long it has said nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.abc import ByteStream

from tidelog.connectors.transport.addresses import Stream

T = TypeVar("T")


class Connection(ByteStream):
    """A client's stream that notices silence: `receive` raises BrokenResourceError once the client is given up.

    It is given up after `timeout` seconds without a byte (None: never), or when its place is needed (`give_up`). Only
    waiting for the client counts: while the engine is slow, nobody is silent.
    """

    def __init__(self, stream: Stream, timeout: float | None) -> None:
        self.stream = stream
        self.is_given_up = False
        self.silent_since: float | None = None
        """Since when it is waited for; None while it is not."""
        self._timeout = timeout
        self._scope: anyio.CancelScope | None = None

    def give_up(self) -> None:
        """Wait for this client no longer."""
        self.is_given_up = True
        if self._scope is not None:
            self._scope.cancel()

    async def wait_for(self, news: Callable[[], Awaitable[T]]) -> T:
        """What `news` returns, which waits for this client; BrokenResourceError where the client is given up."""
        with anyio.move_on_after(self._timeout) as self._scope:
            self.silent_since = anyio.current_time()
            try:
                if not self.is_given_up:
                    return await news()
            finally:
                self.silent_since = self._scope = None
        self.is_given_up = True
        raise anyio.BrokenResourceError("the client was silent for too long")

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self.wait_for(partial(self.stream.receive, max_bytes))

    async def send(self, item: bytes) -> None:
        await self.stream.send(item)

    async def send_eof(self) -> None:
        await self.stream.send_eof()

    async def aclose(self) -> None:
        await self.stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self.stream.extra_attributes
