"""Serves an outbox over TCP: to this machine, or with TLS and a token to others."""

from __future__ import annotations

import hmac
import logging
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream

from tidelog.connectors.acceptor import Acceptor, ClientLimits
from tidelog.connectors.addresses import TcpAddress
from tidelog.connectors.connection import Connection
from tidelog.connectors.outbox import OutboxReader
from tidelog.connectors.outbox_protocol import (
    LENGTH,
    MAX_REPLY,
    MAX_REQUEST,
    REPLY_BYTES,
    VERSION,
    Hello,
    Reply,
    Request,
    T,
    pack,
    reply_to,
    reply_with,
    unpack,
    unpack_length,
)
from tidelog.connectors.spec import parse_spec
from tidelog.plans.errors import ConnectorError, SpecError, TidelogError
from tidelog.runtime.interfaces import ConnectionStatistics

logger = logging.getLogger("tidelog")

HELLO_SECONDS = 10.0
"""How long a client has to say who it is."""
IDLE_SECONDS = 600.0
"""After how long a silent connection is closed, unless told otherwise; clients connect again by themselves."""
ACKNOWLEDGED_SECONDS = 5.0
"""How long an acknowledgement and its reply may take, also where the server is about to end."""
READ_ROWS = 10_000
"""How many facts one reply holds at most."""
MIN_TOKEN, MAX_TOKEN = 16, 4096
"""How many bytes a token has."""
_REFUSAL_PAUSE = 1.0
"""How many seconds a wrong token is answered late."""
_GONE = (
    OSError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


class OutboxServer:
    """Answers what clients ask of the outbox in a directory, as long as `async with`; `port` is the port once entered.

    `clients` bounds how many there are, and how long one may ask nothing (ten minutes, unless it says so); to say who it is
    each has ten seconds.
    SpecError for an address beyond this machine without TLS and a token.
    """

    def __init__(
        self,
        folder: str,
        address: TcpAddress,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        clients: ClientLimits | None = None,
    ) -> None:
        if not address.is_loopback and (token is None or tls is None):
            raise SpecError(f"`{address}` lies beyond this machine: serving an outbox there needs TLS and a token")
        self.name = str(address)
        self._folder, self._token, self._tls = folder, token, tls
        limits = clients or ClientLimits()
        self._idle_seconds = limits.timeout or IDLE_SECONDS
        self._acceptor = Acceptor(address, self._serve, ClientLimits(limits.most))
        self._threads: anyio.CapacityLimiter

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on; None before it is entered."""
        return self._acceptor.port

    async def __aenter__(self) -> OutboxServer:
        self._threads = anyio.CapacityLimiter(4)
        await self._acceptor.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._acceptor.__aexit__(*exc)

    def connections(self) -> ConnectionStatistics:
        """How many clients there were."""
        return self._acceptor.statistics()

    async def _serve(self, client: Connection, number: int) -> None:
        """Serve one client until it goes; one that is not to be understood is told so, and left."""
        try:
            with anyio.fail_after(HELLO_SECONDS):
                connection = _Messages(client if self._tls is None else await _secure(client, self._tls))
                hello = await connection.receive(Hello)
                refused = await self._refuse(hello)
                await connection.send(refused or reply_with(VERSION))
            if not refused:
                await self._answer_all(connection)
        except TimeoutError:
            client.give_up()
        except _GONE:
            return
        except TidelogError as error:
            logger.warning("outbox `%s`: a client was refused: %s", self._folder, error)

    async def _refuse(self, hello: Hello) -> Reply | None:
        if self._token is not None and not hmac.compare_digest(hello.token.encode(), self._token.encode()):
            await anyio.sleep(_REFUSAL_PAUSE)
            return Reply(error="the token is wrong", kind="spec")
        if hello.version != VERSION:
            return Reply(error=f"the server speaks version {VERSION}, the client {hello.version}", kind="spec")
        return None

    async def _answer_all(self, connection: _Messages) -> None:
        reader: OutboxReader = await self._in_thread(partial(OutboxReader, self._folder))
        try:
            while True:
                with anyio.fail_after(self._idle_seconds):
                    request = await connection.receive(Request)
                is_taking = request.method == "acknowledge"  # whose server may go once all is taken: with a reply first
                with anyio.fail_after(ACKNOWLEDGED_SECONDS if is_taking else self._idle_seconds, shield=is_taking):
                    await connection.send(await self._in_thread(partial(_answer, reader, request)))
        finally:
            with anyio.CancelScope(shield=True):
                await self._in_thread(reader.close)

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        """The disk is waited for beside the event loop."""
        return await anyio.to_thread.run_sync(call, limiter=self._threads)


class _Messages:
    """Whole messages over a stream of bytes."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._received = BufferedByteReceiveStream(stream)

    async def receive(self, kind: type[T]) -> T:
        length = unpack_length(await self._received.receive_exactly(LENGTH.size), MAX_REQUEST)
        return unpack(await self._received.receive_exactly(length), kind)

    async def send(self, reply: Reply) -> None:
        try:
            data = pack(reply, MAX_REPLY)
        except ConnectorError as error:  # a single fact that is larger than anything may be
            data = pack(reply_to(error), MAX_REPLY)
        await self._stream.send(data)


async def _secure(stream: ByteStream, context: ssl.SSLContext) -> TLSStream:
    # messages carry their length, so none can be cut short unseen where the other side just hangs up
    return await TLSStream.wrap(stream, server_side=True, ssl_context=context, standard_compatible=False)


def _answer(reader: OutboxReader, request: Request) -> Reply:
    try:
        return reply_with(_call(reader, request))
    except (ValueError, TidelogError) as error:
        return reply_to(error)


def _call(reader: OutboxReader, request: Request) -> object:
    if request.method == "read":
        return reader.read(request.number, min(request.limit, READ_ROWS), REPLY_BYTES)
    if request.method == "acknowledge":
        reader.acknowledge(request.number)
        return None
    if request.method == "schema":
        return reader.schema()
    return reader.first() if request.method == "first" else reader.last()


def parse_server(spec: str) -> TcpAddress:
    """The address that `tcp+listen://HOST:PORT` names; SpecError for anything else."""
    if spec.lower().startswith("tcp+listen:"):
        parsed = parse_spec(spec, allow_remote=True)
        if isinstance(parsed.address, TcpAddress) and parsed.predicate is None:
            return parsed.address
    raise SpecError(f"`{spec}` is not of the form `tcp+listen://HOST:PORT`")


def load_token(path: str) -> str:
    """The token in a file, without the white space around it; SpecError where there is none that can be used."""
    try:
        with open(path, "rb") as file:
            token = file.read(MAX_TOKEN + 1).strip()
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {error.strerror}") from None
    return check_token(token.decode("latin-1"), f"`{path}`")


def check_token(token: str, where: str = "the secret") -> str:
    """The token itself; SpecError where it is none that can be used, which says where it stands, and not what it is."""
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not (token.isascii() and token.isprintable()):
        raise SpecError(f"{where} holds no token: a line of {MIN_TOKEN} to {MAX_TOKEN} ASCII characters is one")
    return token


def load_certificate(certificate: str, key: str) -> ssl.SSLContext:
    """What a server needs for TLS, from a certificate and its key in PEM; SpecError where they cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")  # none is asked for on a terminal
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror if not isinstance(error, ssl.SSLError) else f"no certificate with its key ({error.reason})"
        raise SpecError(f"cannot use `{certificate}` and `{key}`: {reason}") from None
    return context
