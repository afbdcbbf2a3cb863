"""An outbox on another machine, or in another process, by TCP: the same as an `OutboxReader`, and as synchronous."""

from __future__ import annotations

import socket
import ssl
from types import TracebackType
from typing import TypeVar

import msgspec

from tidelog.connectors.addresses import TcpAddress
from tidelog.connectors.outbox import READ_ROWS, check_bounds
from tidelog.connectors.outbox_file import OutboxRow, OutboxSchema
from tidelog.connectors.outbox_protocol import (
    LENGTH,
    MAX_REPLY,
    MAX_REQUEST,
    VERSION,
    Hello,
    Reply,
    Request,
    pack,
    unpack,
    unpack_length,
)
from tidelog.connectors.spec import parse_spec
from tidelog.plans.errors import ConnectorError, SpecError

T = TypeVar("T")


class OutboxClient:
    """Asks an `OutboxServer` at `tcp://HOST:PORT`. Connects when first asked, and once more where the connection is lost.

    `tls` is True, or the path of the certificates (PEM) to trust in place of the system's. Without it nothing is said to
    another machine: SpecError. ConnectorError where the server cannot be reached within `timeout` seconds, SpecError where
    it wants another token; and what `OutboxReader` raises. Used by one thread at a time.
    """

    def __init__(self, address: str, *, token: str | None = None, tls: bool | str = False, timeout: float = 30.0) -> None:
        parsed = parse_spec(address, allow_remote=True).address if address.lower().startswith("tcp:") else None
        if not isinstance(parsed, TcpAddress):
            raise SpecError(f"`{address}` is not of the form `tcp://HOST:PORT`")
        if not tls and not parsed.is_loopback:
            raise SpecError(f"`{address}` lies beyond this machine: reading an outbox there needs TLS")
        self.name = str(parsed)
        self._address, self._token, self._timeout = parsed, token or "", timeout
        self._context = _trusting(tls) if tls else None
        self._socket: socket.socket | None = None

    def schema(self) -> OutboxSchema:
        """What the facts look like, and whose they are."""
        return self._ask(Request("schema"), OutboxSchema)

    def first(self) -> int:
        """The number of the first fact that is not acknowledged; one beyond the last where all are."""
        return self._ask(Request("first"), int)

    def last(self) -> int:
        """The number of the last fact; 0 where there was none."""
        return self._ask(Request("last"), int)

    def read(self, after: int, limit: int = READ_ROWS) -> list[OutboxRow]:
        """The facts behind number `after`, `limit` at most, in order; none if there are none yet."""
        check_bounds(after, limit)
        rows = self._ask(Request("read", after, limit), list[OutboxRow])
        while rows and len(rows) < limit:
            more = self._ask(Request("read", rows[-1].seq, limit - len(rows)), list[OutboxRow])
            if not more:
                break
            rows += more
        return rows

    def acknowledge(self, upto: int) -> None:
        """All facts up to this number have been taken, and may go."""
        self._ask(Request("acknowledge", max(0, upto)), None)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> OutboxClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # --- messages -------------------------------------------------------------------------------------------------------

    def _ask(self, request: Request, kind: type[T] | None) -> T:
        """Every request can be asked again: it changes nothing, or says what may be said twice."""
        try:
            is_old = self._socket is not None
            try:
                reply = self._exchange(request)
            except OSError:
                self.close()
                if not is_old:
                    raise
                reply = self._exchange(request)
        except OSError as error:
            self.close()
            raise ConnectorError(f"{self.name}: {error}") from error
        except BaseException:  # what comes next on this connection is anybody's guess
            self.close()
            raise
        reply.check()
        return msgspec.msgpack.decode(reply.value, type=kind)

    def _exchange(self, message: Request) -> Reply:
        if self._socket is None:
            self._socket = self._connect()
        self._socket.sendall(pack(message, MAX_REQUEST))
        return self._receive(self._socket)

    def _connect(self) -> socket.socket:
        """A connection on which the server has accepted us."""
        connection = socket.create_connection((self._address.host, self._address.port), self._timeout)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_hostname=self._address.host)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(pack(Hello(VERSION, self._token), MAX_REQUEST))
            self._receive(connection).check()
        except BaseException:
            connection.close()
            raise
        return connection

    def _receive(self, connection: socket.socket) -> Reply:
        length = unpack_length(self._receive_exactly(connection, LENGTH.size), MAX_REPLY)
        return unpack(self._receive_exactly(connection, length), Reply)

    def _receive_exactly(self, connection: socket.socket, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            chunk = connection.recv(min(count - len(data), 1 << 20))
            if not chunk:
                raise ConnectionResetError("the server has closed the connection")
            data += chunk
        return bytes(data)


def _trusting(tls: bool | str) -> ssl.SSLContext:
    """Whose certificates are trusted; SpecError where they cannot be read."""
    try:
        return ssl.create_default_context(cafile=None if tls is True else str(tls))
    except OSError as error:
        raise SpecError(f"cannot read the certificates in `{tls}`: {error.strerror or error}") from None
