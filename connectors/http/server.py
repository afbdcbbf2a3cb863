"""The server: hypercorn's protocol over connections that are bounded in number, in silence, and in slowness.

It runs on trio alone.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
import trio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSAttribute, TLSStream
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app

from tidelog.connectors.http.app import Action, App
from tidelog.connectors.http.copying import Copying
from tidelog.connectors.http.metrics import Metrics
from tidelog.connectors.http.outboxes import Outboxes
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.transport.acceptor import Acceptor, ClientLimits
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.connection import Connection
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import ConnectionStatistics

_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


class HttpServer:
    """Serves some watches as long as `async with`; `port` is the port once entered. SpecError on another loop than trio's.

    `watches` are the programs by name, and may change; so may `outboxes`, the directories of outboxes by the names under
    which they are served. `actions` are what `POST /-/NAME` calls. `copying` serves another gateway that follows this one.
    """

    def __init__(self, watches: Sequence[Watch], settings: HttpSettings) -> None:
        self.name = settings.url
        self.settings = settings
        self.watches: dict[str, Watch] = {watch.name: watch for watch in watches}
        if len(self.watches) < len(watches):
            raise SpecError("each program that is served needs a name of its own")
        self.actions: dict[str, Action] = {}
        self._outboxes = Outboxes(settings)
        self.outboxes = self._outboxes.folders
        self.copying = Copying(settings)
        app = App(settings, self.watches, self.actions, self._outboxes, self.copying)
        self.metrics: Metrics = app.metrics
        served: Any = app.build()  # ASGI's types are told anew by each library
        self._app = wrap_app(served, settings.max_body, "asgi")
        self._config = _config(settings)
        self._acceptor = Acceptor(settings.address, self._serve, ClientLimits(settings.max_clients))
        self._context: WorkerContext
        self._open: set[_Plain] = set()

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port

    @property
    def url(self) -> str:
        """Where the page is, with the port that is listened on."""
        address = self.settings.address
        return replace(self.settings, address=TcpAddress(address.host, self.port or address.port)).url

    def connections(self) -> ConnectionStatistics:
        """How many clients there were."""
        return self._acceptor.statistics()

    async def __aenter__(self) -> HttpServer:
        if not trio.lowlevel.in_trio_run():
            raise SpecError("HTTP is served on trio alone: leave out `--backend asyncio`")
        self._context = WorkerContext(None)
        try:
            await self._acceptor.__aenter__()
        except OSError as error:
            raise SpecError(f"cannot listen on `{self.settings.url}`: {error.strerror or error}") from error
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._outboxes.settle()
        await self._context.terminated.set()
        for stream in self._open:
            stream.abort()
        await self._acceptor.__aexit__(*exc)

    async def _serve(self, connection: Connection, number: int) -> None:
        """Serve one connection until it goes, is slow, or is silent between two requests."""
        try:
            stream = await self._opened(connection)
        except _GONE:
            return
        self._open.add(stream)
        try:
            taken: Any = stream  # of a stream of trio's, hypercorn uses what `_Plain` has
            await TCPServer(self._app, self._config, self._context, ConnectionState({}), taken)
        except _GONE:
            return
        finally:
            self._open.discard(stream)

    async def _opened(self, connection: Connection) -> _Plain:
        write = self.settings.write_seconds
        if self.settings.tls is None:
            return _Plain(connection, connection, write)
        try:
            with anyio.fail_after(self.settings.header_seconds):
                secure = await TLSStream.wrap(
                    connection, server_side=True, ssl_context=self.settings.tls, standard_compatible=False
                )
        except (ssl.SSLError, TimeoutError) as error:
            raise anyio.BrokenResourceError from error
        return _Secure(connection, secure, write)


class _Plain:
    """A connection as hypercorn takes those of trio. Whoever takes nothing for `write` seconds is left."""

    def __init__(self, connection: Connection, stream: ByteStream, write: float) -> None:
        self._connection, self._stream, self._write = connection, stream, write
        raw = connection.stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # headers and body are sent apart, and neither shall wait
        self.socket: Any = raw
        self._scope: anyio.CancelScope | None = None
        self._is_aborted = False

    def abort(self) -> None:
        """Send nothing more, and wait for nothing: hypercorn shields what it sends from being cancelled."""
        self._is_aborted = True
        if self._scope is not None:
            self._scope.cancel()

    async def send_all(self, data: bytes) -> None:
        """Raises trio.BrokenResourceError where that fails, or takes too long."""
        with anyio.move_on_after(self._write) as self._scope:
            try:
                if not self._is_aborted:
                    await self._stream.send(data)
                    return
            except _GONE as error:
                raise trio.BrokenResourceError from error
            finally:
                self._scope = None
        raise trio.BrokenResourceError("the client took nothing for too long")

    async def receive_some(self, most: int) -> bytes:
        """What has come, once something has; nothing at the end."""
        try:
            return await self._stream.receive(most)
        except anyio.EndOfStream:
            return b""
        except _GONE as error:
            raise trio.BrokenResourceError from error

    async def send_eof(self) -> None:
        try:
            await self._connection.send_eof()
        except _GONE as error:
            raise trio.BrokenResourceError from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Secure(_Plain):
    """The same behind TLS, whose handshake is over."""

    @property
    def transport_stream(self) -> _Plain:
        """What has the socket."""
        return self

    async def do_handshake(self) -> None:
        """It has been done."""

    def selected_alpn_protocol(self) -> str:
        """The protocol that both sides have agreed on."""
        return self._stream.extra(TLSAttribute.alpn_protocol, None) or "http/1.1"

    async def send_eof(self) -> None:
        raise AttributeError("TLS has no end of one side")


def _config(settings: HttpSettings) -> Config:
    config = Config()
    config.accesslog = None
    config.errorlog = logging.getLogger("tidelog.http")
    config.include_server_header = False
    config.h11_max_incomplete_size = settings.max_header
    config.h2_max_header_list_size = settings.max_header
    config.h2_max_concurrent_streams = 16
    config.keep_alive_timeout = settings.header_seconds
    config.websocket_max_message_size = 4096
    config.websocket_ping_interval = settings.keep_alive_seconds
    return config
