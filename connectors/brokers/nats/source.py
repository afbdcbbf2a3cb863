"""Facts from the messages of a stream: a durable consumer, whose receipts are given once what was read is committed.

The library needs asyncio's event loop: it runs in a thread, beside the engine's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from nats.aio.client import Client

from tidelog.connectors.brokers.nats.connecting import Reader, connect, leave
from tidelog.connectors.brokers.nats.consumer import MAX_UNACKNOWLEDGED, Consumer, Place
from tidelog.connectors.brokers.nats.mailbox import Delivered, Item, Mailbox, Waits
from tidelog.connectors.brokers.nats.subjects import topic_of
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import NO_PROPERTIES, Message
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.connectors.transport.loop import LoopThread
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.runtime.ports.interfaces import Batch, Rejected


class _Position(Saved):
    """The number of the last message that was read, and when its stream was made."""

    created: str
    sequence: Natural


class NatsSource:
    """Reads a subject of a stream, for ever: a connection that is lost is made again by whoever enters it again.

    Where it stands is part of the run's own state, and told to the server once it is committed. Each message counts once:
    what the server delivers again is passed over by its number in the stream. Without a state it goes on behind the last
    receipt.
    """

    is_replayable = True

    def __init__(self, name: str, options: Mapping[str, Any], mapper: Mapper, place: Place, *, client: str) -> None:
        self.name = name
        self._options, self._mapper, self._place, self._client_name = options, mapper, place, client
        self._link = Link()
        self._thread: LoopThread
        self._mailbox: Mailbox
        self._client: Client | None = None
        self._consumer: Consumer | None = None
        self._created = ""
        self._taken: int | None = None
        self._committed: int | None = None
        self._open: deque[tuple[int, int, list[str]]] = deque()
        """Of what came on this connection, and counts not yet: the last number of a batch, how many, where receipts go."""
        self._unacknowledged = 0
        self._waits: Waits | None = Waits(0, 0)
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    # --- how it stands ----------------------------------------------------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        """Whether the server is there."""
        return self._link.is_up

    @property
    def is_behind(self) -> bool:
        """Whether it is away, or something that waited at the server has not been returned."""
        return not self._link.is_up or self._waits is not None

    @property
    def awaits_receipts(self) -> bool:
        """Whether the server may be waiting for one before it delivers more."""
        return self._unacknowledged > MAX_UNACKNOWLEDGED // 2

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._link.statistics()

    def listen_again(self) -> None:
        """The process was not listening for a while: find out again what waits."""
        if self._consumer is not None:
            self._waits = Waits(0, 1)
            self._in_thread(self._consumer.look_again())

    # --- the engine's side ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> NatsSource:
        """Raises OSError where the server does not answer, or has no such stream."""
        self._thread, self._mailbox = LoopThread(f"nats {self.name}"), Mailbox()
        self._waits = Waits(0, 1)
        self._open.clear()
        self._unacknowledged = 0
        self._thread.start()
        created, committed = self._created, self._committed
        try:
            consumer = await self._thread.run(self._begin(self._mailbox, created, committed))
        except BaseException:
            await self._end()
            raise
        self._consumer, self._created = consumer, consumer.created
        if self._taken is None or created != consumer.created or consumer.committed < (committed or 0):
            self._taken = self._committed = consumer.committed
        self._link.up()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._end()

    async def _end(self) -> None:
        self._link.down()
        self._consumer = None
        with anyio.CancelScope(shield=True):
            with suppress(TimeoutError):
                await self._thread.run(self._close())
            await anyio.to_thread.run_sync(self._thread.stop)

    async def receive(self) -> Batch | None:
        """The facts of the messages that have come, once some have. It never ends; OSError where the connection is lost."""
        try:
            await self._mailbox.wait()
        except OSError:
            self._link.down()
            raise
        return self._batch(self._mailbox.take())

    def resume(self, position: dict[str, Any]) -> None:
        """Go on behind this message; SnapshotError for what tells none."""
        saved = read_saved(position, _Position)
        self._created, self._taken, self._committed = saved.created, saved.sequence, saved.sequence

    def acknowledge(self, position: dict[str, Any]) -> None:
        """All up to this message is taken for good: the server need not deliver it again."""
        found = msgspec.convert(position, _Position)
        if found.created == self._created:
            self._committed = min(found.sequence, self._taken or 0)
            self._give_receipts()

    def _give_receipts(self) -> None:
        replies: list[str] = []
        while self._open and self._committed is not None and self._open[0][0] <= self._committed:
            _, count, found = self._open.popleft()
            self._unacknowledged -= count
            replies = [*replies, *found] if self._needs_each else found
        if replies and self._consumer is not None:
            self._in_thread(self._consumer.acknowledge(replies))

    @property
    def _needs_each(self) -> bool:
        return self._consumer is not None and self._consumer.needs_each

    def _in_thread(self, work: Coroutine[Any, Any, None]) -> None:
        if not _call(self._thread.loop, partial(_start, work)):
            work.close()

    # --- messages to facts ------------------------------------------------------------------------------------------------

    def _batch(self, items: Sequence[Item]) -> Batch:
        """The facts of what has come, in the order of the stream, without what was taken before."""
        messages: list[Message] = []
        letters: list[Rejected] = []
        replies: list[str] = []
        taken, last = self._taken or 0, 0
        for item in items:
            if isinstance(item, Delivered):
                last, at, pending, reply, subject, headers, data = item
                replies.append(reply)
                if last > taken:
                    taken = last
                    messages.append(Message(topic_of(subject), data, at, False, headers or NO_PROPERTIES))
                if self._waits is not None:
                    self._come(last, pending)
            elif isinstance(item, Waits):
                self._waits = None if not item.left and item.sequence <= taken else item
            else:
                letters.append(Rejected(self.name, item.reason, b""))
        self._taken = taken
        if replies:
            self._open.append((last, len(replies), replies if self._needs_each else replies[-1:]))
            self._unacknowledged += len(replies)
            self._give_receipts()
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        batch.rejected += letters
        batch.position = {"created": self._created, "sequence": taken}
        return batch

    def _come(self, sequence: int, pending: int) -> None:
        """A message has come while some waited."""
        waits = self._waits
        if waits is not None:
            left = waits.left - (sequence > waits.sequence)
            self._waits = None if not pending or (left <= 0 and sequence >= waits.sequence) else Waits(waits.sequence, left)

    # --- in the library's thread ------------------------------------------------------------------------------------------

    async def _begin(self, mailbox: Mailbox, created: str, committed: int | None) -> Consumer:
        """Connect, and let all that comes go to the mailbox. ConnectionError where that fails."""
        self._client = client = Reader()
        await connect(client, self._options, self._client_name, lambda reason: mailbox.fail(ConnectionError(reason)))
        consumer = Consumer(client, self._place, mailbox, self._link)
        await consumer.begin(created, committed)
        loop = asyncio.get_running_loop()
        mailbox.on_room = partial(_call, loop, consumer.room)
        loop.create_task(consumer.run()).add_done_callback(partial(_report, mailbox))
        return consumer

    async def _close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await leave(client)


def _call(loop: asyncio.AbstractEventLoop, do: Callable[[], object]) -> bool:
    """Let a loop do something, in its own thread; whether it still runs. If not, the next connection sees to it."""
    try:
        loop.call_soon_threadsafe(do)
    except RuntimeError:
        return False
    return True


def _start(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


_tasks: set[asyncio.Task[None]] = set()
"""A task that nobody holds may vanish."""


def _report(mailbox: Mailbox, task: asyncio.Task[None]) -> None:
    """Something has ended that never ends: whoever receives is told why."""
    if not task.cancelled() and (error := task.exception()) is not None:
        mailbox.fail(error if isinstance(error, ConnectionError) else ConnectionError(str(error) or type(error).__name__))
