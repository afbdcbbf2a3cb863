"""Where sockets are: TCP and Unix-domain addresses, how they are reached and how they are listened on."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, UNIXSocketStream

from tidelog.connectors.transport.tcp_listener import TcpListener
from tidelog.connectors.transport.unix_paths import bind_path
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix

Stream = SocketStream | UNIXSocketStream


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets that listen, and how to take away what they would leave behind."""

    listeners: Sequence[SocketListener]
    release: Callable[[], None] | None = None

    async def aclose(self) -> None:
        """Listen no longer. What is left behind goes first, while it is certain whose it is."""
        try:
            if self.release is not None:
                self.release()
        finally:
            for listener in self.listeners:
                await listener.aclose()


class Address(Protocol):
    """A place to connect to or to listen on; `str` writes it as a SPEC does. `connect` and `listen` raise OSError."""

    async def connect(self) -> Stream: ...

    async def listen(self) -> Listening: ...

    def peer_name(self, stream: Stream, number: int) -> str:
        """The name of one connection, which is the `number`-th, for the places of its records."""
        ...


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """`tcp://host:port`; listening on port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"tcp://{_bracketed(self.host)}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    async def connect(self) -> SocketStream:
        return await anyio.connect_tcp(self.host, self.port)

    async def listen(self) -> Listening:
        listener = await anyio.create_tcp_listener(local_host=self.host, local_port=self.port)
        return Listening([TcpListener(item) for item in listener.listeners if isinstance(item, SocketListener)])

    def peer_name(self, stream: Stream, number: int) -> str:
        remote = stream.extra(SocketAttribute.remote_address, None)
        return f"{_bracketed(remote[0])}:{remote[1]}" if isinstance(remote, tuple) else f"{self}#{number}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """`unix:///path`. A listening socket is for its owner alone, and replaces one on which nobody listens any more.

    `listen` raises OSError where somebody does, and SpecError where there is something else.
    """

    path: str

    def __str__(self) -> str:
        return f"unix://{self.path}"

    async def connect(self) -> UNIXSocketStream:
        need_posix(f"cannot connect to `{self}`")
        return await anyio.connect_unix(self.path)

    async def listen(self) -> Listening:
        async with bind_path(self.path) as release:
            listener = await anyio.create_unix_listener(self.path, mode=0o600)
        return Listening([listener], release)

    def peer_name(self, stream: Stream, number: int) -> str:
        return f"{self}#{number}"


def parse_host_port(text: str) -> TcpAddress:
    """The address that `HOST:PORT` names; SpecError for anything else.

    >>> parse_host_port("127.0.0.1:8080"), parse_host_port("[::1]:80")
    (TcpAddress(host='127.0.0.1', port=8080), TcpAddress(host='::1', port=80))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not colon or not host or "/" in host or not (port.isascii() and port.isdigit()) or int(port[:6]) > 65535:
        raise SpecError(f"`{text}` is no address: expected HOST:PORT, such as 127.0.0.1:8080")
    return TcpAddress(host, int(port))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
