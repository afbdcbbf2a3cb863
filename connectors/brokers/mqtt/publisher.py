"""Messages to a broker: sent until it says that it has them."""

from __future__ import annotations

import heapq
import logging
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Literal, Self

import anyio

from tidelog.connectors.brokers.mqtt.client import ClientStatistics, MqttClient
from tidelog.connectors.brokers.mqtt.packets import Refusal, Unsendable
from tidelog.connectors.brokers.mqtt.trials import Trials, Tried
from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.backoff import FIRST_PAUSE, pause_before
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog")

MAX_UNSENT = 256
"""How many messages wait at once for the broker to take them."""


@dataclass(eq=False, slots=True)
class Sending(Tried):
    """One answer on its way: and how often the broker has refused it."""

    answer: AnyAnswer
    topic: str
    payload: bytes
    name: str
    attempts: int = 0


class MqttPublisher(GivingUp):
    """Publishes messages that tell answers, and knows which of them the broker has.

    While the broker is away all waits; the connection is made again, for ever. What the broker refuses for now (MQTT 5) is
    sent again after a pause, half a second at first and then longer, up to `retry_longest` of the client's settings. What it
    refuses for good is given up, and so are a topic and a packet that are too long for MQTT or for the broker, and one on
    which the broker ends the connection without a word, again and again (`connectors/brokers/mqtt/trials.py`). The others go
    on. Dead letters have an answer as `lines` writes it.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        client: MqttClient,
        lines: Encoder,
        *,
        qos: Literal[0, 1, 2] = 1,
        retain: bool = False,
        choice: Choice | None = None,
    ) -> None:
        self.name = name
        self._lines_of, self._qos, self._retain = lines, qos, retain
        self._choice = Choice() if choice is None else choice
        self.client = client
        self.client.on_published, self.client.on_session = self._on_published, self._on_session
        self._heading: Heading | None = None
        self._open: dict[int, Sending] = {}
        self._again: list[tuple[float, int, Sending]] = []  # when, and in which order
        self._gone: deque[tuple[Sending, str]] = deque()
        self._trials = Trials()
        self._progress: anyio.Event

    @property
    def is_connected(self) -> bool:
        """Whether the broker is there."""
        return self.connection().is_connected

    def connection(self) -> ClientStatistics:
        """How the connection stands."""
        return self.client.statistics()

    async def __aenter__(self) -> Self:
        self._progress = anyio.Event()
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.__aexit__(*exc)

    async def _begin(self, answer: AnyAnswer, topic: str, payload: bytes, name: str) -> None:
        """Hand over a message for an answer, as soon as no more than so many are on their way."""
        if self._open or self._gone or self._again or self._trials:
            await self._wait(MAX_UNSENT - 1)
        while self._qos == 0 and not self.is_connected:
            await self._next()
        try:
            size = self.client.packet_size(topic, payload, self._qos, name)
        except ENCODING_ERRORS as error:
            await self._give_up(answer, unencodable(error), self._lines_of)
            return
        self._hand_over(Sending(size, 0, answer, topic, payload, name))

    def _hand_over(self, sending: Sending) -> None:
        """Publish a message, now or when its turn comes."""
        if self._trials.are_on:
            self._trials.hold(sending)
        else:
            self._publish(sending)

    def _settled(self, sending: Sending) -> None:
        """The broker has this message, or will never have it."""

    def _on_the_way(self) -> int:
        """How many messages wait for the broker."""
        return len(self._open) + len(self._again) + len(self._trials)

    def _publish(self, sending: Sending) -> None:
        try:
            mid = self.client.publish(sending.topic, sending.payload, self._qos, retain=self._retain, id=sending.name)
        except Unsendable as error:
            self._gone.append((sending, str(error)))
            return
        if self._qos:
            self._open[mid] = sending

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading
        self.client.epoch = "" if heading.epoch is None else str(heading.epoch)

    async def _wait(self, most: int) -> None:
        """Until no more than so many messages wait for the broker, and what it will never take is put away."""
        while True:
            while self._again and self._again[0][0] <= anyio.current_time():
                self._publish(heapq.heappop(self._again)[2])
            if self.is_connected and isinstance(tried := self._trials.next(anyio.current_time()), Sending):
                self._publish(tried)
            while self._gone:
                sending, reason = self._gone[0]
                await self._give_up(sending.answer, reason, self._lines_of)
                self._gone.popleft()
                self._settled(sending)
            if self._on_the_way() <= most and not self._gone:
                return
            await self._next()

    async def _next(self) -> None:
        """Until something has happened, or something is to be sent again."""
        self._progress = anyio.Event()
        due = self._again[0][0] if self._again else inf
        pause = min(due, self._trials.due if self._trials and self.is_connected else inf) - anyio.current_time()
        with anyio.move_on_after(max(0.0, pause)):
            await self._progress.wait()

    def _on_published(self, mid: int, refusal: Refusal | None) -> None:
        sending = self._open.pop(mid, None)
        if sending is not None:
            self._trials.taken(sending, anyio.current_time())
        if sending is not None and refusal is not None:
            self._refused(sending, refusal)
        elif sending is not None:
            self._settled(sending)
        self._progress.set()

    def _refused(self, sending: Sending, refusal: Refusal) -> None:
        if refusal.is_final:
            self._gone.append((sending, refusal.reason))
            return
        sending.attempts += 1
        pause = pause_before(sending.attempts, FIRST_PAUSE, self.client.settings.retry_longest)
        logger.warning("%s: %s; trying again in %.1f s", self.name, refusal.reason, pause)
        heapq.heappush(self._again, (anyio.current_time() + pause, id(sending), sending))

    def _on_session(self, is_present: bool) -> None:
        """A session has begun. The library sends again what was not acknowledged; what is too large for this broker is given
        up, and waiting senders go on."""
        for mid, sending in list(self._open.items()):
            try:
                self.client.check_size(sending.size)
            except Unsendable as error:
                self.client.withdraw(mid)
                self._gone.append((self._open.pop(mid), str(error)))
        self._try_alone()
        self._progress.set()

    def _try_alone(self) -> None:
        """Where connections are lost again and again, send what was on its way one by one; put away what is to blame."""
        are_held, guilty = self._trials.lost(self._open.values(), anyio.current_time())
        if are_held:
            for mid in self._open:
                self.client.withdraw(mid)
            self._open.clear()
        if isinstance(guilty, Sending):
            text = f"the broker ends the connection each time this is sent ({guilty.size:,} bytes, to {guilty.topic})"
            self._gone.append((guilty, text))
