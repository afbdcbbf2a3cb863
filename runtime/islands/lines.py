"""Lines to actors: what carries a message to one, and its answers back in the same order.

An actor in this process answers at once. One in a worker is reached through a pair of sockets, which nobody waits for while
there is room: what cannot be sent yet waits here, and what has come meanwhile is read first, so that neither side ever waits
for the other to read.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, NamedTuple, Protocol

from tidelog.runtime.islands.framing import ADDRESS, CHUNK, HEAD, PART, SPARE, Taken, pair
from tidelog.runtime.islands.messages import Reply, Told, pack, unpack_reply
from tidelog.runtime.islands.part import Part, Work

_MOST_SENT = 1 << 20
"""How many bytes are offered to the system at once."""
MOST_UNSENT = 1 << 20
"""How many bytes wait to be sent, before whoever can wait sends nothing more."""
_FULL = 1 << 24
"""How many wait, before whoever sends more has to wait."""
_SLOW = 0.5
"""A worker that has not answered for so many seconds is not waited for by who can do without."""


_REST = 50
"""Making a spare takes one of so many parts of a worker's time."""


class BrokenError(Exception):
    """The actor at the other end is gone."""


Blame = Literal["it", "others", "nobody"]
"""Whose message a process took when it ended: the actor's own, another's that lives there, too, or no one's."""


class Line(Protocol):
    """Carries messages to one actor. Raises BrokenError where that is gone."""

    replies: deque[Reply]
    """What has come back, in order, and was not taken yet."""

    def send(self, message: bytes | Told, number: int) -> None:
        """Send a message, packed or not. By its `number` it is known how far a spare is."""
        ...

    def order_spare(self, *, must: bool) -> None:
        """Let the process have a copy of itself ready, behind what was sent by now; unless it `must`, if it has the time."""
        ...

    def pump(self, timeout: float | None = 0.0) -> None:
        """Read what has come; where nothing has, wait so long for it (None: as long as it takes)."""
        ...

    def fileno(self) -> int | None:
        """What becomes readable when something has come; None where answers come at once."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether something has come that was not taken yet, or the actor is known to be gone."""
        ...

    @property
    def blame(self) -> Blame:
        """Who is to blame for it that the actor is gone."""
        ...

    @property
    def unanswered(self) -> float:
        """For how many seconds its process has not answered though it was asked; 0 where it does not keep one waiting."""
        ...

    @property
    def was_hung(self) -> bool:
        """Whether its process was ended since it had not answered in time."""
        ...

    def close(self) -> None:
        """The actor is of no use any more."""
        ...


class Opened(NamedTuple):
    """A line to a part, and the process in which that lives. A part that has come along in a spare has `taken` messages."""

    line: Line
    process: int
    taken: int | None = None


class LocalLine:
    """To an actor in this process, which answers before `send` returns. It may live in the same task as all others."""

    def __init__(self, work: Work) -> None:
        self._part: Part | None = Part(work)
        self.replies: deque[Reply] = deque()

    def order_spare(self, *, must: bool) -> None:
        """It has no process of its own."""

    def send(self, message: bytes | Told, number: int) -> None:
        """Let the actor take a message."""
        if self._part is None or isinstance(message, bytes):
            raise BrokenError
        self.replies.append(self._part.tell(message))

    def pump(self, timeout: float | None = 0.0) -> None:
        """Nothing can come later."""

    def fileno(self) -> int | None:
        """Answers come at once."""
        return None

    @property
    def has_news(self) -> bool:
        """Whether an answer was not taken yet."""
        return bool(self.replies)

    @property
    def blame(self) -> Blame:
        """It is alone."""
        return "it"

    @property
    def unanswered(self) -> float:
        """It answers at once."""
        return 0.0

    @property
    def was_hung(self) -> bool:
        """It has no process of its own."""
        return False

    def close(self) -> None:
        """Let the actor go."""
        self._part = None


