"""Points from datagrams, files, and standard input."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel

from tidelog.connectors.databases.influx.grammar import Precision
from tidelog.connectors.databases.influx.points import Points, joined, read_datagram
from tidelog.connectors.formats.framing import is_empty
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.sources.compressed_source import CompressedSource
from tidelog.connectors.sources.file_source import FileSource
from tidelog.connectors.sources.stdin_source import StdinSource
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.runtime.ports.interfaces import Batch

MAX_DATAGRAMS = 256
"""How many datagrams go into one batch."""
MAX_DATAGRAM = 65_536
BUFFER = 4 << 20
"""How many bytes the system is asked to keep while nobody reads; it may keep fewer (`net.core.rmem_max`)."""


class _Heard:
    """A source whose messages are points."""

    _points: Points

    @property
    def on_messages(self) -> Callable[[Sequence[Message]], None] | None:
        """Who is told of messages."""
        return self._points.on_messages

    @on_messages.setter
    def on_messages(self, hear: Callable[[Sequence[Message]], None] | None) -> None:
        self._points.on_messages = hear


class PointsFile(_Heard, FileSource):
    """The points in a file."""

    def __init__(self, path: str, points: Points, precision: Precision, max_line: int) -> None:
        super().__init__(path, points.decoder(precision), max_line=max_line)
        self._points = points


class PackedPointsFile(_Heard, CompressedSource):
    """The points in a file that gzip has packed."""

    def __init__(self, path: str, points: Points, precision: Precision, max_line: int) -> None:
        super().__init__(path, points.decoder(precision), "gz", max_line=max_line)
        self._points = points


class PointsInput(_Heard, StdinSource):
    """The points that come by standard input, or by another descriptor."""

    def __init__(self, points: Points, precision: Precision, max_line: int, *, fd: int = 0) -> None:
        super().__init__(points.decoder(precision), max_line=max_line, fd=fd)
        self._points = points


class PointsByUdp(_Heard):
    """The points in datagrams. Nobody who sends one learns whether it has come: what comes while nobody reads is lost once
    the system's buffer is full, and what was not committed is not sent again."""

    def __init__(self, name: str, address: TcpAddress, points: Points, precision: Precision) -> None:
        self.name = name
        self.address, self._points, self._precision = address, points, precision
        self._socket: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, once it is entered."""
        return self.address.port if self._socket is None else int(self._socket.getsockname()[1])

    async def __aenter__(self) -> PointsByUdp:
        """Raises OSError where it cannot listen there."""
        found = await anyio.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, place = found[0]
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            opened.bind(place)
        except OSError:
            opened.close()
            raise
        self._socket = opened
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def receive(self) -> Batch | None:
        """The facts of the datagrams that have come, once some have. It never ends."""
        if self._socket is None:
            raise ValueError("a source is used within `async with`")
        while True:
            await anyio.wait_readable(self._socket)
            batch = joined([read_datagram(self._points, data, self._precision) for data in self._read(self._socket)])
            if not is_empty(batch):
                return batch

    def _read(self, opened: socket.socket) -> list[bytes]:
        """All that has come, up to a bound."""
        found: list[bytes] = []
        while len(found) < MAX_DATAGRAMS:
            try:
                found.append(opened.recv(MAX_DATAGRAM))
            except BlockingIOError:
                break
        return found
