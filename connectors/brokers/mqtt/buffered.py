"""A socket that is read and written in large pieces. Whole messages are taken out of a piece; the library has the rest."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from tidelog.connectors.brokers.mqtt.packets import Incoming, read_message

READ_SIZE = 65_536
MAX_UNSENT = 1 << 20
"""With how many bytes waiting nothing more is taken."""


class BufferedSocket:
    """Gives out what one `recv` has brought, and keeps what is sent until `flush`. For a non-blocking socket."""

    def __init__(self, raw: socket.socket | ssl.SSLSocket) -> None:
        self.raw = raw
        self._piece, self._at = b"", 0
        self._unsent = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    def recv(self, size: int) -> bytes:
        """At most so many bytes; raises what the socket raises where there are none."""
        if self._at == len(self._piece):
            self._piece, self._at = self.raw.recv(READ_SIZE), 0
        found = self._piece[self._at : self._at + size]
        self._at += len(found)
        return found

    def message(self, *, is_v5: bool) -> Incoming | None:
        """The message whose packet comes next, if it is all there; None for what `recv` has to tell: also for what fails."""
        if self._at == len(self._piece):
            try:
                self._piece, self._at = self.raw.recv(READ_SIZE), 0
            except OSError:
                return None
        found = read_message(self._piece, self._at, is_v5=is_v5) if self._piece else None
        if found is None:
            return None
        message, self._at = found
        return message

    def send(self, data: bytes) -> int:
        """Take bytes, all of them; BlockingIOError while too many wait."""
        if len(self._unsent) >= MAX_UNSENT:
            raise BlockingIOError
        self._unsent += data
        return len(data)

    def add(self, data: bytes) -> None:
        """Take bytes, however many wait."""
        self._unsent += data

    @property
    def is_drained(self) -> bool:
        """Whether the last piece was all that the system had."""
        return len(self._piece) < READ_SIZE

    @property
    def has_read(self) -> bool:
        """Whether there is something to read without asking the system."""
        return self._at < len(self._piece) or (isinstance(self.raw, ssl.SSLSocket) and self.raw.pending() > 0)

    @property
    def is_flushed(self) -> bool:
        """Whether the system has all that was sent."""
        return not self._unsent

    def flush(self) -> None:
        """Send what waits, as far as the system takes it; OSError where the connection is lost."""
        while self._unsent:
            try:
                sent = self.raw.send(self._unsent)
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            del self._unsent[:sent]
