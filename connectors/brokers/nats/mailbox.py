"""What passes from the library's thread to the engine's; who asks for messages sees to it that not too many wait."""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

import anyio

from tidelog.connectors.transport.loop import CallSoon, call_soon

MAX_WAITING: Final = 1024
"""With more messages waiting no more are asked for."""


class Delivered(NamedTuple):
    """A message of a stream: its number there, when it was stored (seconds since 1970), and how many wait behind it."""

    sequence: int
    at: float
    pending: int
    reply: str
    subject: str
    headers: dict[str, str] | None
    data: bytes


class Waits(NamedTuple):
    """What waits at the server now: so many messages behind the one with this number; those up to it are on their way."""

    sequence: int
    left: int


class Missed(NamedTuple):
    """Why some messages cannot be read any more."""

    reason: str


Item = Delivered | Waits | Missed


class Mailbox:
    """Made in the engine's thread; `put` and `fail` are called in the loop's."""

    def __init__(self) -> None:
        self._engine: CallSoon = call_soon()
        self._lock = threading.Lock()
        self._items: list[Item] = []
        self._error: OSError | None = None
        self._came = anyio.Event()
        self.on_room: Any = None
        """Called in the engine's thread when there is room again."""

    def put(self, item: Item) -> None:
        """Hand over something."""
        with self._lock:
            self._items.append(item)
            is_first = len(self._items) == 1
        if is_first:
            self._engine(self._wake)

    def fail(self, error: OSError) -> None:
        """Nothing more comes: the first reason counts, behind all that has come."""
        self._error = self._error or error
        self._engine(self._wake)

    def _wake(self) -> None:
        self._came.set()

    def __len__(self) -> int:
        return len(self._items)

    async def wait(self) -> None:
        """Until something is there; raises what it failed with, once all was taken."""
        while not self._items:
            if self._error is not None:
                raise self._error
            self._came = anyio.Event()
            if not self._items and self._error is None:
                await self._came.wait()

    def take(self) -> list[Item]:
        """All that is there."""
        with self._lock:
            taken, self._items = self._items, []
        if len(taken) > MAX_WAITING and self.on_room is not None:
            self.on_room()
        return taken
