"""NATS JetStream has what the kit asks, with a real server behind a wire that can be cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy

from children import WAIT
from natsservers import NatsServer, nats_server
from tidelog.connectors.brokers.nats.consumer import Place
from tidelog.connectors.brokers.nats.sink import NatsSink
from tidelog.connectors.brokers.nats.source import NatsSource
from tidelog.connectors.brokers.nats.subjects import SubjectTemplate
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.transport.loop import LoopThread
from tidelog.testing.connectors import PLAN, Arrival, SinkBench, SinkKit, SourceBench, SourceKit, number_in
from wires import Wire

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server that all tests of this module share: each has a stream of its own."""
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


class Peer:
    """Somebody else at the server, on a thread of its own."""

    def __init__(self, server: NatsServer) -> None:
        self._thread = LoopThread("peer")
        self._thread.start()
        self.client: Client = self.ask(nats.connect(server.url))

    def ask(self, work: object) -> object:  # type: ignore[override]
        return asyncio.run_coroutine_threadsafe(work, self._thread.loop).result(WAIT)  # type: ignore[arg-type]

    def leave(self) -> None:
        self.ask(self.client.close())
        self._thread.stop()


class StoredBench(SinkBench):
    """Who reads what the stream has stored: of what a sink sends twice, the server has dropped the second."""

    def __init__(self, server: NatsServer, wire: Wire) -> None:
        self._wire, self._name = wire, f"kit{next(_numbers)}"
        server.make(self._name, f"{self._name}.>")
        self._got: list[Arrival] = []
        self._peer = Peer(server)
        self._peer.ask(self._peer.client.jetstream().subscribe(f"{self._name}.>", cb=self._take))

    async def _take(self, message: Msg) -> None:
        assert message.headers is not None
        self._got.append(Arrival(number_in(message.data), message.headers["Nats-Msg-Id"]))

    def open(self) -> NatsSink:
        subject = SubjectTemplate(f"{self._name}.{{note}}", PLAN.schema, iso=False, outputs=["alarm"])
        template = Template(PLAN.schema, {"n": "{n}"}, iso=False, outputs=["alarm"])
        options = {"servers": [f"nats://127.0.0.1:{self._wire.port}"]}
        return NatsSink("alarms", options, subject, template, client=self._name)

    def arrived(self) -> Sequence[Arrival]:
        return list(self._got)

    def deafen(self) -> None:
        self._wire.deafen()

    def leave(self) -> None:
        self._wire.leave()

    def come_back(self) -> None:
        self._wire.come_back()

    def close(self) -> None:
        self._peer.leave()


class TestNatsSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, server: NatsServer) -> Iterator[SinkBench]:
        with Wire(server.port) as wire:
            bench = StoredBench(server, wire)
            yield bench
            bench.close()


class StreamBench(SourceBench):
    """Who publishes what a source reads."""

    def __init__(self, server: NatsServer, wire: Wire, retention: RetentionPolicy) -> None:
        self._server, self._wire, self._name = server, wire, f"kit{next(_numbers)}"
        server.make(self._name, f"{self._name}.>", retention=retention)
        if (
            retention == RetentionPolicy.INTEREST
        ):  # what is of interest to nobody is not kept: somebody is, from the beginning
            server.ask(lambda js: js.add_consumer(self._name, durable_name="records", filter_subject=f"{self._name}.>"))

    def open(self) -> NatsSource:
        mapper = MapMapper("records", PLAN.schema, [MapSettings("reading")])
        options = {"servers": [f"nats://127.0.0.1:{self._wire.port}"]}
        return NatsSource("records", options, mapper, Place("", f"{self._name}.>", "records", "earliest"), client="records")

    def say(self, numbers: Sequence[int]) -> None:
        self._server.publish(f"{self._name}.n", [b'{"n":%d}' % number for number in numbers])

    def say_poison(self) -> None:
        self._server.publish(f"{self._name}.n", [b"nonsense"])

    def cut(self) -> None:
        self._wire.cut()

    def leave(self) -> None:
        self._wire.leave()


class TestNatsSource(SourceKit):
    """All that the kit asks."""

    retention = RetentionPolicy.LIMITS

    @pytest.fixture
    def bench(self, server: NatsServer) -> Iterator[SourceBench]:
        with Wire(server.port) as wire:
            yield StreamBench(server, wire, self.retention)


@pytest.mark.long
class TestNatsSourceOfWork(TestNatsSource):
    """Of a stream that forgets what has a receipt."""

    retention = RetentionPolicy.WORK_QUEUE


@pytest.mark.long
class TestNatsSourceOfInterest(TestNatsSource):
    """Of a stream that keeps what somebody has not received."""

    retention = RetentionPolicy.INTEREST
