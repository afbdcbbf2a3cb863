"""Accepts connections for a source or a sink that listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio.abc import SocketAttribute, SocketListener, TaskGroup

from tidelog.connectors.addresses import Address, Stream

MAX_CONNECTIONS = 256
"""How many connections are served at once; further ones wait in the system's backlog."""


class Acceptor:
    """Runs `serve(stream, number)` for each connection, in tasks that live as long as `async with`.

    If no more connections can be accepted, `failed` is called with the OSError.
    """

    def __init__(
        self,
        address: Address,
        serve: Callable[[Stream, int], Awaitable[None]],
        failed: Callable[[OSError], None],
    ) -> None:
        self.port: int | None = None
        self._address = address
        self._serve = serve
        self._failed = failed
        self._count = 0
        self._slots = anyio.Semaphore(MAX_CONNECTIONS)
        self._listeners: Sequence[SocketListener] = ()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Acceptor:
        self._listeners = await self._address.listen()
        port = self._listeners[0].extra(SocketAttribute.local_port, None)  # noqa: S610 - a socket's attribute
        self.port = port if isinstance(port, int) else None
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        for listener in self._listeners:
            self._tasks.start_soon(self._accept, listener, self._tasks)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            try:
                await self._tasks.__aexit__(None, None, None)
            finally:
                self._tasks = None
                await self._close()

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            for listener in self._listeners:
                await listener.aclose()
            self._address.release()

    async def _accept(self, listener: SocketListener, tasks: TaskGroup) -> None:
        while True:
            await self._slots.acquire()
            try:
                stream = await listener.accept()
            except ConnectionAbortedError:  # the client has gone before it was served
                self._slots.release()
                continue
            except OSError as error:
                self._failed(error)
                return
            self._count += 1
            tasks.start_soon(self._run, stream, self._count)

    async def _run(self, stream: Stream, number: int) -> None:
        try:
            async with stream:
                await self._serve(stream, number)
        finally:
            self._slots.release()
