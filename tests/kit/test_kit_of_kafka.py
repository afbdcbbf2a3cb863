"""Kafka has what the kit asks, with the cluster that librdkafka brings for tests. No connection of it can be cut by itself:
a cluster that is away is one that is paused."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from children import WAIT
from kafkas import Cluster, cluster
from tidelog.connectors.brokers.kafka.sink import KafkaSink
from tidelog.connectors.brokers.kafka.source import KafkaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.testing.connectors import PLAN, Arrival, SinkBench, SinkKit, SourceBench, SourceKit, number_in

_numbers = itertools.count(1)
pytestmark = [pytest.mark.slow, pytest.mark.long]  # each test waits for fetches, which the cluster answers late


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    """A cluster that all tests of this module share: each has a topic of its own."""
    with cluster() as running:
        yield running


def _config(cluster: Cluster) -> dict[str, Any]:
    pauses = {"reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 1, "log_level": 0}
    return {"bootstrap.servers": cluster.brokers, "topic.metadata.propagation.max.ms": 1000, **pauses}


class RecordsBench(SinkBench):
    """Who reads what a sink sends."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._topic = cluster, f"kit{next(_numbers)}"
        self._reader = Consumer(
            {**_config(cluster), "group.id": "reader", "fetch.wait.max.ms": 20, "auto.offset.reset": "earliest"}
        )
        self._got: list[Arrival] = []
        cluster.make(self._topic)
        parts = self._reader.list_topics(self._topic, timeout=WAIT).topics[self._topic].partitions
        self._reader.assign([TopicPartition(self._topic, number, 0) for number in parts])

    def open(self) -> KafkaSink:
        topic = TopicTemplate(self._topic, PLAN.schema, iso=False, outputs=["alarm"])
        template = Template(PLAN.schema, {"n": "{n}"}, iso=False, outputs=["alarm"])
        key = TopicTemplate("{note}", PLAN.schema, iso=False, outputs=["alarm"])
        return KafkaSink("alarms", _config(self._cluster), topic, template, key=key)

    def arrived(self) -> Sequence[Arrival]:
        for record in self._reader.consume(1000, 0.005):
            if record.error() is None:
                headers: Any = record.headers()
                self._got.append(Arrival(number_in(record.value() or b""), dict(headers)["id"].decode()))
        return list(self._got)

    def leave(self) -> None:
        self._cluster.pause()

    def come_back(self) -> None:
        self._cluster.go_on()

    def close(self) -> None:
        self._cluster.go_on()
        self._reader.close()


class TestKafkaSink(SinkKit):
    """All but what needs a wire that lets one direction pass."""

    cannot: ClassVar = {"a_repeat_has_the_same_id": "a paused cluster takes nothing; the kills have repeats"}

    @pytest.fixture
    def bench(self, kafka: Cluster) -> Iterator[SinkBench]:
        bench = RecordsBench(kafka)
        yield bench
        bench.close()


class TopicBench(SourceBench):
    """Who sends what a source reads, all of it to one partition."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._topic = cluster, f"kit{next(_numbers)}"
        self._producer = Producer({**_config(cluster), "linger.ms": 0})
        cluster.make(self._topic)

    def open(self) -> KafkaSource:
        config = {**_config(self._cluster), "group.id": self._topic}
        mapper = MapMapper("records", PLAN.schema, [MapSettings("reading")])
        return KafkaSource("records", config, mapper, [self._topic], start="earliest", by="")

    def say(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._say(b'{"n":%d}' % number)
        assert self._producer.flush(WAIT) == 0

    def say_poison(self) -> None:
        self._say(b"nonsense")
        assert self._producer.flush(WAIT) == 0

    def _say(self, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, partition=0)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def cut(self) -> None:
        """Its connections end by themselves, as the cluster has been silent for long."""
        self._cluster.pause()
        time.sleep(0.05)
        self._cluster.go_on()

    def leave(self) -> None:
        self._cluster.pause()

    def close(self) -> None:
        self._cluster.go_on()
        self._producer.flush(WAIT)


class TestKafkaSource(SourceKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, kafka: Cluster) -> Iterator[SourceBench]:
        bench = TopicBench(kafka)
        yield bench
        bench.close()
