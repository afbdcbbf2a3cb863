"""Facts from what is asked for its values, again and again: devices' registers, a server's nodes.

Each value becomes a message, `{"value": 21.5}` at the topic that is its name: so maps, `--try` and `--tap` are the same as
for what comes by itself. What is asked may block, and is asked in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec

from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected

Reading = tuple[str, dict[str, Any] | str]
"""A name, and what its message holds; or why it cannot be read."""


class Polled(Protocol):
    """What can be asked. Its methods block, and raise OSError where the connection is lost."""

    place: str
    link: Link

    def open(self) -> None: ...

    def read(self) -> Sequence[Reading]: ...

    def look_after(self) -> Sequence[Reading]:
        """What can wait until all others have been read: it may take long."""
        ...

    def close(self) -> None: ...


class PolledSource:
    """Asks every so many seconds, and waits where that takes longer. A value that cannot be read costs no other one.

    Entered anew after a failure, it connects anew. It is behind until it has asked for the first time: nobody keeps what is
    missed while it is away, so its silence counts. SpecError for a time that is none.
    """

    def __init__(
        self, name: str, polled: Polled, mapper: Mapper, *, every: float, now: Callable[[], float] = time.time
    ) -> None:
        if not every > 0:
            raise SpecError(f"`every` is above 0 s, got {every:g}")
        self.name = name
        self._polled, self._mapper, self._every, self._now = polled, mapper, every, now
        self._due = 0.0
        self._has_read = False
        self.is_behind = True
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether what is asked answers."""
        return self._polled.link.is_up

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._polled.link.statistics()

    async def __aenter__(self) -> PolledSource:
        await anyio.to_thread.run_sync(self._polled.open)
        self._due = anyio.current_time()
        self._has_read = False
        return self

    def listen_again(self) -> None:
        """The values that are known are old: the source is behind until it has asked for them again."""
        self.is_behind = True

    async def __aexit__(self, *exc: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._polled.close)

    async def receive(self) -> Batch | None:
        """The facts of the values, when they are due. It never ends."""
        if self._has_read:
            self._has_read = False
            later = await _in_thread(self._polled.look_after)
            if later:
                return self._batch(later)
        await anyio.sleep_until(self._due)
        self._due = max(self._due + self._every, anyio.current_time())
        readings = await _in_thread(self._polled.read)
        self.is_behind, self._has_read = False, True
        return self._batch(readings)

    def _batch(self, readings: Sequence[Reading]) -> Batch:
        moment, encode = self._now(), msgspec.json.encode
        messages = [Message(name, encode(held), moment) for name, held in readings if not isinstance(held, str)]
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        batch.rejected += [Rejected(f"{self.name}:{name}", held, b"") for name, held in readings if isinstance(held, str)]
        return batch


async def _in_thread(ask: Callable[[], Sequence[Reading]]) -> Sequence[Reading]:
    """What a call brings that blocks. Whoever is cancelled meanwhile waits for it, and takes nothing of it."""
    readings = await anyio.to_thread.run_sync(ask)
    await anyio.lowlevel.checkpoint_if_cancelled()
    return readings
