"""Records of Kafka, beside the bare library: how many a second are read and sent, and whether memory stays flat.

    python -m benchmarks.kafka [--count 100000]

The cluster is the one that librdkafka brings for tests, in a process of its own. Both sides take turns with the same records
of one partition: the bare library polls them, decodes their JSON, and keeps what a fact has, the values and the time; ours
makes facts of them by a map. The bare library sends
JSON with a key, ours sends answers. Both use an idempotent producer, and wait until all are taken.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

import tidelog
from tidelog.connectors.brokers.kafka.sink import KafkaSink
from tidelog.connectors.brokers.kafka.source import KafkaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "gateway"))

from kafkas import cluster

PLAN = tidelog.compile(
    "timeline integer, unit 1 ms, round down. input seen(host: text, n: integer). output hot(host, n). "
    "hot(H, N) :- seen(H, N)."
)
TURNS, TOGETHER = 5, 1_000
MOST = 100_000
"""So many records of a partition the cluster keeps."""


def memory() -> float:
    """What this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def config(brokers: str) -> dict[str, Any]:
    return {"bootstrap.servers": brokers, "log_level": 0}


def read_bare(brokers: str, count: int) -> None:
    """As the library's documentation shows it."""
    consumer = Consumer({**config(brokers), "group.id": "bare", "enable.auto.commit": False})
    consumer.assign([TopicPartition("numbers", 0, 0)])
    decode, found, facts = msgspec.json.decode, 0, list[Any]()
    while found < count:
        record = consumer.poll(1.0)
        if record is not None and record.error() is None:
            payload = decode(record.value() or b"")
            facts.append(("seen", (payload["host"], payload["n"]), record.timestamp()[1]))
            found += 1
            if len(facts) == TOGETHER:
                facts = []
    consumer.close()


def read_ours(brokers: str, count: int) -> None:
    """Records to facts."""

    async def read() -> None:
        mapper = MapMapper("numbers", PLAN.schema, [MapSettings("seen")])
        given = {**config(brokers), "group.id": "ours"}
        async with KafkaSource("numbers", given, mapper, ["numbers"], start="earliest", by="") as source:
            found = 0
            while found < count:
                batch = await source.receive()
                found += 0 if batch is None else len(batch.records)

    anyio.run(read, backend="trio")


def send_bare(brokers: str, count: int) -> None:
    """As the library's documentation shows it."""
    producer = Producer({**config(brokers), "enable.idempotence": True, "linger.ms": 1})
    for first in range(0, count, TOGETHER):
        for n in range(first, first + TOGETHER):
            value = msgspec.json.encode({"host": f"h{n % 50}", "n": n})
            producer.produce("answers", value, f"h{n % 50}", headers=[("id", f"run-{n}".encode())])
        producer.flush()


def send_ours(brokers: str, count: int) -> None:
    """Answers to records."""

    async def send() -> None:
        topic = TopicTemplate("answers", PLAN.schema, iso=False, outputs=["hot"])
        key = TopicTemplate("{host}", PLAN.schema, iso=False, outputs=["hot"])
        template = Template(PLAN.schema, {"host": "{host}", "n": "{n}"}, iso=False, outputs=["hot"])
        async with KafkaSink("answers", config(brokers), topic, template, key=key) as sink:
            for first in range(0, count, TOGETHER):
                await sink.send([("hot", (f"h{n % 50}", n), n, n) for n in range(first, first + TOGETHER)])

    anyio.run(send, backend="trio")


def compared(
    name: str, brokers: str, count: int, bare: Callable[[str, int], None], ours: Callable[[str, int], None]
) -> None:
    """Print how many records a second both take."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(TURNS):
        for side, work in (("bare", bare), ("ours", ours)):
            begin = time.perf_counter()
            work(brokers, count)
            rates[side].append(count / (time.perf_counter() - begin))
    middle = {side: statistics.median(found) for side, found in rates.items()}
    ratio = middle["ours"] / middle["bare"]
    print(f"{name}: bare {middle['bare']:,.0f} records a second, ours {middle['ours']:,.0f}, {ratio:.2f}", flush=True)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=MOST)
    count = min(parser.parse_args().count, MOST)
    with cluster() as running:
        for topic in ("numbers", "answers"):
            running.make(topic)
        producer = Producer({**config(running.brokers), "linger.ms": 5})
        for n in range(count):
            producer.produce("numbers", msgspec.json.encode({"host": f"h{n % 50}", "n": n}), partition=0)
            if n % TOGETHER == 0:
                producer.flush()
        producer.flush()
        read_ours(running.brokers, count // 10)
        few = memory()
        read_ours(running.brokers, count)
        print(f"memory after {count // 10:,} records {few:.0f} MB, after {count:,} {memory():.0f} MB", flush=True)
        compared("read", running.brokers, count, read_bare, read_ours)
        compared("sent", running.brokers, count // 4, send_bare, send_ours)


if __name__ == "__main__":
    main()
