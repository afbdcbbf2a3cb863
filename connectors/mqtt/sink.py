"""Answers to a broker's topics: sent until the broker says that it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import anyio

from tidelog.connectors.formatting import predicate_of
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.mqtt.client import ClientStatistics, MqttClient
from tidelog.runtime.durability import Heading, Promise
from tidelog.runtime.interfaces import AnyAnswer

MAX_UNSENT = 256
"""How many messages wait at once for the broker to take them."""


class MqttSink:
    """Publishes each answer. `send` returns once the broker has acknowledged all of them (QoS 1 and 2).

    While the broker is away, `send` waits: so what is owed stays where it is, and the connection is made again, for ever.
    With QoS 1 the broker may get a message twice where a connection broke before it could say that it has it; with QoS 2
    each once. In a run with a state an answer that is sent again by a later run has the same `id` among its user properties
    (MQTT 5), so that a receiver can drop what it has. With `predicates`, it publishes the answers of these alone.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        client: MqttClient,
        topic: TopicTemplate,
        template: Template,
        *,
        qos: Literal[0, 1, 2] = 1,
        retain: bool = False,
        predicates: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self._topic, self._template, self._qos, self._retain = topic, template, qos, retain
        self._predicates = predicates
        self.client = client
        self.client.on_published, self.client.on_session = self._on_published, self._on_session
        self._heading: Heading | None = None
        self._open: set[int] = set()
        self._progress: anyio.Event

    def connection(self) -> ClientStatistics:
        """How the connection stands."""
        return self.client.statistics()

    async def __aenter__(self) -> MqttSink:
        self._progress = anyio.Event()
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.__aexit__(*exc)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Publish these; waits until the broker has them."""
        run, first = ("", 0) if self._heading is None else (self._heading.run, self._heading.first)
        for number, answer in enumerate(answers, first):
            if self._predicates is not None and predicate_of(answer) not in self._predicates:
                continue
            await self._wait(MAX_UNSENT - 1)
            while self._qos == 0 and not self.client.statistics().is_connected:
                await self._next()
            topic, payload = self._topic.topic(answer), self._template.payload(answer)
            name = f"{run}-{number}" if run else ""
            mid = self.client.publish(topic, payload, self._qos, retain=self._retain, id=name)
            if self._qos:
                self._open.add(mid)
        await self._wait(0)

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    async def _wait(self, most: int) -> None:
        """Until no more than so many messages wait for the broker."""
        while len(self._open) > most:
            await self._next()

    async def _next(self) -> None:
        self._progress = anyio.Event()
        await self._progress.wait()

    def _on_published(self, mid: int) -> None:
        self._open.discard(mid)
        self._progress.set()

    def _on_session(self, is_present: bool) -> None:
        """The library sends again what was not acknowledged; those who wait for a connection go on."""
        self._progress.set()
