"""Facts from what is asked for its values, again and again: a device's registers, a server's nodes.

Each value becomes a message, `{"value": 21.5}` at the topic that is its name: so maps, `--try` and `--tap` are the same as
for what comes by itself. What is asked may block, and is asked in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import anyio
import anyio.to_thread
import msgspec

from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.transport.bounds import UInt16
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected

Reading = tuple[str, dict[str, Any] | str]
"""A name, and what its message holds; or why it cannot be read."""


class RegisterSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A value in a device's registers. `name` is the topic of its messages, `address` counts from 0."""

    name: str
    address: UInt16
    table: Literal["holding", "input", "coil", "discrete"] = "holding"
    type: Literal["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"] = "uint16"
    words: Literal["big", "little"] = "big"
    """Which of several registers comes first: the one with the high or with the low digits."""
    unit: int = 1


class NodeSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A node of a server, such as `ns=2;s=Boiler.Temperature`. `name` is the topic of its messages."""

    name: str
    id: str


class Polled(Protocol):
    """What can be asked. Its methods block, and raise OSError where the connection is lost."""

    place: str

    def open(self) -> None: ...

    def read(self) -> Sequence[Reading]: ...

    def close(self) -> None: ...


class PolledSource:
    """Asks every so many seconds, and waits where that takes longer. A value that cannot be read costs no other one.

    Entered anew after a failure, it connects anew. SpecError for a time that is none.
    """

    def __init__(
        self, name: str, polled: Polled, mapper: Mapper, *, every: float, now: Callable[[], float] = time.time
    ) -> None:
        if not every > 0:
            raise SpecError(f"`every` is above 0 s, got {every:g}")
        self.name = name
        self._polled, self._mapper, self._every, self._now = polled, mapper, every, now
        self._due = 0.0
        self.is_behind = True
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    async def __aenter__(self) -> PolledSource:
        await anyio.to_thread.run_sync(self._polled.open)
        self._due = anyio.current_time()
        self.is_behind = True
        return self

    def listen_again(self) -> None:
        """The values that are known are old: the source is behind until it has asked for them again."""
        self.is_behind = True

    async def __aexit__(self, *exc: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._polled.close)

    async def receive(self) -> Batch | None:
        """The facts of the values, when they are due. It never ends."""
        await anyio.sleep_until(self._due)
        self._due = max(self._due + self._every, anyio.current_time())
        readings = await anyio.to_thread.run_sync(self._polled.read)
        self.is_behind = False
        moment = self._now()
        messages = [Message(name, msgspec.json.encode(held), moment) for name, held in readings if not isinstance(held, str)]
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        batch.rejected += [Rejected(f"{self.name}:{name}", held, b"") for name, held in readings if isinstance(held, str)]
        return batch
