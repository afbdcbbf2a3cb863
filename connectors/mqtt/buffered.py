"""A socket that is read and written in large pieces, for a library that reads a packet in four small ones."""

from __future__ import annotations

import socket
import ssl
from typing import Any

READ_SIZE = 65_536
MAX_UNSENT = 1 << 20
"""With how many bytes waiting nothing more is taken."""


class BufferedSocket:
    """Gives out what one `recv` has brought, and keeps what is sent until `flush`. For a non-blocking socket."""

    def __init__(self, raw: socket.socket | ssl.SSLSocket) -> None:
        self.raw = raw
        self._read = memoryview(b"")
        self._unsent = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    def recv(self, size: int) -> bytes:
        """At most so many bytes; raises what the socket raises where there are none."""
        if not self._read:
            self._read = memoryview(self.raw.recv(READ_SIZE))
        found, self._read = self._read[:size], self._read[size:]
        return bytes(found)

    def send(self, data: bytes) -> int:
        """Take bytes, all of them; BlockingIOError while too many wait."""
        if len(self._unsent) >= MAX_UNSENT:
            raise BlockingIOError
        self._unsent += data
        return len(data)

    @property
    def has_read(self) -> bool:
        """Whether there is something to read without asking the system."""
        return bool(self._read) or (isinstance(self.raw, ssl.SSLSocket) and self.raw.pending() > 0)

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
