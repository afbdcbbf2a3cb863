"""Facts from the messages of a broker: a persistent session, each message acknowledged once it has been taken for good."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import anyio
import msgspec

from tidelog.connectors.brokers.mqtt.catching_up import CatchingUp
from tidelog.connectors.brokers.mqtt.client import ClientStatistics, MqttClient
from tidelog.connectors.brokers.mqtt.packets import Incoming
from tidelog.connectors.brokers.mqtt.taken import Taken
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch, Rejected

MAX_BATCH = 1024
"""How many messages go into one batch."""
MAX_WAITING = 4096
"""With how many messages waiting nothing more is read from the broker."""
_FORGET_AFTER = 3
"""After so many keep-alive times a broker has sent again what it would after a connection broke."""
_MOST_TOPIC = 200
"""So many characters of a topic are shown that cannot be read."""
_ASK_SECONDS = 0.1
"""How often, at most, the broker is asked for an answer, which tells that acknowledgements have arrived."""


class _Position(msgspec.Struct):
    """What a source has to know in a later run: what it has subscribed to, and which messages the broker may send again."""

    subscriptions: list[str]
    taken: bytes


class MqttSource:
    """Reads the messages of some topics, for ever: a connection that is lost is made again, with back-off and jitter.

    With QoS 1 and a persistent session a message is acknowledged when the engine gives a receipt for the position of its
    batch: once it is committed, where the run has a state. What the broker sends again although it was taken (its `DUP`
    flag is set, and its number and content are known) is passed over. It is behind while it is away, and until it has
    handed over what waited at the broker.
    """

    is_replayable = True
    max_batch = MAX_BATCH

    def __init__(
        self,
        name: str,
        client: MqttClient,
        mapper: Mapper,
        topics: Sequence[str],
        *,
        qos: Literal[0, 1] = 1,
        takes_retained: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._mapper, self._topics, self._qos = mapper, sorted(set(topics)), qos
        self._takes_retained, self._now = takes_retained, now
        self.client = client
        self.client.on_session, self.client.on_message = self._on_session, self._on_message
        self.client.on_read, self.client.on_answer = self._on_read, self._on_answer
        self.client.may_rest = lambda: not self.awaits_receipts
        self._subscribed: list[str] | None = None
        self._forget_after = _FORGET_AFTER * client.settings.keep_alive
        self._taken = Taken(self._forget_after)
        self._asked, self._asked_at = 0, 0.0
        self._catching_up = CatchingUp(client.ask)
        self._waiting: deque[tuple[Message | Rejected, int | None]] = deque()
        self._arrived: anyio.Event
        self._is_awaited = False
        self._take: Callable[[Batch], Batch | None] | None = None
        self._left: Batch | None = None
        self._unacknowledged: deque[tuple[int, list[int]]] = deque()
        self._number = 0
        self.on_messages: Callable[[Sequence[Message]], None] | None = None
        self.repeated = 0

    @property
    def is_connected(self) -> bool:
        """Whether the broker is there."""
        return self.connection().is_connected

    def connection(self) -> ClientStatistics:
        """How the connection stands."""
        return self.client.statistics()

    @property
    def is_behind(self) -> bool:
        """Whether it is away, or something that waited at the broker has not been handed over."""
        return not self.client.statistics().is_connected or self._catching_up.is_behind

    @property
    def awaits_receipts(self) -> bool:
        """Whether the broker may be waiting for one before it sends more."""
        return self._catching_up.is_full

    def listen_again(self) -> None:
        """The process was not listening for a while: find out again whether messages wait."""
        self._catching_up.look_again()

    # --- the engine's side ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> MqttSource:
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.__aexit__(*exc)

    async def receive(self) -> Batch | None:
        """The facts of the messages that have come, once some have. It never ends."""
        while not self._waiting and self._left is None:
            self._arrived = anyio.Event()
            self._is_awaited = True
            try:
                await self._arrived.wait()
            finally:
                self._is_awaited = False
        left, self._left = self._left, None
        return self._next() if left is None else left

    def pass_at_once(self, take: Callable[[Batch], Batch | None] | None) -> None:
        """While `receive` waits, let `take` have what has come in the turn in which it is read; what it returns is received.
        None: no more."""
        self._take = take

    def _on_read(self) -> None:
        """All messages that were there have been read."""
        if not self._is_awaited:
            return
        if self._take is not None and self._waiting and self._left is None:
            self._left = self._take(self._next())
        if self._waiting or self._left is not None:
            self._arrived.set()

    def _next(self) -> Batch:
        """The facts of the messages that have come, up to a bound."""
        messages: list[Message] = []
        refused: list[Rejected] = []
        mids: list[int] = []
        while self._waiting and len(messages) + len(refused) < self.max_batch:
            message, mid = self._waiting.popleft()
            if isinstance(message, Rejected):
                refused.append(message)
            else:
                messages.append(message)
            if mid is not None:
                mids.append(mid)
                self._taken.hand_over(mid)
        self._catching_up.hand_over(len(messages))
        if len(self._waiting) < MAX_WAITING // 2:
            self.client.resume()
        messages = self._translated(messages, refused)
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        batch.rejected += refused
        self._number += 1
        if mids:
            self._unacknowledged.append((self._number, mids))
        batch.position = self._position()
        return batch

    def _translated(self, messages: list[Message], refused: list[Rejected]) -> list[Message]:
        """What messages say, as maps take it; what cannot be read is appended to `refused`."""
        return messages

    def acknowledge(self, position: dict[str, Any]) -> None:
        """All batches up to this position are taken for good: the broker need not send their messages again."""
        now, number, count = self._now(), position["number"], 0
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            _, mids = self._unacknowledged.popleft()
            self.client.acknowledge(mids)
            for mid in mids:
                self._taken.acknowledge_next(mid, now)
            count += len(mids)
        self.client.flush()
        self._catching_up.acknowledged(count)
        self._ask(now)

    def _ask(self, now: float) -> None:
        """Ask the broker for an answer, if one is of use: behind it, nothing that was acknowledged before comes again."""
        if self._taken.has_unsure and not self._asked and not 0 <= now - self._asked_at < _ASK_SECONDS:
            self._asked, self._asked_at = self.client.ask(), now
            if self._asked:
                self._taken.ask()

    def _on_answer(self, number: int) -> None:
        if self._asked and number >= self._asked:
            self._asked = 0
            self._taken.confirm()
        self._catching_up.answered(number)

    # --- a later run ------------------------------------------------------------------------------------------------------

    def _position(self) -> dict[str, Any]:
        return {"number": self._number, "subscriptions": self._topics, "taken": self._taken.dump(self._now())}

    def resume(self, position: dict[str, Any]) -> None:
        """Go on behind this position: what it tells as taken is not taken again. DataError where it is damaged."""
        try:
            found = msgspec.convert(position, _Position)
            self._taken.load(found.taken, self._now())
        except (msgspec.ValidationError, DataError) as error:
            raise DataError(f"{self.name}: its position cannot be read: {error}") from None
        self._subscribed = found.subscriptions

    # --- the broker's side ------------------------------------------------------------------------------------------------

    def _on_session(self, is_present: bool) -> None:
        """Subscribe to what the broker's session does not have yet, and leave what is not wanted any more."""
        self._asked = 0
        if is_present:
            self._taken.lose(self._now())
        else:
            self._subscribed = []
            self._taken = Taken(self._forget_after)  # the numbers of a new session mean other messages
            self._unacknowledged.clear()
            self._waiting = deque((message, None) for message, _ in self._waiting)
        known = self._subscribed
        if known is None:  # a session from before of which nothing is known: what it has is made what is wanted
            self.client.subscribe(self._topics, self._qos)
        else:
            new = [topic for topic in self._topics if topic not in known]
            old = [topic for topic in known if topic not in self._topics]
            if new:
                self.client.subscribe(new, self._qos)
            if old:
                self.client.unsubscribe(old)
        self._subscribed = list(self._topics)
        self._catching_up.begin()

    def _on_message(self, given: Incoming) -> None:
        mid = None
        self._catching_up.came(counts=given.qos > 0)
        if given.qos:
            mid = given.number
            digest = hashlib.blake2b(given.topic + b"\0" + given.payload, digest_size=8).digest()
            if given.is_repeated and self._taken.has(mid, digest, self._now()):
                self.repeated += 1
                self._catching_up.passed_over()
                if not self._taken.is_open(mid):
                    self.client.acknowledge([mid])
                    self._catching_up.acknowledged(1)
                return
            self._taken.add(mid, digest)
        if given.is_retained and not self._takes_retained:
            self._catching_up.passed_over()
            if mid is not None:
                self.client.acknowledge([mid])
                self._taken.acknowledge(mid, self._now())
                self._catching_up.acknowledged(1)
            return
        self._waiting.append((self._read(given), mid))
        if len(self._waiting) >= MAX_WAITING:
            self.client.pause()

    def _read(self, given: Incoming) -> Message | Rejected:
        try:
            topic = given.topic.decode()
        except UnicodeDecodeError:  # no broker should let that pass
            shown = given.topic.decode("utf-8", "backslashreplace")
            return Rejected(self.name, f"the topic `{shown[:_MOST_TOPIC]}` is not UTF-8", given.payload[:RAW_LIMIT])
        return Message(topic, given.payload, self._now(), given.is_retained, given.properties)
