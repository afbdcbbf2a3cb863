"""A listener as one source, for tests that do not care which connection says what."""

from __future__ import annotations

import anyio

from tidelog.connectors import ListenerSource
from tidelog.runtime.ports.interfaces import Batch, Source


class Audience(ListenerSource):
    """A listener of which one receives what all of its connections bring."""

    async def __aenter__(self) -> Audience:
        await super().__aenter__()
        self._heard, self._batches = anyio.create_memory_object_stream[Batch](4)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._accept_all)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        self._heard.close()
        self._batches.close()
        await super().__aexit__(*exc)

    async def receive(self) -> Batch | None:
        return await self._batches.receive()

    async def _accept_all(self) -> None:
        while True:
            self._tasks.start_soon(self._hear, await self.accept())

    async def _hear(self, source: Source) -> None:
        async with source:
            while (batch := await source.receive()) is not None:
                await self._heard.send(batch)
