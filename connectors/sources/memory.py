"""Sources and sinks within the program: for tests, and for programs that hold their facts themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import anyio
import anyio.lowlevel

from tidelog.plans.data.facts import Record
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.channels import Channel
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch

BATCH_RECORDS = 1024
"""How many facts of a `MemorySource` go into one batch."""
MAX_WAITING = 16
"""How many batches of a `PushSource` wait before `send` does."""


class MemorySource:
    """Delivers facts that are known beforehand: records, cut into batches of `batch_size`, or batches as they are.

    So no clock makes them late (`is_recorded`).
    """

    is_recorded = True

    def __init__(
        self, facts: Sequence[Record] | Sequence[Batch], *, name: str = "memory", batch_size: int = BATCH_RECORDS
    ) -> None:
        self.name = name
        self._rest: Iterator[Record | Batch] = iter(facts)
        self._batch_size = batch_size

    async def __aenter__(self) -> MemorySource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def receive(self) -> Batch | None:
        """The next batch, at once; None at the end."""
        await anyio.lowlevel.checkpoint()
        records: list[Record] = []
        for item in islice(self._rest, self._batch_size):
            if isinstance(item, Batch):
                return item
            records.append(item)
        return Batch(records) if records else None


class PushSource:
    """Delivers what other tasks hand to `send`, until `close`. At most `capacity` batches wait."""

    def __init__(self, *, name: str = "push", capacity: int = MAX_WAITING) -> None:
        self.name = name
        self._waiting: Channel[Batch] = Channel(capacity)
        self._sender = self._waiting.sender()
        self._waiting.seal()

    async def __aenter__(self) -> PushSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._sender.close()
        self._waiting.close()

    async def send(self, facts: Batch | Sequence[Record]) -> None:
        """Hand over a batch, or records as one batch; waits while too many wait already.

        Raises anyio.ClosedResourceError after `close`, anyio.BrokenResourceError once the source has been left.
        """
        await self._sender.send(facts if isinstance(facts, Batch) else Batch(list(facts)))

    def pass_at_once(self, take: Callable[[Batch], Batch | None] | None) -> None:
        """While `receive` waits, let `take` have each batch in the turn of `send`; what it returns waits. None: no more."""
        self._waiting.at_once = take

    def close(self) -> None:
        """No more will come: what waits is still delivered, then comes the end."""
        self._sender.close()

    async def receive(self) -> Batch | None:
        """The next batch, as soon as it has been sent; None once closed."""
        try:
            return await self._waiting.receive()
        except anyio.EndOfStream:
            return None


class MemorySink:
    """Keeps answers in the order in which they became known: in the list `answers`, in `hypothetical` those to `ask`."""

    takes_back = True

    def __init__(self, *, name: str = "memory") -> None:
        self.name = name
        self.answers: list[Record] = []
        self.hypothetical: list[HypotheticalAnswer] = []

    async def __aenter__(self) -> MemorySink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these answers, at once."""
        await anyio.lowlevel.checkpoint()
        self.answers += [answer for answer in answers if isinstance(answer, tuple)]
        self.hypothetical += [answer for answer in answers if isinstance(answer, HypotheticalAnswer)]
