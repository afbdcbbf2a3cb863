"""A durable consumer of a stream, on one connection: where it begins, what is asked for, and the receipts.

The server keeps, under the consumer's name, up to where messages have receipts. What was delivered without one, when a
connection broke, it would deliver again much later, behind newer messages. So whoever connects makes the consumer anew where
something was delivered beyond the last commit: it begins behind that, and all comes in the order of the stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy, RetentionPolicy, StreamInfo
from nats.js.errors import NotFoundError

from tidelog.connectors.brokers.nats.connecting import CLIENT_ERRORS, told
from tidelog.connectors.brokers.nats.mailbox import MAX_WAITING, Delivered, Mailbox, Missed, Waits
from tidelog.connectors.brokers.nats.settings import CONNECT_SECONDS
from tidelog.connectors.transport.links import Link

MAX_BATCH: Final = 1024
"""How many messages are asked for at once."""
MAX_UNACKNOWLEDGED: Final = 65_536
"""How many the server delivers without a receipt."""
_MAX_BYTES: Final = 16_000_000
"""How many bytes are asked for at once, or one message more."""
_HEARTBEAT: Final = 5.0
_SILENCE: Final = 4 * _HEARTBEAT
_EXPIRES: Final = 30.0
_ACK_SECONDS: Final = 3600.0
"""After so long the server delivers again, on the same connection, what has no receipt."""
_ENDED: Final = ("consumer deleted", "server shutdown", "leadership change", "consumer is push based", "not found")
Start = Literal["earliest", "latest"]


@dataclass(frozen=True, slots=True)
class Place:
    """What is read: a stream, by its name or, without one, by the subject; the subject; and the name of the consumer."""

    stream: str
    subject: str
    consumer: str
    start: Start


class Consumer:
    """Used in the thread of the library alone. `begin` first, then `run`, beside `acknowledge`."""

    def __init__(self, client: Client, place: Place, mailbox: Mailbox, link: Link) -> None:
        self._client, self._place, self._mailbox, self._link = client, place, mailbox, link
        self._js = client.jetstream(timeout=CONNECT_SECONDS)
        self._stream = place.stream
        self._wanted = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self.created = ""
        """When the stream was made: another one of the same name was made at another time."""
        self.committed = 0
        """The number of the last message that counts."""
        self.needs_each = False
        """Whether each message needs a receipt of its own; else one counts for all before it."""

    # --- where it begins --------------------------------------------------------------------------------------------------

    async def begin(self, created: str, committed: int | None) -> None:
        """Find the stream, and let the consumer stand behind the last message that counts, None where that is not known.

        ConnectionError where the server refuses something, or has no such stream.
        """
        try:
            stream = await self._find()
            known = await self._known()
            self.created, self.committed = str(stream.created), self._begin(stream, known, created, committed)
            self.needs_each = stream.config.retention == RetentionPolicy.WORK_QUEUE
            if known is None or not self._stands(known):
                known = await self._make(stream, exists=known is not None)
        except CLIENT_ERRORS as error:
            self._link.errors += 1
            raise ConnectionError(f"stream `{self._stream or self._place.subject}`: {told(error)}") from None
        self._mailbox.put(Waits(0, known.num_pending or 0))

    async def _find(self) -> StreamInfo:
        self._link.requests += 1
        if not self._place.stream:
            try:
                self._stream = await self._js.find_stream_name_by_subject(self._place.subject)
            except NotFoundError:
                raise ConnectionError(f"no stream has the subject `{self._place.subject}`: make one") from None
        return await self._js.stream_info(self._stream)

    async def _known(self) -> ConsumerInfo | None:
        self._link.requests += 1
        try:
            known: ConsumerInfo = await self._js.consumer_info(self._stream, self._place.consumer)
        except NotFoundError:
            return None
        return known

    def _begin(self, stream: StreamInfo, known: ConsumerInfo | None, created: str, committed: int | None) -> int:
        """The number of the message behind which it begins; what cannot be read any more is told."""
        state = stream.state
        if committed is None:
            if known is not None and known.ack_floor is not None:  # which is 0 until there is a receipt
                committed = max(known.ack_floor.stream_seq, (known.config.opt_start_seq or 1) - 1)
            elif self._place.start == "latest":
                return state.last_seq
            else:
                return 0
        elif created != str(stream.created):
            self._mailbox.put(Missed(f"stream `{self._stream}` was made anew: it is read from its first message"))
            return 0
        if committed > state.last_seq:
            text = f"the stream ends before message {committed}, which was read: the server has lost what it had stored"
            self._mailbox.put(Missed(text))
            return state.last_seq
        if state.first_seq > committed + 1 and self._must_have_all(stream):
            text = f"messages {committed + 1} to {state.first_seq - 1} were dropped before they were read"
            self._mailbox.put(Missed(text))
        return committed

    def _must_have_all(self, stream: StreamInfo) -> bool:
        """Whether what is not in the stream any more was dropped by its limits, and was of what is read."""
        subjects = stream.config.subjects or []
        is_whole = self._place.subject == ">" or subjects == [self._place.subject]
        return is_whole and stream.config.retention in (RetentionPolicy.LIMITS, None)

    def _stands(self, known: ConsumerInfo) -> bool:
        """Whether the consumer, as it is, goes on where it should: nothing is on its way beyond what counts."""
        if known.delivered is None or known.delivered.stream_seq > self.committed or known.num_ack_pending:
            return False
        wanted = self._config()
        names = ("filter_subject", "ack_policy", "max_ack_pending")
        return all(getattr(known.config, name) == getattr(wanted, name) for name in names)

    def _config(self, name: str = "") -> ConsumerConfig:
        # A queue gives what has no receipt, and only so.
        policy = DeliverPolicy.ALL if self.needs_each else DeliverPolicy.BY_START_SEQUENCE
        return ConsumerConfig(
            durable_name=name or self._place.consumer,
            description="tidelog",
            deliver_policy=policy,
            opt_start_seq=None if self.needs_each else self.committed + 1,
            ack_policy=AckPolicy.EXPLICIT if self.needs_each else AckPolicy.ALL,
            ack_wait=_ACK_SECONDS,
            filter_subject=self._place.subject,
            max_ack_pending=MAX_UNACKNOWLEDGED,
        )

    async def _make(self, stream: StreamInfo, *, exists: bool) -> ConsumerInfo:
        """The consumer, anew. Where the stream keeps only what somebody is interested in, somebody else is, meanwhile."""
        self._link.requests += 1
        guard = f"{self._place.consumer}-meanwhile" if stream.config.retention == RetentionPolicy.INTEREST else ""
        if guard and exists:
            await self._delete(guard)
            await self._js.add_consumer(self._stream, self._config(guard))
        if exists:
            await self._delete(self._place.consumer)
        made = await self._js.add_consumer(self._stream, self._config())
        if guard:
            await self._delete(guard)
        return made

    async def _delete(self, name: str) -> None:
        with suppress(NotFoundError):
            await self._js.delete_consumer(self._stream, name)

    # --- messages ---------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Hand over what comes. It never ends; ConnectionError where that is over."""
        inbox = self._client.new_inbox()
        await self._client.subscribe(inbox, cb=self._take)
        ask = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._place.consumer}"
        told_bytes = max(_MAX_BYTES, 2 * self._client.max_payload)
        nanoseconds = {"expires": int(_EXPIRES * 1e9), "idle_heartbeat": int(_HEARTBEAT * 1e9)}
        request = json.dumps({"batch": MAX_BATCH, "max_bytes": told_bytes, **nanoseconds}).encode()
        while True:
            while len(self._mailbox) > MAX_WAITING:
                self._room.clear()
                if len(self._mailbox) > MAX_WAITING:
                    await self._room.wait()
            self._wanted = MAX_BATCH
            self._link.requests += 1
            await self._client.publish(ask, request, reply=inbox)
            while self._wanted > 0:
                self._news.clear()
                try:
                    async with asyncio.timeout(_SILENCE):
                        await self._news.wait()
                except TimeoutError:
                    self._link.errors += 1
                    raise ConnectionError(f"nothing was heard for {_SILENCE:g} s") from None

    def room(self) -> None:
        """What waited has been taken."""
        self._room.set()

    async def _take(self, message: Msg) -> None:
        """A message, or, without a place to send a receipt to, what the server says of the request."""
        reply = message.reply
        if not reply:
            await self._said(message.headers or {})
            return
        words = reply.split(".")
        at = 5 if len(words) == 9 else 7  # newer servers say a domain and an account before it
        item = Delivered(
            int(words[at]),
            int(words[at + 2]) / 1e9,
            int(words[at + 3]),
            reply,
            message.subject,
            message.headers,
            message.data,
        )
        self._mailbox.put(item)
        self._wanted -= 1
        if not self._wanted & 0xFF:
            self._news.set()

    async def _said(self, headers: dict[str, str]) -> None:
        """What is told of a request: it lives (100), it is over, or, where nothing more will ever come, why."""
        status, text = headers.get("Status", ""), headers.get("Description", "")
        if status == "503" or (status == "409" and any(word in text.lower() for word in _ENDED)):
            self._link.errors += 1
            self._mailbox.fail(ConnectionError(f"consumer `{self._place.consumer}`: {text or 'it is not there'}"))
        elif status != "100":
            self._wanted = 0
            if status == "408":  # what waited may have been dropped meanwhile
                await self.look_again()
        self._news.set()

    # --- what the engine asks for -----------------------------------------------------------------------------------------

    async def acknowledge(self, replies: Sequence[str]) -> None:
        """Give receipts."""
        with suppress(*CLIENT_ERRORS):  # where they are lost, it comes again
            for reply in replies:
                await self._client.publish(reply)

    async def look_again(self) -> None:
        """Find out how much waits."""
        self._link.requests += 1
        with suppress(*CLIENT_ERRORS):
            known = await self._js.consumer_info(self._stream, self._place.consumer)
            self._mailbox.put(Waits(known.delivered.stream_seq, known.num_pending or 0))
