"""A cluster of Kafka for a test: the one that librdkafka brings for tests, in a process of its own, which can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from children import WAIT
from waiting import eventually

CLUSTER = """import sys
from confluent_kafka import Producer

cluster = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
[broker] = cluster.list_topics(timeout=60).brokers.values()
print(f"{broker.host}:{broker.port}", flush=True)
sys.stdin.read()
"""


class Cluster:
    """What it stores is lost when it ends; while it is paused it takes nothing, and answers nothing."""

    def __init__(self, process: subprocess.Popen[str], brokers: str) -> None:
        self._process, self.brokers = process, brokers

    def make(self, topic: str) -> None:
        """Let there be a topic: it is made, with four partitions, when a producer asks for it."""
        asking = Producer({"bootstrap.servers": self.brokers, "log_level": 0})
        eventually(lambda: asking.list_topics(topic, timeout=WAIT).topics[topic].partitions)

    def pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster for the length of a `with` block."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        running = Cluster(process, process.stdout.readline().strip())
        try:
            yield running
        finally:
            process.kill()
            process.wait(WAIT)
