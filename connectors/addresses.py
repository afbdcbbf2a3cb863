"""Where sockets are: TCP and Unix-domain addresses, how they are reached and how they are listened on."""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, UNIXSocketStream

Stream = SocketStream | UNIXSocketStream


class Address(Protocol):
    """A place to connect to or to listen on; `str` writes it as a SPEC does. Every method raises OSError."""

    async def connect(self) -> Stream: ...

    async def listen(self) -> Sequence[SocketListener]: ...

    def release(self) -> None:
        """Take away what listening has left behind."""
        ...

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

    async def listen(self) -> Sequence[SocketListener]:
        listener = await anyio.create_tcp_listener(local_host=self.host, local_port=self.port)
        return [item for item in listener.listeners if isinstance(item, SocketListener)]

    def release(self) -> None:
        pass

    def peer_name(self, stream: Stream, number: int) -> str:
        remote = stream.extra(SocketAttribute.remote_address, None)  # noqa: S610 - a socket's attribute
        return f"{_bracketed(remote[0])}:{remote[1]}" if isinstance(remote, tuple) else f"{self}#{number}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """`unix:///path`. A listening socket is for its owner alone, and replaces what an earlier one left behind."""

    path: str

    def __str__(self) -> str:
        return f"unix://{self.path}"

    async def connect(self) -> UNIXSocketStream:
        return await anyio.connect_unix(self.path)

    async def listen(self) -> Sequence[SocketListener]:
        return [await anyio.create_unix_listener(self.path, mode=0o600)]

    def release(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def peer_name(self, stream: Stream, number: int) -> str:
        return f"{self}#{number}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
