"""Facts from the nodes of a server: it tells what changes, or is asked for all values at once, where it cannot.

A value becomes a message, `{"value": 21.5, "time": "2026-11-22T14:34:13Z"}` at the topic that is its node's name, of the
time that its source says. The library needs asyncio's event loop: it runs in a thread, beside the engine's.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
from asyncua.ua.uaerrors import UaError

from tidelog.connectors.field.opcua.connecting import CLIENT_ERRORS, connect, leave
from tidelog.connectors.field.opcua.mailbox import Group, Mailbox, Reading
from tidelog.connectors.field.opcua.polling import Polling
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.subscription import Lost, Subscription
from tidelog.connectors.field.opcua.values import NodeValues
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.connectors.transport.loop import LoopThread
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected

logger = logging.getLogger("tidelog")

MAX_BATCH: Final = 1024
"""A batch grows until it has so many values; what came in one answer is never divided."""


class _Position(msgspec.Struct):
    """What a later run has to know: the subscription, its last notification that counts, and what was asked for."""

    subscription: int
    sequence: int
    asked: str


class OpcUaSource:
    """Listens to nodes, for ever: a connection that is lost is made again by whoever enters it again.

    It is behind while it is away, and until it has handed over what the server has kept for it meanwhile. With `keeps` the
    server keeps what changes between two runs.
    """

    is_replayable = True

    def __init__(
        self,
        name: str,
        settings: OpcUaSettings,
        nodes: Sequence[NodeSettings],
        mapper: Mapper,
        *,
        folder: str = ".",
        keeps: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        settings.check()
        if not nodes:
            raise SpecError("it listens to no node: give tables `[[source.node]]`; `tidelog peek URL` writes them")
        self.name = name
        self._settings, self._nodes, self._folder, self._keeps = settings, nodes, folder, keeps
        self._mapper, self._now = mapper, now
        self._link = Link(now)
        self._asked = _digest(settings, nodes)
        self._known = _Position(0, 0, self._asked)
        self._counted = (0, 0)
        self._thread: LoopThread
        self._mailbox: Mailbox
        self._subscription: Subscription | None = None
        self._polling: Polling | None = None
        self._client: Any = None
        self._takes_over = True
        self._is_behind = True
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    # --- how it stands --------------------------------------------------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        """Whether the server is there."""
        return self._link.is_up

    @property
    def is_behind(self) -> bool:
        """Whether it is away, or something that waited at the server has not been handed over."""
        return self._is_behind or not self._link.is_up

    def link(self) -> LinkStatistics:
        """How the connection stands."""
        return self._link.statistics()

    def listen_again(self) -> None:
        """The process did not run for a while: the server has kept what changed, and tells it with its next message."""
        teller = self._subscription or self._polling
        if teller is not None and self._link.is_up:
            self._is_behind = True
            self._in_thread(teller.look_again)

    @property
    def awaits_receipts(self) -> bool:
        """Whether nothing more is asked for until there is a receipt."""
        return self._subscription is not None and self._subscription.is_full

    # --- the engine's side ----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> OpcUaSource:
        self._thread, self._mailbox = LoopThread(f"opcua {self.name}"), Mailbox()
        self._is_behind = True
        self._thread.start()
        try:
            await self._thread.run(self._open(self._mailbox))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._end()

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            self._link.down()
            with suppress(TimeoutError):
                await self._thread.run(self._close())
            await anyio.to_thread.run_sync(self._thread.stop)

    async def receive(self) -> Batch | None:
        """The facts of what has come, once something has. It never ends; OSError where the connection is lost."""
        try:
            await self._mailbox.wait()
        except OSError:
            self._link.down()
            if self._subscription is not None and self._subscription.is_unproven:
                told = "%s: a subscription that was taken over tells nothing: from now on there is a new one each time"
                logger.warning(told, self._settings.url)
                self._takes_over = False
            raise
        groups = self._mailbox.take(MAX_BATCH)
        batch = self._batch([reading for group in groups for reading in group.readings])
        for group in groups:
            if group.sequence or group.subscription:
                self._counted = group.subscription, max(group.sequence, self._sequence_of(group))
            if group.is_last:
                self._is_behind = False
        batch.position = msgspec.to_builtins(_Position(*self._counted, self._asked))
        return batch

    def _sequence_of(self, group: Group) -> int:
        return self._counted[1] if self._counted[0] == group.subscription else 0

    def _batch(self, readings: Sequence[Reading]) -> Batch:
        encode = msgspec.json.encode
        messages = [Message(one.name, encode(one.held), one.at) for one in readings if one.held is not None]
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        batch.rejected += [Rejected(f"{self.name}:{one.name}", one.reason, b"") for one in readings if one.held is None]
        return batch

    def acknowledge(self, position: dict[str, Any]) -> None:
        """All up to this position counts: the server need not keep it."""
        found = msgspec.convert(position, _Position)
        self._known = found
        if self._subscription is not None:
            self._in_thread(partial(self._subscription.acknowledge, found.subscription, found.sequence))

    def _in_thread(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the thread has just ended: the next connection begins with what is known then
            self._thread.loop.call_soon_threadsafe(do)

    def resume(self, position: dict[str, Any]) -> None:
        """Go on behind this position: the server is asked for what it has kept. DataError where it is damaged."""
        try:
            self._known = msgspec.convert(position, _Position)
        except msgspec.ValidationError as error:
            raise DataError(f"{self.name}: its position cannot be read: {error}") from None
        if self._known.asked == self._asked:
            self._counted = self._known.subscription, self._known.sequence

    # --- asyncio's side -------------------------------------------------------------------------------------------------

    async def _open(self, mailbox: Mailbox) -> None:
        """Connect, and let all that comes go to the mailbox. ConnectionError where that fails."""
        told = self._settings
        self._client = await connect(
            told,
            self._folder,
            session_seconds=max(told.keep, 60.0),
            on_lost=lambda reason: mailbox.fail(ConnectionError(f"{told.url}: {reason}")),
        )
        values = [
            NodeValues(node.name, node.id, told.timestamps, node.queue or told.queue, self._now) for node in self._nodes
        ]
        unsubscribed: Sequence[int] = range(len(self._nodes))
        works = []
        try:
            if told.subscribe:
                unsubscribed = await self._subscribe(mailbox, values)
            if unsubscribed:
                polled = [(self._nodes[index], values[index]) for index in unsubscribed]
                self._polling = Polling(self._client.uaclient.session, told, polled, mailbox.put, self._link)
                works.append(self._polling.run(is_alone=self._subscription is None))
            if self._subscription is not None:
                works.append(self._subscription.listen())
                if told.repeat:
                    works.append(_repeat(told.repeat, values, mailbox, self._now))
        except CLIENT_ERRORS as error:
            raise ConnectionError(f"{told.url}: {error or 'no answer'}") from error
        self._link.up()
        for work in works:
            task = asyncio.get_running_loop().create_task(work)
            task.add_done_callback(partial(_report, mailbox, told.url))

    async def _subscribe(self, mailbox: Mailbox, values: Sequence[NodeValues]) -> Sequence[int]:
        """Returns the nodes that cannot be subscribed to."""
        known, (number, received) = self._known, self._counted
        subscription = Subscription(self._settings, self._nodes, values, mailbox.put, self._link)
        committed = known.sequence if known.subscription == number else 0
        try:
            unsubscribed = await subscription.attach(
                self._client.uaclient.session, number, received, committed, takes_over=self._takes_over
            )
        except UaError as error:
            logger.warning("%s: it has no subscriptions (%s): it is asked for its values", self._settings.url, error)
            self._subscription = None
            return range(len(self._nodes))
        self._subscription = subscription
        return unsubscribed

    async def _close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            if self._subscription is not None and not self._keeps and not self._mailbox.has_failed:
                await self._subscription.delete()
            await leave(client, keeps_subscriptions=True)


async def _repeat(seconds: float, values: Sequence[NodeValues], mailbox: Mailbox, now: Callable[[], float]) -> None:
    """Tell values again that have not changed for so long: so long as the connection lasts, they hold."""
    while True:
        await asyncio.sleep(seconds / 4)
        until = now() - seconds
        readings = [reading for one in values if one.last is not None and one.told_at <= until for reading in one.again()]
        if readings:
            await mailbox.put(Group(readings))


def _report(mailbox: Mailbox, url: str, task: asyncio.Task[None]) -> None:
    """Something has ended that never ends: whoever receives is told why."""
    if task.cancelled():
        return
    error = task.exception()
    mailbox.fail(error if isinstance(error, Lost) else ConnectionError(f"{url}: {error or 'no answer'}"))


def _digest(settings: OpcUaSettings, nodes: Sequence[NodeSettings]) -> str:
    """What a subscription is to: another one is made where something else is asked for."""
    told = msgspec.json.encode([settings.url, settings.every, settings.sampling, settings.queue, settings.deadband, nodes])
    return hashlib.blake2b(told, digest_size=8).hexdigest()
