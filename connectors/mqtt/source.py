"""Facts from the messages of a broker: a persistent session, each message acknowledged once it has been taken for good."""

from __future__ import annotations

import hashlib
import struct
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import anyio
import msgspec
from paho.mqtt.client import MQTTMessage

from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.messages import NO_PROPERTIES, Message
from tidelog.connectors.mqtt.client import ClientStatistics, MqttClient
from tidelog.plans.errors import DataError
from tidelog.runtime.interfaces import Batch

MAX_BATCH = 1024
"""How many messages go into one batch."""
MAX_WAITING = 4096
"""With how many messages waiting nothing more is read from the broker."""
_FORGET_AFTER = 3
"""After so many keep-alive times an acknowledgement has surely arrived: the broker has answered since."""
_ENTRY = struct.Struct("<H8s")


class _Position(msgspec.Struct):
    """What a source has to know in a later run: what it has subscribed to, and which messages the broker may send again."""

    subscriptions: list[str]
    taken: bytes


class _Taken:
    """The messages of QoS 1 that the broker may send once more, by their number in its session.

    A number is used again for another message, so what it held is kept, too, as a digest. Entries are held as they are
    stored, since each batch has a position.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[int, bytes] = OrderedDict()
        self._acknowledged: deque[tuple[float, int, bytes]] = deque()
        self._open: set[int] = set()

    def has(self, mid: int, digest: bytes) -> bool:
        return self._entries.get(mid) == _ENTRY.pack(mid, digest)

    def add(self, mid: int, digest: bytes) -> None:
        self._entries[mid] = _ENTRY.pack(mid, digest)
        self._entries.move_to_end(mid)
        self._open.add(mid)
        while len(self._entries) > self._most:
            self._open.discard(self._entries.popitem(last=False)[0])

    def is_open(self, mid: int) -> bool:
        """Whether it was not acknowledged yet."""
        return mid in self._open

    def acknowledge(self, mid: int, now: float) -> None:
        self._open.discard(mid)
        self._acknowledged.append((now, mid, self._entries.get(mid, b"")))

    def forget(self, before: float) -> None:
        """Let go of what was acknowledged before that."""
        while self._acknowledged and self._acknowledged[0][0] < before:
            _, mid, entry = self._acknowledged.popleft()
            if self._entries.get(mid) == entry:
                del self._entries[mid]

    def clear(self) -> None:
        self._entries.clear()
        self._acknowledged.clear()
        self._open.clear()

    def dump(self) -> bytes:
        return b"".join(self._entries.values())

    def load(self, data: bytes, now: float) -> None:
        for mid, digest in _ENTRY.iter_unpack(data):
            self.add(mid, digest)
            self.acknowledge(mid, now)


class MqttSource:
    """Reads the messages of some topics, for ever: a connection that is lost is made again, with back-off and jitter.

    With QoS 1 and a persistent session a message is acknowledged when the engine gives a receipt for the position of its
    batch: once it is committed, where the run has a state. What the broker sends again although it was taken (its `DUP`
    flag is set, and its number and content are known) is passed over.
    """

    is_replayable = True

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
        self._subscribed: list[str] | None = None
        self._forget_after = _FORGET_AFTER * client.settings.keep_alive
        self._taken = _Taken(client.settings.max_inflight if client.settings.version == "5" else 0xFFFF)
        self._waiting: deque[tuple[Message, int | None]] = deque()
        self._arrived: anyio.Event
        self._unacknowledged: deque[tuple[int, list[int]]] = deque()
        self._number = 0
        self.on_messages: Callable[[Sequence[Message]], None] | None = None
        self.repeated = 0

    def connection(self) -> ClientStatistics:
        """How the connection stands."""
        return self.client.statistics()

    # --- the engine's side ------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> MqttSource:
        self._arrived = anyio.Event()
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.__aexit__(*exc)

    async def receive(self) -> Batch | None:
        """The facts of the messages that have come, once some have. It never ends."""
        while not self._waiting:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        messages: list[Message] = []
        mids: list[int] = []
        while self._waiting and len(messages) < MAX_BATCH:
            message, mid = self._waiting.popleft()
            messages.append(message)
            if mid is not None:
                mids.append(mid)
        if len(self._waiting) < MAX_WAITING // 2:
            self.client.resume()
        if self.on_messages is not None:
            self.on_messages(messages)
        batch = self._mapper.batch(messages)
        self._number += 1
        if mids:
            self._unacknowledged.append((self._number, mids))
        batch.position = self._position()
        return batch

    async def acknowledge(self, position: dict[str, Any]) -> None:
        """All batches up to this position are taken for good: the broker need not send their messages again."""
        now, number = self._now(), position["number"]
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            _, mids = self._unacknowledged.popleft()
            for mid in mids:
                self.client.acknowledge(mid)
                self._taken.acknowledge(mid, now)
        self._taken.forget(now - self._forget_after)

    # --- a later run ------------------------------------------------------------------------------------------------------

    def _position(self) -> dict[str, Any]:
        return {"number": self._number, "subscriptions": self._topics, "taken": self._taken.dump()}

    def resume(self, position: dict[str, Any]) -> None:
        """Go on behind this position: what it tells as taken is not taken again. DataError where it is damaged."""
        try:
            found = msgspec.convert(position, _Position)
            self._taken.load(found.taken, self._now())
        except (msgspec.ValidationError, struct.error) as error:
            raise DataError(f"{self.name}: its position cannot be read: {error}") from None
        self._subscribed = found.subscriptions

    # --- the broker's side ------------------------------------------------------------------------------------------------

    def _on_session(self, is_present: bool) -> None:
        """Subscribe to what the broker's session does not have yet, and leave what is not wanted any more."""
        if not is_present:
            self._subscribed = []
            self._taken.clear()
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

    def _on_message(self, given: MQTTMessage) -> None:
        mid, payload = None, bytes(given.payload)
        if given.qos:
            mid = given.mid
            digest = hashlib.blake2b(given._topic + b"\0" + payload, digest_size=8).digest()
            if given.dup and self._taken.has(mid, digest):
                self.repeated += 1
                if not self._taken.is_open(mid):
                    self.client.acknowledge(mid)
                return
            self._taken.add(mid, digest)
        if given.retain and not self._takes_retained:
            if mid is not None:
                self.client.acknowledge(mid)
                self._taken.acknowledge(mid, self._now())
            return
        self._waiting.append((Message(given.topic, payload, self._now(), given.retain, _properties(given)), mid))
        self._arrived.set()
        if len(self._waiting) >= MAX_WAITING:
            self.client.pause()


def _properties(given: MQTTMessage) -> Any:
    found = getattr(given.properties, "UserProperty", None)
    return dict(found) if found else NO_PROPERTIES