class WorkerLink:
    """To a worker, over a connected socket: messages to its parts, and their answers, each with the part's number.

    A selector watches it as long as the worker is there: whether something has come, and, while something waits to be sent,
    whether there is room for it. A worker that takes longer than `limit` seconds for an answer is ended.

    By `control` it gets the sockets of a spare: a copy of itself that takes its place when it is gone. What each part had
    `taken` when the copy was made, a spare knows.
    """

    def __init__(
        self,
        link: socket.socket,
        control: socket.socket,
        process: int,
        selector: selectors.BaseSelector,
        limit: float = math.inf,
        taken: Mapping[int, Taken] | None = None,
    ) -> None:
        self._link, self._control = link, control
        self.taken: dict[int, Taken] = {**(taken or {})}
        """What each part has taken to which nobody has a line yet."""
        self._latest: dict[int, Taken] = {}
        self._ordered: tuple[socket.socket, socket.socket, dict[int, Taken]] | None = None
        self._rests_until = 0.0
        self._spare: WorkerLink | None = None
        link.setblocking(False)
        self.process = process
        """The id of the worker's process."""
        self._selector = selector
        self._watched = 0
        self._asked: deque[bytes] = deque()  # the addresses of the messages that were not answered, in their order
        self.replies: dict[bytes, deque[Reply]] = {}
        """The answers of each part that somebody has a line to, by its address."""
        self.is_broken = False
        """Whether the worker is gone: what it had answered before that is there."""
        self.was_hung = False
        """Whether it was ended, since it had not answered in time."""
        self._limit = limit
        self._since = 0.0  # when it answered last, or was asked behind all answers
        self._unsent = bytearray()
        self._unread = bytearray()
        self._watch()

    def send(self, address: bytes, data: bytes, number: int) -> None:
        """Send a message; what does not go yet goes with the next `pump`. BrokenError where the worker is gone."""
        if self.is_broken:
            raise BrokenError
        self._latest[int.from_bytes(address[:PART], "big")] = Taken(address, number)
        self._send(address, data)
        if self.is_broken:
            raise BrokenError

    def order_spare(self, *, must: bool) -> None:
        """Let the worker make a copy of itself, once it has answered all that it was sent; the one before ends then."""
        if self.is_broken or self._ordered is not None or (not must and time.monotonic() < self._rests_until):
            return
        ours, theirs = pair()
        control, its_control = socket.socketpair()
        self._ordered = ours, control, {**self.taken, **self._latest}
        with theirs, its_control, suppress(OSError):  # a worker that is gone makes none
            socket.send_fds(self._control, [SPARE], [theirs.fileno(), its_control.fileno()])
            self._send(SPARE, b"")

    def _send(self, address: bytes, data: bytes) -> None:
        if not self._asked:
            self._since = time.monotonic()
        self._asked.append(address)
        self._unsent += (len(data) + ADDRESS).to_bytes(HEAD, "big") + address + data
        self._flush()
        while len(self._unsent) > _FULL:
            self._exchange(None)
        self._watch()

    @property
    def unsent(self) -> int:
        """How many bytes wait to be sent."""
        return len(self._unsent)

    @property
    def unanswered(self) -> float:
        """For how many seconds it has not answered though it was asked; 0 where it does not keep one waiting."""
        seconds = time.monotonic() - self._since if self._asked and not self.is_broken else 0.0
        return seconds if seconds > _SLOW else 0.0

    def check(self) -> None:
        """End the worker, if it has not answered in time."""
        self.pump()
        self._end_late()
        self._watch()

    def pump(self) -> None:
        """Read what has come, and send what waits."""
        self._flush()
        self._read()
        self._watch()

    def wait(self, timeout: float | None) -> None:
        """Wait until something has come, at most so long; then do the same."""
        self._exchange(timeout)
        self._watch()

    def fileno(self) -> int:
        """The socket's."""
        return self._link.fileno()

    def close(self) -> None:
        """The worker ends once it sees that."""
        self.is_broken = True
        self._watch()
        self._link.close()
        self._control.close()
        if self._ordered is not None:
            for end in self._ordered[:2]:
                end.close()
            self._ordered = None
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def replaced(self) -> WorkerLink | None:
        """The spare, if there is one: this worker is gone, and of no use any more."""
        spare, self._spare = self._spare, None
        self.close()
        if spare is not None:
            spare.pump()
            if spare.is_broken:
                spare.close()
                return None
        return spare

    def blame(self, address: bytes) -> Blame:
        """Whose message the worker took when it ended: it answers in order, so it is the first without an answer."""
        if not self._asked:
            return "nobody"
        return "it" if self._asked[0] == address else "others"

    def _watch(self) -> None:
        """Let the selector know what is waited for."""
        events = 0 if self.is_broken else selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if events == self._watched:
            return
        if not self._watched:
            self._selector.register(self, events)
        elif events:
            self._selector.modify(self, events)
        else:
            self._selector.unregister(self)
        self._watched = events

    def _exchange(self, timeout: float | None) -> None:
        """Wait until something can be read or sent, and do so."""
        if self.is_broken:
            return
        if self._asked and self._limit < math.inf:
            left = max(0.0, self._since + self._limit - time.monotonic())
            timeout = left if timeout is None else min(left, timeout)
        with selectors.DefaultSelector() as selector:
            selector.register(self._link, selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0))
            selector.select(timeout)
        self._flush()
        self._read()
        self._end_late()

    def _end_late(self) -> None:
        if self.is_broken or not self._asked or time.monotonic() < self._since + self._limit:
            return
        with suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
        self.is_broken = self.was_hung = True
        self._unsent.clear()

    def _flush(self) -> None:
        while self._unsent and not self.is_broken:
            try:
                with memoryview(self._unsent) as view:
                    sent = self._link.send(view[:_MOST_SENT])
            except BlockingIOError:
                return
            except OSError:  # what it has answered can still be read
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def _read(self) -> None:
        while not self.is_broken:
            try:
                data = self._link.recv(CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.is_broken = True
                return
            self._unread += data
            self._divide()
            if len(data) < CHUNK:
                return

    def _take_spare(self, told: bytes | bytearray) -> None:
        """The worker has made a copy of itself: that is the spare from now on."""
        process, micros = (int.from_bytes(told[at : at + HEAD], "big") for at in (0, HEAD))
        self._rests_until = time.monotonic() + _REST * micros / 1e6
        if self._ordered is None:
            return
        link, control, taken = self._ordered
        self._ordered = None
        if self._spare is not None:
            self._spare.close()
        self._spare = WorkerLink(link, control, process, self._selector, self._limit, taken)

    def _divide(self) -> None:
        """Take the whole messages of what was read."""
        unread, begin = self._unread, 0
        while len(unread) - begin >= HEAD:
            end = begin + HEAD + int.from_bytes(unread[begin : begin + HEAD], "big")
            if len(unread) < end:
                break
            body = begin + HEAD + ADDRESS
            self._asked.popleft()
            address = bytes(unread[begin + HEAD : body])
            replies = self.replies.get(address)
            if address == SPARE:
                self._take_spare(unread[body:end])
            elif replies is not None:  # else a part that failed had more to take
                with memoryview(unread) as view:
                    replies.append(unpack_reply(view[body:end]))
            begin = end
        if begin:
            self._since = time.monotonic()
            del unread[:begin]


class WorkerLine:
    """To one part in a worker; by its `address` it is told from others that had its number before it."""

    def __init__(self, link: WorkerLink, address: bytes) -> None:
        self._link, self._address = link, address
        self.replies = link.replies[self._address] = deque()

    def send(self, message: bytes | Told, number: int) -> None:
        """Send a message; what does not go yet goes with the next `pump`."""
        self._link.send(self._address, message if isinstance(message, bytes) else pack(message), number)

    def order_spare(self, *, must: bool) -> None:
        """Let the worker make a copy of itself as it is behind what it was sent by now."""
        self._link.order_spare(must=must)

    def pump(self, timeout: float | None = 0.0) -> None:
        """Read what has come, and send what waits; where nothing has come, wait so long for it."""
        self._link.pump()
        while not self.replies and not self._link.is_broken and timeout is None:
            self._link.wait(None)
        if timeout and not self.replies:
            self._link.wait(timeout)
        if self._link.is_broken and not self.replies:
            raise BrokenError

    def fileno(self) -> int | None:
        """The socket's, which the parts of a worker share."""
        return self._link.fileno()

    @property
    def has_news(self) -> bool:
        """Whether something has come that was not taken yet, or the worker is known to be gone."""
        return bool(self.replies) or self._link.is_broken

    @property
    def blame(self) -> Blame:
        """Whose message the worker took when it ended."""
        return self._link.blame(self._address)

    @property
    def unanswered(self) -> float:
        """For how many seconds the worker has not answered though it was asked."""
        return self._link.unanswered

    @property
    def was_hung(self) -> bool:
        """Whether the worker was ended since it had not answered in time."""
        return self._link.was_hung

    def close(self) -> None:
        """The part is of no use any more; others of the worker may be."""
        self._link.replies.pop(self._address, None)
