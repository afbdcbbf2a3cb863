"""One session with a server for mail, by the standard library's client: it blocks, and is used in a thread."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tidelog.connectors.transport.credentials import trusting

Tls = Literal["starttls", "implicit", "none"]
_TOO_LARGE = 552
_CLOSING = 421
_MOST_TEXT = 200


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in, and as whom. `password` is asked for at each connection; `timeout` is in seconds.

    With `tls` the server's certificate is looked at: `ca` is a file of those that are trusted, None means the system's.
    """

    host: str
    port: int
    tls: Tls = "starttls"
    ca: str | None = None
    user: str = ""
    password: Callable[[], str] | None = field(default=None, repr=False)
    timeout: float = 30.0

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ServerRefusalError(Exception):
    """The server does not take any mail now: it is busy, or does not let this sender in."""


@dataclass(slots=True)
class Outcome:
    """What became of one mail: the recipients that are to be tried later, and those that are refused for good, each with the
    reason. All others have it."""

    later: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class MailSession:
    """A connection to a server, used in one thread at a time. `cut` may be called in another one, and lets what is going on
    fail at once."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self._client: _Client | None = None
        self._is_cut = self._is_busy = False
        self._lock = threading.Lock()

    def open(self) -> None:
        """Connect, encrypt and log in. OSError where that fails, ServerRefusalError where the server does not want it."""
        with self._working("the server does not let it in"):
            server = self._server
            context = None if server.tls == "none" else trusting(server.ca)
            connected = socket.create_connection((server.host, server.port), server.timeout)
            try:
                if server.tls == "implicit" and context is not None:
                    connected = context.wrap_socket(connected, server_hostname=server.host)
                client = self._client = _Client(server, connected)
            except BaseException:
                connected.close()
                raise
            client.ehlo_or_helo_if_needed()
            if server.tls == "starttls" and context is not None:
                client.starttls(context=context)
                client.ehlo()
            if server.user and server.password is not None:
                client.login(server.user, server.password())

    def send(self, sender: str, recipients: Sequence[str], data: bytes) -> Outcome:
        """Hand in a mail. OSError where the connection breaks; ServerRefusalError where the server takes nothing from this
        sender now. Behind either the session is over."""
        with self._working("the server takes no mail"):
            if self._client is None:
                raise RuntimeError("the session is not open")
            return _handed_in(self._client, sender, recipients, data)

    def close(self) -> None:
        """Say goodbye."""
        with suppress(OSError, ServerRefusalError), self._working("the server does not say goodbye"):
            if self._client is not None:
                self._client.quit()
        self.cut()

    def cut(self) -> None:
        """End the connection at once."""
        with self._lock:
            self._is_cut = True
            client = self._client
            if not self._is_busy:
                self._end()
            elif client is not None and client.sock is not None:
                with suppress(OSError):
                    client.sock.shutdown(socket.SHUT_RDWR)  # whoever works with it ends it then

    @contextmanager
    def _working(self, what: str) -> Iterator[None]:
        """Something is done with the connection, which ends with it where it fails, or was cut meanwhile."""
        with self._lock:
            if self._is_cut:
                raise OSError("the connection was ended")
            self._is_busy = True
        is_done = False
        try:
            yield
            is_done = True
        except (smtplib.SMTPException, ssl.SSLError) as error:
            raise _told(error, what) from error
        finally:
            with self._lock:
                self._is_busy = False
                if self._is_cut or not is_done:
                    self._is_cut = True
                    self._end()

    def _end(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _handed_in(client: smtplib.SMTP, sender: str, recipients: Sequence[str], data: bytes) -> Outcome:
    outcome = Outcome()
    code, text = client.mail(sender, [f"SIZE={len(data)}"] if client.has_extn("size") else [])
    if code == _TOO_LARGE:
        outcome.refused = dict.fromkeys(recipients, _shown(code, text))
        return outcome
    if code != 250:
        raise ServerRefusalError(f"the server takes no mail from `{sender}`: {_shown(code, text)}")
    taken = []
    for recipient in recipients:
        code, text = client.rcpt(recipient)
        if code == _CLOSING:
            raise ServerRefusalError(_shown(code, text))
        if code in (250, 251, 252):
            taken.append(recipient)
        else:
            (outcome.refused if code >= 500 else outcome.later)[recipient] = _shown(code, text)
    if not taken:
        client.rset()
        return outcome
    try:
        code, text = client.data(data)
    except smtplib.SMTPDataError as error:
        code, text = error.smtp_code, _bytes(error.smtp_error)
    if code == _CLOSING:
        raise ServerRefusalError(_shown(code, text))
    if code != 250:
        where = outcome.refused if code >= 500 else outcome.later
        where |= dict.fromkeys(taken, _shown(code, text))
    return outcome


class _Client(smtplib.SMTP):
    """A client over a connection that is there already."""

    def __init__(self, server: MailServer, connected: socket.socket) -> None:
        self._connected = connected
        name = socket.gethostname()  # the library would ask the network for a longer one
        super().__init__(server.host, server.port, name, timeout=server.timeout)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._connected


def _told(error: Exception, what: str) -> Exception:
    """What the libraries raise as an OSError, or as what the server refuses."""
    if isinstance(error, ssl.SSLError):
        return OSError(f"TLS: {getattr(error, 'verify_message', '') or error.reason or error}")
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return OSError(str(error))
    if isinstance(error, smtplib.SMTPResponseException):
        return ServerRefusalError(f"{what}: {_shown(error.smtp_code, _bytes(error.smtp_error))}")
    return ServerRefusalError(f"{what}: {error}")


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _shown(code: int, text: bytes) -> str:
    """What a server said."""
    return " ".join(f"{code} {text.decode('utf-8', 'replace')}".split())[:_MOST_TEXT]
