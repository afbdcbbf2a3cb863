"""An outbox on another machine, or in another process, by HTTP: the same as an `OutboxReader`, and as synchronous."""

from __future__ import annotations

import re
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from urllib.parse import urlsplit

import msgspec

from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.outbox.lines import (
    FIRST,
    LAST,
    MAX_REPLY,
    READ_ROWS,
    Acknowledgement,
    Problem,
    decode_rows,
)
from tidelog.connectors.outbox.outbox import check_bounds
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.credentials import trusting
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

FORM = "http://HOST:PORT/outbox/NAME"
"""What an address looks like, for messages."""
_CHUNK = 1 << 20
_HOST = re.compile(r"[^\s@]+\Z")


def is_address(place: str) -> bool:
    """Whether it is the address of an outbox, not a directory."""
    return place.lower().startswith(("http:", "https:"))


def check_address(address: str) -> str:
    """The address as the data source and checkpoints know it; SpecError where it is none.

    >>> check_address("HTTP://GW1:8080/outbox/alarms/")
    'http://gw1:8080/outbox/alarms'
    """
    parts = urlsplit(address)
    try:
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        is_one = False
    path = parts.path.rstrip("/")
    if not is_one or not _HOST.match(parts.netloc) or "/outbox/" not in path or parts.query or parts.fragment:
        raise SpecError(f"`{address}` is not of the form `{FORM}`")
    if not (path.isascii() and path.isprintable() and " " not in path):
        raise SpecError(f"`{address}`: a path is of ASCII characters without spaces")
    return f"{parts.scheme}://{parts.netloc.lower()}{path}"


class OutboxClient:
    """Asks the server at `http://HOST:PORT/outbox/NAME`, or `https:`. Connects when first asked, and once more where the
    connection is lost.

    `trusted` is the path of the certificates (PEM) to trust in place of the system's. Without TLS nothing is said to another
    machine: SpecError. ConnectorError where the server cannot be reached within `timeout` seconds, SpecError where it wants
    another token, or has no such outbox; and what `OutboxReader` raises. Used by one thread at a time.
    """

    def __init__(self, address: str, *, token: str | None = None, trusted: str | None = None, timeout: float = 30.0) -> None:
        self.name = check_address(address)
        parts = urlsplit(self.name)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme == "http" and not TcpAddress(host, port).is_loopback:
            raise SpecError(f"`{address}` lies beyond this machine: reading an outbox there needs TLS, `https:`")
        self._path = parts.path
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if parts.scheme == "https":
            self._connection: HTTPConnection = HTTPSConnection(host, port, timeout=timeout, context=trusting(trusted))
        else:
            self._connection = HTTPConnection(host, port, timeout=timeout)

    def schema(self) -> OutboxSchema:
        """What the facts look like, and whose they are."""
        data = self._ask("GET", "/schema")[1]
        try:
            return msgspec.json.decode(data, type=OutboxSchema)
        except msgspec.MsgspecError as error:
            raise ConnectorError(f"{self.name}: the reply cannot be read: {error}") from None

    def first(self) -> int:
        """The number of the first fact that is not acknowledged; one beyond the last where all are."""
        return self._kept(FIRST)

    def last(self) -> int:
        """The number of the last fact; 0 where there was none."""
        return self._kept(LAST)

    def read(self, after: int, limit: int = READ_ROWS) -> list[OutboxRow]:
        """The facts behind number `after`, `limit` at most, in order; none if there are none yet."""
        check_bounds(after, limit)
        rows: list[OutboxRow] = []
        while len(rows) < limit:
            behind = after + len(rows)
            data = self._ask("GET", f"?after={behind}&limit={min(limit - len(rows), READ_ROWS)}")[1]
            more = decode_rows(data, behind)
            if not more:
                break
            rows += more
        return rows

    def acknowledge(self, upto: int) -> None:
        """All facts up to this number have been taken, and may go."""
        self._ask("POST", "/ack", msgspec.json.encode(Acknowledgement(max(0, upto))))

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._connection.close()

    def __enter__(self) -> OutboxClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # --- requests -------------------------------------------------------------------------------------------------------

    def _kept(self, header: str) -> int:
        text = self._ask("HEAD", "")[0].headers.get(header, "")
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise ConnectorError(f"{self.name}: the reply has no number `{header}`: this is no outbox's server")
        return int(text)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[HTTPResponse, bytes]:
        """Every request can be asked again: it changes nothing, or says what may be said twice."""
        try:
            is_old = self._connection.sock is not None
            try:
                response, data = self._exchange(method, path, body)
            except (OSError, HTTPException):
                self.close()
                if not is_old:
                    raise
                response, data = self._exchange(method, path, body)
        except (OSError, HTTPException) as error:
            self.close()
            raise ConnectorError(f"{self.name}: {str(error) or type(error).__name__}") from error
        except BaseException:  # what comes next on this connection is anybody's guess
            self.close()
            raise
        if response.status != 200:
            raise self._refusal(response, data)
        return response, data

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[HTTPResponse, bytes]:
        self._connection.request(method, self._path + path, body, self._headers)
        response = self._connection.getresponse()
        data = bytearray()
        while chunk := response.read(_CHUNK):
            data += chunk
            if len(data) > MAX_REPLY:
                raise ConnectorError(f"{self.name}: the reply is too long: {MAX_REPLY} bytes at most")
        if response.length:  # `read` with a number of bytes does not say that there should be more
            raise HTTPException("the reply ends before its end")
        return response, bytes(data)

    def _refusal(self, response: HTTPResponse, data: bytes) -> Exception:
        """What the server says is wrong, as the error that a reader would raise."""
        try:
            told = msgspec.json.decode(data, type=Problem).error
        except msgspec.MsgspecError:
            told = f"{response.status} {response.reason}"
        kinds: dict[int, type[Exception]] = {400: ValueError, 401: SpecError, 403: SpecError, 404: SpecError}
        kind = kinds.get(response.status, ConnectorError)
        return kind(told if kind is ValueError else f"{self.name}: {told}")
