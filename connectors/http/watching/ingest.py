"""Facts that are posted: a source whose facts come with requests, all of one request or none."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from tidelog.runtime.ports.interfaces import Batch, Rejected

MAX_WAITING = 16
"""How many requests wait for the engine; the next one is told to come again."""


@dataclass(eq=False, slots=True)
class Ticket:
    """What becomes of a request's facts: whether they are taken, and stored, and what was refused of them.

    `is_lost` says that neither is true: the engine that had them has failed before they were stored.
    """

    taken: anyio.Event = field(default_factory=anyio.Event)
    stored: anyio.Event = field(default_factory=anyio.Event)
    refused: list[Rejected] = field(default_factory=list)
    is_lost: bool = False

    def lose(self) -> None:
        """Let whoever waits know that it is lost."""
        self.is_lost = True
        self.taken.set()
        self.stored.set()


@dataclass(slots=True)
class Posted(Batch):
    """The facts of one request, with its ticket; `count` is how many there were."""

    ticket: Ticket | None = None
    count: int = 0


class Ingest:
    """A listener that brings one source, with the first request: until then it holds back nobody.

    At most `capacity` requests wait. The source never ends by itself.
    """

    def __init__(self, *, name: str = "http", capacity: int = MAX_WAITING) -> None:
        self.name = name
        self._capacity = capacity
        self._waiting: deque[Posted] = deque()
        self._came = anyio.Event()
        self._has_room = anyio.Event()
        self._is_open = False
        self._is_brought = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_open(self) -> bool:
        """Whether an engine takes what is posted."""
        return self._is_open

    async def __aenter__(self) -> Ingest:
        self._is_open, self._is_brought = True, False
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._is_open = False
        self._came.set()

    async def accept(self) -> IngestSource:
        """The source, once something is posted; then nothing more."""
        if self._is_brought:
            await anyio.sleep_forever()
        await self._wait_for_one()
        self._is_brought = True
        return IngestSource(self)

    async def offer(self, batch: Posted, seconds: float) -> bool:
        """Hand over the facts of a request; False where there is no room for so long, or no engine."""
        with anyio.move_on_after(seconds):
            while self._is_open and len(self._waiting) >= self._capacity:
                self._has_room = anyio.Event()
                await self._has_room.wait()
        if not self._is_open or len(self._waiting) >= self._capacity:
            return False
        self._waiting.append(batch)
        self._came.set()
        return True

    async def next(self) -> Posted | None:
        """The next request's facts, but for those that whoever posted them was told to be lost; None once the engine has
        left."""
        while True:
            await self._wait_for_one()
            if not self._waiting:
                return None
            batch = self._waiting.popleft()
            self._has_room.set()
            if batch.ticket is None or not batch.ticket.is_lost:
                return batch

    async def _wait_for_one(self) -> None:
        await anyio.lowlevel.checkpoint()
        while not self._waiting and self._is_open:
            self._came = anyio.Event()
            await self._came.wait()


class IngestSource:
    """All that is posted, as one source."""

    def __init__(self, ingest: Ingest) -> None:
        self.name = ingest.name
        self._ingest = ingest

    async def __aenter__(self) -> IngestSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def receive(self) -> Batch | None:
        """The facts of the next request."""
        return await self._ingest.next()
