"""A gateway between two topics that is killed, beside a cluster that goes away, at twenty moments: nothing is lost, and what
comes twice has the id that it had. The cluster itself has no disk, so it is paused, and not killed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from children import WAIT
from kafkas import cluster
from services import NUMBERS, gateway_of
from waiting import eventually

FILE = """program = "plant.tide"
emit = "intervals"
lateness = "1 d"
state = "state"
[[source]]
name = "numbers"
type = "kafka"
brokers = "{brokers}"
topics = ["numbers"]
[[source.map]]
predicate = "seen"
time = {{ path = "n", format = "s" }}
[[sink]]
name = "answers"
type = "kafka"
brokers = "{brokers}"
topic = "answers"
key = "{{n}}"
payload = {{ n = "{{n}}" }}
"""
KILLS = int(os.environ.get("KILLS", "20"))
OF_CLUSTER = 3
"""Of so many moments at which the cluster goes away, one is that of a kill, too: to start a gateway takes a second."""


class Reader:
    """All records of a topic, by their ids: the numbers that came under each, and how many came twice."""

    def __init__(self, brokers: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": brokers, "group.id": "reader", "log_level": 0})
        parts = self._consumer.list_topics("answers", timeout=WAIT).topics["answers"].partitions
        self._consumer.assign([TopicPartition("answers", number, 0) for number in parts])
        self.by_id: dict[str, int] = {}
        self.numbers: list[int] = []
        """Each number, once for each id."""

    def read(self) -> int:
        """How many numbers there are."""
        for record in self._consumer.consume(10_000, 0.02):
            if record.error() is None:
                headers: Any = record.headers()
                name, number = dict(headers)["id"].decode(), int(json.loads(record.value() or b"")["n"])
                if name not in self.by_id:
                    self.numbers.append(number)
                assert self.by_id.setdefault(name, number) == number, "two answers have one id"
        return len(self.numbers)

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_that_is_killed_tells_each_record_under_one_id(tmp_path: Path) -> None:
    """While records come, and the cluster goes away twenty times."""
    draw = random.Random(int(os.environ.get("SEED", "1")))
    (tmp_path / "plant.tide").write_text(NUMBERS)
    with cluster() as running:
        (tmp_path / "plant.toml").write_text(FILE.format(brokers=running.brokers))
        running.make("numbers")
        running.make("answers")
        producer = Producer({"bootstrap.servers": running.brokers, "linger.ms": 0, "log_level": 0})
        reader, sent = Reader(running.brokers), 0

        def send() -> int:
            for n in range(sent, sent + 50):
                producer.produce("numbers", b'{"n":%d}' % n, b"%d" % (n % 7))
            producer.flush(WAIT)
            return sent + 50

        with closing(reader), gateway_of(tmp_path / "plant.toml") as gateway:
            for kill in range(KILLS):
                before, sent = reader.read(), send()
                if kill % 2:
                    eventually(lambda before=before: reader.read() > before, process=gateway)
                time.sleep(draw.uniform(0, 0.1))
                running.pause()
                time.sleep(draw.uniform(0, 0.1))
                if kill % OF_CLUSTER == 0:
                    gateway.restart()
                running.go_on()
            sent = send()
            eventually(lambda: reader.read() >= sent, process=gateway)
            assert gateway.end(signal.SIGTERM) == 128 + signal.SIGTERM
            reader.read()
    assert sorted(reader.numbers) == list(range(sent))
