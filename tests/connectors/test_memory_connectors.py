"""Sources and sinks in memory."""

from __future__ import annotations

import anyio
import pytest

from tidelog.connectors import MemorySink, MemorySource, PushSource
from tidelog.plans.data.facts import Record
from tidelog.runtime.ports.interfaces import Batch, Rejected

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

FACTS: list[Record] = [("p", (i,), i, i) for i in range(5)]


async def test_records_come_in_batches() -> None:
    """Records are cut into batches of the told size, in order."""
    async with MemorySource(FACTS, batch_size=2) as source:
        sizes = []
        while (batch := await source.receive()) is not None:
            sizes.append([record[2] for record in batch.records])
    assert sizes == [[0, 1], [2, 3], [4]]


async def test_batches_come_as_they_are() -> None:
    """Given batches are delivered unchanged, with their refusals and watermarks."""
    batches = [Batch(FACTS[:1], watermark=3), Batch(rejected=[Rejected("x:1", "no fact", b"")])]
    async with MemorySource(batches) as source:
        assert [await source.receive() for _ in range(3)] == [*batches, None]


async def test_pushed_facts_arrive_until_closed() -> None:
    """What is sent before `close` is delivered, then the source ends; sending afterwards is an error."""
    async with PushSource() as source:
        await source.send(FACTS[:2])
        await source.send(Batch(FACTS[2:]))
        source.close()
        assert await source.receive() == Batch(FACTS[:2])
        assert await source.receive() == Batch(FACTS[2:])
        assert await source.receive() is None
        with pytest.raises(anyio.ClosedResourceError):
            await source.send(FACTS)


async def test_push_waits_where_too_much_waits() -> None:
    """At most `capacity` batches wait: a further `send` does."""
    async with PushSource(capacity=1) as source:
        await source.send(FACTS[:1])
        with anyio.move_on_after(0) as scope:
            await source.send(FACTS[1:])
        assert scope.cancelled_caught


async def test_sink_keeps_answers() -> None:
    """Answers are kept in the order in which they came."""
    async with MemorySink() as sink:
        await sink.send(FACTS[:2])
        await sink.send(FACTS[2:])
    assert sink.answers == FACTS
