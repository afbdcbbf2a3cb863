"""What passes from the thread of a protocol's library to the engine's: groups of readings, with a bound."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from tidelog.connectors.transport.loop import CallSoon, call_soon

MAX_WAITING = 8192
"""With so many readings waiting nothing more is asked for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of a node by its name, and when it is of (seconds since 1970); or, in place of what it `held`, why there is
    none, or what is wrong beside it."""

    name: str
    at: float
    held: dict[str, Any] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """What came in one answer. `sequence` is its number in its subscription, 0 where it is of none; `is_last` tells that
    all has come that waited when the connection was made."""

    readings: Sequence[Reading]
    subscription: int = 0
    sequence: int = 0
    is_last: bool = False


class Mailbox:
    """Made in the engine's thread; `put` and `fail` are called in the loop's."""

    def __init__(self) -> None:
        self._engine: CallSoon = call_soon()
        self._lock = threading.Lock()
        self._groups: deque[Group] = deque()
        self._count = 0
        self._error: OSError | None = None
        self._came = anyio.Event()
        self._room: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # --- the library's side ---------------------------------------------------------------------------------------------

    async def put(self, group: Group) -> None:
        """Hand over a group; waits while too much waits for the engine."""
        if self._room is None:
            self._room, self._loop = asyncio.Event(), asyncio.get_running_loop()
        while self._count >= MAX_WAITING:
            self._room.clear()
            await self._room.wait()
        with self._lock:
            is_first = not self._groups
            self._groups.append(group)
            self._count += len(group.readings)
        if is_first:
            self._engine(self._wake)

    def fail(self, error: OSError) -> None:
        """Nothing more comes: the first reason counts, behind all that has come."""
        with self._lock:
            self._error = self._error or error
        self._engine(self._wake)

    @property
    def has_failed(self) -> bool:
        """Whether nothing more comes."""
        return self._error is not None

    # --- the engine's side ----------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._came.set()

    async def wait(self) -> None:
        """Until something is there; raises what it failed with, once all was taken."""
        while not self._groups:
            if self._error is not None:
                raise self._error
            self._came = anyio.Event()
            if not self._groups and self._error is None:
                await self._came.wait()

    def take(self, most: int) -> list[Group]:
        """The groups that are there, until they have so many readings."""
        found, size = [], 0
        with self._lock:
            while self._groups and size < most:
                found.append(self._groups.popleft())
                size += len(found[-1].readings)
            self._count -= size
        if self._room is not None and self._loop is not None and not self._room.is_set() and self._count < MAX_WAITING:
            self._loop.call_soon_threadsafe(self._room.set)
        return found
