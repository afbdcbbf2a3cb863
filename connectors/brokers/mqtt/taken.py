"""The messages of QoS 1 that a broker may send once more, known by their number in its session and by their content."""

from __future__ import annotations

import struct
from array import array
from collections import deque

from tidelog.plans.diagnostics.errors import DataError

_NUMBERS = 0x10000
MOST_TAKEN = _NUMBERS // 2
"""How many messages are known again at most: a broker that has come half round its numbers may use one for another."""
_ENTRY = struct.Struct("<H8s")
_MOST_BYTES = MOST_TAKEN * _ENTRY.size


class Taken:
    """What was taken, in memory of one size, however much comes.

    A number is used again for another message, so what it held is kept, too, as a digest. An acknowledgement arrives when
    the broker answers something that was sent behind it. Until then, or `forget_after` seconds where the connection has
    broken before, a later run may be sent the message: so `dump` has those that are handed over to the engine and not known
    to be acknowledged. What waits to be handed over is not among them: it is not committed with them, and must come again.
    """

    def __init__(self, forget_after: float) -> None:
        self._forget_after = forget_after
        self._digests = array("Q", bytes(8 * _NUMBERS))
        self._arrivals = array("Q", bytes(8 * _NUMBERS))  # the how manieth message it was; 0 where there was none
        self._acknowledged = array("d", bytes(8 * _NUMBERS))  # when; 0 while it is open
        self._count = 0
        self._unsure: deque[bytes] = deque()
        self._unsure_from = self._acknowledged_until = self._asked_until = 0  # counted in what was handed over
        self._older, self._older_until = b"", 0.0

    def has(self, mid: int, digest: bytes, now: float) -> bool:
        """Whether this very message was taken, so that it need not be taken again."""
        arrival = self._arrivals[mid]
        if not arrival or self._count - arrival >= MOST_TAKEN or self._digests[mid] != int.from_bytes(digest):
            return False
        at = self._acknowledged[mid]
        return not at or now - at <= self._forget_after

    def is_open(self, mid: int) -> bool:
        """Whether it was not acknowledged yet."""
        return not self._acknowledged[mid]

    def add(self, mid: int, digest: bytes) -> None:
        """A message has come."""
        self._count += 1
        self._arrivals[mid], self._digests[mid], self._acknowledged[mid] = self._count, int.from_bytes(digest), 0.0

    def hand_over(self, mid: int) -> None:
        """It is in the engine's hands."""
        self._unsure.append(self._entry(mid))
        if len(self._unsure) > MOST_TAKEN:
            self._unsure.popleft()
            self._unsure_from += 1

    def acknowledge(self, mid: int, now: float) -> None:
        """It was acknowledged without being handed over."""
        self._acknowledged[mid] = now

    def acknowledge_next(self, mid: int, now: float) -> None:
        """The next of those that were handed over was acknowledged."""
        self._acknowledged_until += 1
        if self._count - self._arrivals[mid] < MOST_TAKEN:
            self._acknowledged[mid] = now

    @property
    def has_unsure(self) -> bool:
        """Whether something was acknowledged of which it is not known whether that has arrived."""
        return self._acknowledged_until > max(self._unsure_from, self._asked_until)

    def ask(self) -> None:
        """The broker was asked for an answer, behind all that was acknowledged so far."""
        self._asked_until = self._acknowledged_until

    def confirm(self) -> None:
        """It has answered."""
        self._drop(self._asked_until)

    def lose(self, now: float) -> None:
        """The connection has broken: what was acknowledged on it may have arrived, or not."""
        kept = self._older if now <= self._older_until else b""
        lost = self._drop(self._acknowledged_until)
        self._older = (kept + lost)[-_MOST_BYTES:]
        self._older_until = now + self._forget_after
        self._asked_until = self._acknowledged_until

    def dump(self, now: float) -> bytes:
        """The taken messages that the broker may send again in a later run, as bytes for `load`."""
        if now > self._older_until:
            self._older = b""
        return (self._older + b"".join(self._unsure))[-_MOST_BYTES:]

    def load(self, data: bytes, now: float) -> None:
        """Go on with the messages that `dump` gave; DataError where these are not such bytes."""
        try:
            entries = list(_ENTRY.iter_unpack(data))
        except struct.error as error:
            raise DataError(str(error)) from None
        for mid, digest in entries:
            self.add(mid, digest)
            self.acknowledge(mid, now)
        self._older, self._older_until = data, now + self._forget_after

    def _drop(self, until: int) -> bytes:
        """Take out of the unsure those that were handed over before `until`."""
        gone = []
        while self._unsure and self._unsure_from < until:
            gone.append(self._unsure.popleft())
            self._unsure_from += 1
        return b"".join(gone)

    def _entry(self, mid: int) -> bytes:
        return _ENTRY.pack(mid, self._digests[mid].to_bytes(8))
