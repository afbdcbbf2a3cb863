"""Answers to a broker's topics: sent until the broker says that it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.publisher import MqttPublisher
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, unencodable
from tidelog.runtime.ports.interfaces import AnyAnswer


class MqttSink(MqttPublisher):
    """Publishes each answer. `send` returns once the broker has acknowledged all of them (QoS 1 and 2).

    While the broker is away, `send` waits: so what is owed stays where it is.
    With QoS 1 the broker may get a message twice where a connection broke before it could say that it has it; with QoS 2
    each once. In a run with a state an answer that is sent again by a later run has the same `id` among its user properties
    (MQTT 5), so that a receiver can drop what it has. It publishes what its `choice` leaves.
    """

    def __init__(
        self,
        name: str,
        client: MqttClient,
        topic: TopicTemplate,
        template: Template,
        *,
        qos: Literal[0, 1, 2] = 1,
        retain: bool = False,
        choice: Choice | None = None,
    ) -> None:
        super().__init__(name, client, template.lines, qos=qos, retain=retain, choice=choice)
        self._topic, self._template = topic, template

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Publish these; waits until the broker has them, or has refused them for good."""
        run, first = ("", 0) if self._heading is None else (self._heading.run, self._heading.first)
        for number, answer in enumerate(map(self._choice, answers), first):
            if answer is None:
                continue
            try:
                topic, payload = self._topic.topic(answer), self._template.payload(answer)
            except ENCODING_ERRORS as error:
                await self._give_up(answer, unencodable(error), self._lines_of)
                continue
            await self._begin(answer, topic, payload, f"{run}-{number}" if run else "")
        self.client.flush()
        await self._wait(0)
