"""Channels between actors: bounded, so a slow receiver slows down its senders, up to the sources.

They do what anyio's memory streams do, but nobody waits for a turn of the event loop without need: who waits for a message
has it in the next turn, and lets others run first only where messages lie ready; who sends one goes on where there is room.
What can be sent before others run, or a cancellation counts, is bounded by the channel. A receiver may also take messages
`at_once`, in the turn of who sends them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

import anyio
import anyio.lowlevel

CHANNEL_BOUND = 16
"""How many messages wait in a channel before its senders have to."""

T = TypeVar("T")


class Channel(Generic[T]):
    """The receiving end, of one receiver; each sender has an end of its own.

    It has ended once it is empty, all senders have closed, and no further one can come (`seal`). While the receiver waits,
    `at_once` takes what is sent, without waiting; it returns what is left of it for the receiver, None where nothing is.
    """

    __slots__ = ("_bound", "_came", "_is_closed", "_is_sealed", "_messages", "_senders", "_waiting", "at_once")

    def __init__(self, bound: int = CHANNEL_BOUND) -> None:
        if bound < 0:
            raise ValueError(f"a channel's bound is 0 or more, got {bound}")
        self._bound = bound
        self._messages: deque[T] = deque()
        self._waiting: dict[anyio.Event, T] = {}  # senders for which there is no room, in order
        self._came: anyio.Event | None = None  # the receiver waits
        self.at_once: Callable[[T], T | None] | None = None
        self._senders = 0
        self._is_sealed = self._is_closed = False

    def sender(self) -> Sender[T]:
        """A sending end for one sender, which closes it."""
        self._senders += 1
        return Sender(self)

    def seal(self) -> None:
        """All senders have their ends, or get them of others: from now on the channel ends with the last of them."""
        self._is_sealed = True
        self._look()

    async def receive(self) -> T:
        """Wait for a message; anyio.EndOfStream where there will be none."""
        if self._is_ready():
            await anyio.lowlevel.checkpoint()
        while not self._is_ready():
            self._came = anyio.Event()
            try:
                await self._came.wait()
            finally:
                self._came = None
        return self.receive_nowait()

    def receive_nowait(self) -> T:
        """A message that is there; anyio.EndOfStream where there will be none, anyio.WouldBlock where it has to come yet."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        if self._waiting:
            sent = next(iter(self._waiting))
            self._messages.append(self._waiting.pop(sent))
            sent.set()
        if self._messages:
            return self._messages.popleft()
        if self._has_ended():
            raise anyio.EndOfStream
        raise anyio.WouldBlock

    async def receive_all(self) -> list[T]:
        """Wait for a message, and take the others that are there by then, up to a bound."""
        messages = [await self.receive()]
        while len(messages) <= CHANNEL_BOUND and (self._messages or self._waiting):
            messages.append(self.receive_nowait())
        return messages

    def close(self) -> None:
        """Nothing more is received: who sends gets anyio.BrokenResourceError."""
        self._is_closed = True
        self._look()
        for sent in self._waiting:
            sent.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _is_ready(self) -> bool:
        return bool(self._messages or self._waiting or self._is_closed or self._has_ended())

    def _has_room(self) -> bool:
        return self._came is not None or len(self._messages) < self._bound

    def _has_ended(self) -> bool:
        return self._is_sealed and not self._senders

    def _look(self) -> None:
        """Wake the receiver."""
        if self._came is not None:
            self._came.set()
            self._came = None

    def _offer(self, message: T) -> bool:
        """Take a message where there is room, or somebody waits for it."""
        if self._is_closed:
            raise anyio.BrokenResourceError
        if not self._has_room():
            return False
        if self._came is not None and self.at_once is not None:
            left = self.at_once(message)
            if left is None:
                return True
            message = left
        self._messages.append(message)
        self._look()
        return True

    async def _wait(self, message: T) -> None:
        """Wait for room; cancelled meanwhile, nothing is sent."""
        sent = anyio.Event()
        self._waiting[sent] = message
        try:
            await sent.wait()
        except BaseException:
            self._waiting.pop(sent, None)
            raise
        if sent in self._waiting:
            del self._waiting[sent]
            raise anyio.BrokenResourceError

    def _leave(self) -> None:
        self._senders -= 1
        self._look()


class Sender(Generic[T]):
    """A sending end of a channel."""

    __slots__ = ("_channel", "_is_closed")

    def __init__(self, channel: Channel[T]) -> None:
        self._channel = channel
        self._is_closed = False

    def clone(self) -> Sender[T]:
        """One more sending end; anyio.ClosedResourceError where this one is closed."""
        self._check_open()
        return self._channel.sender()

    async def send(self, message: T) -> None:
        """Hand over a message: at once where there is room, without letting others run before.

        Raises anyio.ClosedResourceError once this end is closed, anyio.BrokenResourceError once the receiver's is.
        """
        self._check_open()
        if not self._channel._offer(message):
            await self._channel._wait(message)

    def send_nowait(self, message: T) -> None:
        """The same where there must be room; anyio.WouldBlock where there is none."""
        self._check_open()
        if not self._channel._offer(message):
            raise anyio.WouldBlock

    def has_room(self) -> bool:
        """Whether `send_nowait` does not raise anyio.WouldBlock."""
        return self._channel._is_closed or self._channel._has_room()

    def close(self) -> None:
        """Nothing more is sent here; what was sent is received."""
        if not self._is_closed:
            self._is_closed = True
            self._channel._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise anyio.ClosedResourceError
