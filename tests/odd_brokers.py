"""A broker for tests that does what a real one never does when asked to: it refuses, has a small limit, or lies.

It speaks as much of MQTT 5 as one client needs. What it answers to each message is told by the test.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from children import WAIT

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK = 1, 2, 3, 4, 5, 6, 7, 8, 9
PINGREQ, PINGRESP = 12, 13
TAKEN, QUOTA_EXCEEDED, NOT_AUTHORIZED, UNSPECIFIED = 0x00, 0x97, 0x87, 0x80
SILENT = -1
"""In place of a reason code: no answer at all."""
_MAXIMUM_PACKET_SIZE = b"\x27"


@dataclass(frozen=True)
class Published:
    """A message that the broker was sent, as bytes, and how large its packet was."""

    topic: bytes
    payload: bytes
    size: int


@dataclass
class OddBroker:
    """Serves connections in threads, for the length of a `with` block.

    `answer` gives the reason code for each message; `largest` is the packet that CONNACK allows, if
    it `tells`; `sends` are packets that
    each client is sent once it has subscribed. `taken` and `refused` have the messages, in order.
    """

    answer: Callable[[Published], int] = lambda message: TAKEN
    largest: int | None = None
    tells: bool = True
    sends: list[bytes] = field(default_factory=list)
    taken: list[Published] = field(default_factory=list)
    refused: list[Published] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Why it has ended connections."""

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def __enter__(self) -> OddBroker:
        self._start(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_all()
        for thread in self._threads:
            thread.join(WAIT)

    def drop_all(self) -> None:
        """End all connections; new ones can be made."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    def _start(self, work: Callable[..., None], *given: socket.socket) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(link)
            self._start(self._serve, link)

    def _serve(self, link: socket.socket) -> None:
        with suppress(OSError, EOFError), link:
            while True:
                kind, flags, body, size = _read(link)
                if self.largest is not None and size > self.largest:
                    self.broken.append("packet too large")
                    return
                self._hear(link, kind, flags, body, size)

    def _hear(self, link: socket.socket, kind: int, flags: int, body: bytes, size: int) -> None:
        if kind == CONNECT:
            limit = b"" if self.largest is None or not self.tells else _MAXIMUM_PACKET_SIZE + self.largest.to_bytes(4)
            link.sendall(packet(CONNACK, b"\x00\x00" + bytes([len(limit)]) + limit))
        elif kind == SUBSCRIBE:
            link.sendall(packet(SUBACK, body[:2] + b"\x00\x01"))
            for given in self.sends:
                link.sendall(given)
        elif kind == PUBLISH:
            self._take(link, flags >> 1 & 3, body, size)
        elif kind == PUBREL:
            link.sendall(packet(PUBCOMP, body[:2]))
        elif kind == PUBACK:
            self.acknowledged.append(int.from_bytes(body[:2]))
        elif kind == PINGREQ:
            link.sendall(packet(PINGRESP, b""))

    def _take(self, link: socket.socket, qos: int, body: bytes, size: int) -> None:
        length = int.from_bytes(body[:2])
        at = 2 + length + (2 if qos else 0)
        message = Published(body[2 : 2 + length], body[at + 1 + body[at] :], size)
        reason = self.answer(message)
        (self.refused if reason else self.taken).append(message)
        if qos and reason != SILENT:
            told = bytes([reason, 0]) if reason else b""
            link.sendall(packet(PUBACK if qos == 1 else PUBREC, body[at - 2 : at] + told))


def packet(kind: int, body: bytes, flags: int | None = None) -> bytes:
    """A packet of MQTT; the flags are those that its kind has, unless told."""
    if flags is None:
        flags = 2 if kind in (PUBREL, SUBSCRIBE) else 0
    length, digits = len(body), bytearray()
    while True:
        length, digit = divmod(length, 128)
        digits.append(digit | (0x80 if length else 0))
        if not length:
            return bytes([kind << 4 | flags]) + bytes(digits) + body


def publish(topic: bytes, payload: bytes, mid: int) -> bytes:
    """A message of QoS 1 on its way to a client."""
    return packet(PUBLISH, len(topic).to_bytes(2) + topic + mid.to_bytes(2) + b"\x00" + payload, flags=2)


def _read(link: socket.socket) -> tuple[int, int, bytes, int]:
    """A packet: its kind, its flags, what follows its length, and how many bytes it has in all."""
    first, length, shift, head = _exactly(link, 1)[0], 0, 0, 1
    while True:
        digit = _exactly(link, 1)[0]
        head += 1
        length |= (digit & 0x7F) << shift
        shift += 7
        if not digit & 0x80:
            return first >> 4, first & 15, _exactly(link, length), head + length


def _exactly(link: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = link.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
