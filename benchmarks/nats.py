"""Messages of NATS JetStream, beside the bare library: how many a second are read and sent, and whether memory stays flat.

    python -m benchmarks.nats [--count 200000]

The server is a real one (`.ci/server nats-server nats-server`), in a process of its own, with its store on the disk. Both
sides take turns with the same messages. The bare library fetches a thousand at a time by a durable consumer, decodes their
JSON, and acknowledges each thousand; ours makes facts of them by a map, and acknowledges as often. The bare library
publishes JSON with a message id, a thousand at a time, and waits until they are stored; ours sends answers so.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import nats
from nats.js.api import AckPolicy, ConsumerConfig

import tidelog
from tidelog.connectors.brokers.nats.consumer import Place
from tidelog.connectors.brokers.nats.sink import NatsSink
from tidelog.connectors.brokers.nats.source import NatsSource
from tidelog.connectors.brokers.nats.subjects import SubjectTemplate
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template
from tidelog.runtime.ports.durability import Heading

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "gateway"))

from natsservers import NatsServer, nats_server

PLAN = tidelog.compile(
    "timeline integer, unit 1 ms, round down. input seen(host: text, n: integer). output hot(host, n). "
    "hot(H, N) :- seen(H, N)."
)
TURNS, TOGETHER = 3, 1_000
_numbers = iter(range(1_000_000))


def memory() -> float:
    """What this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def read_bare(server: NatsServer, count: int) -> None:
    """As the library's documentation shows it."""

    async def read() -> None:
        client = await nats.connect(server.url)
        wanted = ConsumerConfig(ack_policy=AckPolicy.ALL, max_ack_pending=65_536)
        reading = await client.jetstream().pull_subscribe("numbers.>", f"bare{next(_numbers)}", config=wanted)
        found, decode = 0, msgspec.json.decode
        while found < count:
            messages = await reading.fetch(TOGETHER)
            for message in messages:
                decode(message.data)
            await messages[-1].ack()
            found += len(messages)
        await client.close()

    asyncio.run(read())


def read_ours(server: NatsServer, count: int) -> None:
    """Messages to facts."""

    async def read() -> None:
        mapper = MapMapper("numbers", PLAN.schema, [MapSettings("seen")])
        place = Place("numbers", "numbers.>", f"ours{next(_numbers)}", "earliest")
        async with NatsSource("numbers", {"servers": [server.url]}, mapper, place, client="ours") as source:
            found = 0
            while found < count:
                batch = await source.receive()
                if batch is not None and batch.position is not None:
                    found += len(batch.records)
                    source.acknowledge(batch.position)

    anyio.run(read, backend="trio")


def send_bare(server: NatsServer, count: int) -> None:
    """As the library's documentation shows it."""

    async def send() -> None:
        client, run = await nats.connect(server.url), next(_numbers)
        js = client.jetstream()
        for first in range(0, count, TOGETHER):
            sent = []
            for n in range(first, first + TOGETHER):
                value = msgspec.json.encode({"host": f"h{n % 50}", "n": n})
                headers = {"Nats-Msg-Id": f"bare{run}-{n}"}
                sent.append(await js.publish_async(f"answers.h{n % 50}", value, headers=headers))
            await asyncio.gather(*sent)
        await client.close()

    asyncio.run(send())


def send_ours(server: NatsServer, count: int) -> None:
    """Answers to messages."""

    async def send() -> None:
        subject = SubjectTemplate("answers.{host}", PLAN.schema, iso=False, outputs=["hot"])
        template = Template(PLAN.schema, {"host": "{host}", "n": "{n}"}, iso=False, outputs=["hot"])
        run = f"ours{next(_numbers)}"
        async with NatsSink("answers", {"servers": [server.url]}, subject, template, client="ours") as sink:
            for first in range(0, count, TOGETHER):
                sink.number(Heading(run, first, 0))
                await sink.send([("hot", (f"h{n % 50}", n), n, n) for n in range(first, first + TOGETHER)])

    anyio.run(send, backend="trio")


Work = Callable[[NatsServer, int], None]


def compared(name: str, server: NatsServer, count: int, bare: Work, ours: Work) -> None:
    """Print how many messages a second both take."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(TURNS):
        for side, work in (("bare", bare), ("ours", ours)):
            begin = time.perf_counter()
            work(server, count)
            rates[side].append(count / (time.perf_counter() - begin))
    middle = {side: statistics.median(found) for side, found in rates.items()}
    ratio = middle["ours"] / middle["bare"]
    print(f"{name}: bare {middle['bare']:,.0f} messages a second, ours {middle['ours']:,.0f}, {ratio:.2f}", flush=True)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder, nats_server(Path(folder) / "nats") as server:
        for stream in ("numbers", "answers"):
            server.make(stream, f"{stream}.>")
        server.publish("numbers.a", [msgspec.json.encode({"host": f"h{n % 50}", "n": n}) for n in range(count)])
        read_ours(server, count // 10)
        few = memory()
        read_ours(server, count)
        print(f"memory after {count // 10:,} messages {few:.0f} MB, after {count:,} {memory():.0f} MB", flush=True)
        compared("read", server, count, read_bare, read_ours)
        compared("sent", server, count // 4, send_bare, send_ours)


if __name__ == "__main__":
    main()
