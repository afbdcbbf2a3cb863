"""Accepts connections for a source, a sink or a server that listens: so many at once, whatever the system says to it."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.abc import SocketAttribute, SocketListener, TaskGroup

from tidelog.connectors.transport.addresses import Address, Listening, Stream
from tidelog.connectors.transport.connection import Connection
from tidelog.runtime.ports.interfaces import ConnectionStatistics

logger = logging.getLogger("tidelog")

MAX_CLIENTS = 256
"""How many clients are served at once unless told otherwise."""
SILENT_SECONDS = 5.0
"""For how long a client has said nothing before another one may have its place."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""How many seconds to wait where the system gives no connection: doubled each time, and cut short when a client goes."""
_TOLD_EVERY = 60.0
"""How many seconds lie at least between two warnings of one kind."""
_OF_ONE_CLIENT = {
    errno.ECONNABORTED,
    errno.EPROTO,
    errno.EPERM,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENOPROTOOPT,
    errno.EOPNOTSUPP,
}
"""Errors of `accept` that concern the client which it takes off the queue, and no other (accept(2))."""
_KEEP_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 4))
"""After how many seconds of silence the system asks whether a client's machine is there, how often, how many times."""


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """How many clients are served at once, and after how many seconds of silence one is left (None: never).

    ValueError for a number below 1, and for a time that is not above 0.
    """

    most: int = MAX_CLIENTS
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ValueError(f"`most` is 1 or more, got {self.most}")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"`timeout` is above 0 s, got {self.timeout}")


class Acceptor:
    """Runs `serve(connection, number)` for each connection, in tasks that live as long as `async with`.

    Where all places are taken, the client that has been silent for longest gives up its place, if it has said nothing for
    `SILENT_SECONDS`; otherwise the new one is closed at once. The same where the system has no more descriptors or memory:
    that is told, and tried again until there are. The system asks silent clients by TCP whether they are still there.
    """

    def __init__(
        self,
        address: Address,
        serve: Callable[[Connection, int], Awaitable[None]],
        limits: ClientLimits,
    ) -> None:
        self.port: int | None = None
        self._address = address
        self._serve = serve
        self._limits = limits
        self._count = self._accepted = self._refused = self._silent = 0
        self._connections: set[Connection] = set()
        self._told: dict[str, float] = {}
        self._listening: Listening | None = None
        self._tasks: TaskGroup | None = None
        self._freed: anyio.Event

    def statistics(self) -> ConnectionStatistics:
        """How many clients were served, refused, and left since they were silent."""
        return ConnectionStatistics(self._accepted, self._refused, self._silent)

    async def __aenter__(self) -> Acceptor:
        self._listening = await self._address.listen()
        listeners = self._listening.listeners
        port = listeners[0].extra(SocketAttribute.local_port, None)
        self.port = port if isinstance(port, int) else None
        self._freed = anyio.Event()
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        for listener in listeners:
            self._tasks.start_soon(self._accept, listener, self._tasks)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._tasks is not None and self._listening is not None:
            self._tasks.cancel_scope.cancel()
            try:
                await self._tasks.__aexit__(None, None, None)
            finally:
                self._tasks = None
                with anyio.CancelScope(shield=True):
                    for connection in [*self._connections]:  # cancelled before it was served at all
                        await connection.aclose()
                    self._connections.clear()
                    await self._listening.aclose()

    async def _accept(self, listener: SocketListener, tasks: TaskGroup) -> None:
        while True:
            stream = await self._next(listener)
            if len(self._connections) >= self._limits.most and not self._make_room():
                await self._refuse(stream)
                continue
            self._accepted += 1
            self._count += 1
            connection = Connection(stream, self._limits.timeout)
            self._connections.add(connection)
            tasks.start_soon(self._run, connection, self._count)

    async def _next(self, listener: SocketListener) -> Stream:
        """The next connection, however often the system cannot give one."""
        pause = _FIRST_PAUSE
        waiting = listener.extra(SocketAttribute.raw_socket)
        while True:
            await anyio.wait_readable(waiting)  # without descriptors `accept` fails even where nobody wants to connect
            try:
                stream = await listener.accept()
            except (OSError, anyio.BrokenResourceError) as error:
                cause = error if isinstance(error, OSError) else error.__cause__
                if isinstance(cause, OSError) and cause.errno in _OF_ONE_CLIENT:
                    continue
                self._tell("error", f"no connection can be accepted: {cause or error}; trying again")
                self._make_room()
                await self._wait_for_room(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                _keep_alive(stream)
                return stream

    async def _wait_for_room(self, seconds: float) -> None:
        """Wait so long, or until a client has gone."""
        self._freed = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._freed.wait()

    def _make_room(self) -> bool:
        """Give up the client that has been silent for longest; returns whether there was one to be given up."""
        since = {item: item.silent_since for item in self._connections if item.silent_since is not None}
        longest = min(since, key=lambda item: since[item] or 0.0, default=None)
        if longest is None or anyio.current_time() - (since[longest] or 0.0) < SILENT_SECONDS:
            return False
        self._connections.discard(longest)
        longest.give_up()
        return True

    async def _refuse(self, stream: Stream) -> None:
        self._refused += 1
        self._tell("full", f"all {self._limits.most} places for clients are taken: further ones are closed at once")
        with anyio.CancelScope(shield=True):
            await stream.aclose()

    def _tell(self, kind: str, text: str) -> None:
        """A warning, unless the same was told a short time ago."""
        now = anyio.current_time()
        if now - self._told.get(kind, -_TOLD_EVERY) >= _TOLD_EVERY:
            logger.warning("%s: %s", self._address, text)
        self._told[kind] = now

    async def _run(self, connection: Connection, number: int) -> None:
        try:
            async with connection:
                await self._serve(connection, number)
        except OSError as error:  # such as no descriptor left: it costs this client alone
            self._accepted -= 1
            self._refused += 1
            self._tell("left", f"a client could not be served: {error}")
        finally:
            self._silent += connection.is_given_up
            self._connections.discard(connection)
            self._freed.set()


def _keep_alive(stream: Stream) -> None:
    """Let the system find out that a client's machine is gone; a live one that is silent stays."""
    raw = stream.extra(SocketAttribute.raw_socket)
    if raw.family == socket.AF_UNIX:
        return
    with suppress(OSError):  # it has gone already: that is noticed when it is read
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE:
            if hasattr(socket, name):  # not every system lets it be chosen
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
