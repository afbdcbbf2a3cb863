"""A TCP listener whose connections read nothing by themselves.

On asyncio, anyio's own connections read from when they are accepted on, whether anybody receives or not: a client whose
facts are held back would fill the memory. Here bytes stay in the system's buffers, which are bounded, until they are asked
for; on both backends alike.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import SocketAttribute, SocketListener, SocketStream

T = TypeVar("T")


class TcpListener(SocketListener):
    """Accepts connections on the socket of a listener of anyio's, which is closed with it."""

    def __init__(self, inner: SocketListener) -> None:
        self._inner = inner
        self._socket: socket.socket = inner.extra(SocketAttribute.raw_socket)

    @property
    def _raw_socket(self) -> socket.socket:
        return self._socket

    async def accept(self) -> SocketStream:
        """The next connection. Raises OSError."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                own, _ = self._socket.accept()
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            else:
                return TcpStream(own)

    async def aclose(self) -> None:
        await self._inner.aclose()


class TcpStream(SocketStream):
    """One connection: what comes is read when it is asked for."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._socket = own

    @property
    def _raw_socket(self) -> socket.socket:
        return self._socket

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.lowlevel.checkpoint()
        data = await self._once_ready(partial(self._socket.recv, max_bytes), anyio.wait_readable)
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        view = memoryview(item)
        while view:
            view = view[await self._once_ready(partial(self._socket.send, view), anyio.wait_writable) :]

    async def send_eof(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()
        await anyio.lowlevel.checkpoint()

    async def _once_ready(self, act: Callable[[], T], until_ready: Callable[[socket.socket], Awaitable[None]]) -> T:
        """What `act` returns, as soon as the socket is ready for it."""
        while True:
            if self._socket.fileno() < 0:
                raise anyio.ClosedResourceError
            try:
                return act()
            except BlockingIOError:
                await until_ready(self._socket)
            except OSError as error:
                raise anyio.BrokenResourceError from error
