"""Answers to records: sent until the cluster says that it has them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Record

from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.connectors.sinks.choosing import Choice
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.runtime.ports.durability import Heading, Promise
from tidelog.runtime.ports.interfaces import AnyAnswer

logger = logging.getLogger("tidelog.kafka")

MAX_UNSENT = 1_000
"""How many records wait at once for the cluster to take them."""
_WAIT = 0.05
_OF_RECORD = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG, KafkaError.INVALID_RECORD, KafkaError._INVALID_ARG}
"""What is wrong with a record, whenever it is sent."""


class KafkaSink(GivingUp):
    """Sends each answer as a record. `send` returns once the cluster, with all replicas in step, has all of them.

    The producer is idempotent: what the library sends again stands there once, and records of one key stay in order. What a
    later run sends again, after a kill, has the same header `id`. While the cluster is away, `send` waits. A record that is
    too large is given up. `topic` and `key` are templates; without a `key` records go to any partition.
    """

    promise: Promise = "at least once"

    def __init__(
        self,
        name: str,
        config: dict[str, Any],
        topic: TopicTemplate,
        template: Template,
        *,
        key: TopicTemplate | None = None,
        choice: Choice | None = None,
    ) -> None:
        self.name = name
        endless = {"message.timeout.ms": 0, "enable.idempotence": True, "linger.ms": 1}
        self._config = {**config, **endless, "error_cb": self._on_error}
        self._topic, self._template, self._key = topic, template, key
        self._choice = Choice() if choice is None else choice
        self._heading: Heading | None = None
        self._producer: Producer | None = None
        self._open = 0
        self._gone: deque[tuple[AnyAnswer, str]] = deque()
        self._failure = ""
        self._link = Link()

    @property
    def is_connected(self) -> bool:
        """Whether the cluster was there when last something was sent."""
        return self._link.is_up

    def link(self) -> LinkStatistics:
        """How the connection stands. A request is a record."""
        return self._link.statistics()

    async def __aenter__(self) -> KafkaSink:
        self._link.up()  # the library connects by itself, and says where that fails
        self._open, self._failure = 0, ""
        self._gone.clear()
        self._producer = Producer(self._config, logger=logger)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._link.down()
        producer, self._producer = self._producer, None
        if producer is not None and self._open:
            producer.purge()

    def number(self, heading: Heading) -> None:
        """The answers of the next `send` have these numbers."""
        self._heading = heading

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Send these; waits until the cluster has them. Raises OSError where it takes none, as for a topic it has not."""
        if self._producer is None:
            raise ValueError("a sink is used within `async with`")
        run, first = ("", 0) if self._heading is None else (self._heading.run, self._heading.first)
        for number, answer in enumerate(map(self._choice, answers), first):
            if answer is None:
                continue
            if self._open >= MAX_UNSENT:
                await self._wait(self._producer, MAX_UNSENT // 2)
            try:
                topic, payload = self._topic.topic(answer), self._template.payload(answer)
                key = None if self._key is None else self._key.topic(answer).encode()
            except ENCODING_ERRORS as error:
                await self._wait(self._producer, 0)
                await self._give_up(answer, unencodable(error), self._template.lines)
                continue
            headers: list[tuple[str, str | bytes | None]] = [("id", f"{run}-{number}".encode())] if run else []
            try:
                self._producer.produce(topic, payload, key, headers=headers, on_delivery=partial(self._delivered, answer))
            except KafkaException as error:
                self._gone.append((answer, error.args[0].str()))
            else:
                self._open += 1
                self._link.requests += 1
        await self._wait(self._producer, 0)

    async def _wait(self, producer: Producer, most: int) -> None:
        """Until no more than so many records wait for the cluster."""
        await anyio.lowlevel.checkpoint()
        producer.poll(0)
        while self._open > most and not self._failure:
            await anyio.to_thread.run_sync(producer.poll, _WAIT)
        if self._failure:
            raise ConnectionError(self._failure)
        while self._gone:
            answer, reason = self._gone.popleft()
            await self._give_up(answer, reason, self._template.lines)

    def _delivered(self, answer: AnyAnswer, error: KafkaError | None, record: Record) -> None:
        """The cluster has a record, or never will. Called while it is waited for, in a worker thread."""
        self._open -= 1
        if error is not None:
            self._link.errors += 1
        if error is None:
            if not self._link.is_up:
                self._link.up()
        elif error.code() in _OF_RECORD:
            self._gone.append((answer, error.str()))
        else:
            self._failure = error.str()

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._link.down()
        if error.fatal():
            self._failure = error.str()
