"""Points have what the kit asks: to InfluxDB behind a wire that can be cut, from clients of HTTP, from datagrams."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from brokers import free_port
from influxdb import DATABASE, InfluxDb, influxdb
from tidelog.connectors.databases.influx.encoder import PointEncoder, PointTexts
from tidelog.connectors.databases.influx.points import Points
from tidelog.connectors.databases.influx.sources import PointsByUdp
from tidelog.connectors.http import Endpoint, PointsSink, Retries, write_url
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.testing.connectors import PLAN, Arrival, SinkBench, SinkKit, SourceBench, SourceKit
from waiting import eventually
from wires import Wire

_numbers = itertools.count(1)
MAPS = [MapSettings("reading")]


def points() -> Points:
    return Points("points", MapMapper("points", PLAN.schema, MAPS), MAPS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxDb]:
    """A server that all tests of this module share: each has a measurement of its own."""
    with influxdb(tmp_path_factory.mktemp("influxdb")) as running:
        yield running


class PointsBench(SinkBench):
    """InfluxDB, which keeps one point of each time and tags: so what came twice is there once."""

    def __init__(self, server: InfluxDb, wire: Wire) -> None:
        self._server, self._wire, self._name = server, wire, f"kit{next(_numbers)}"

    def open(self) -> PointsSink:
        retries = Retries(first=0.001, longest=0.05)
        url = write_url(f"http://127.0.0.1:{self._wire.port}", database=DATABASE)
        endpoint = Endpoint(url, retries=retries, timeout=0.3)
        texts = PointTexts(self._name, tags={"note": "{note}"}, fields={"n": "{n}"})
        encoder = PointEncoder(PLAN.schema, outputs=["alarm"], texts=texts)
        return PointsSink("alarms", endpoint, encoder)

    def arrived(self) -> Sequence[Arrival]:
        rows = self._server.query(f'SELECT n, note FROM "{self._name}"')  # noqa: S608 - the test's own name
        return [Arrival(int(n), f"{note} {time}") for time, n, note in rows]

    def deafen(self) -> None:
        self._wire.deafen()

    def leave(self) -> None:
        self._wire.leave()

    def come_back(self) -> None:
        self._wire.come_back()


class TestPointsSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, server: InfluxDb) -> Iterator[SinkBench]:
        with Wire(server.port) as wire:
            yield PointsBench(server, wire)


class UdpBench(SourceBench):
    """Who sends datagrams, once somebody listens, and does not learn what becomes of them."""

    def __init__(self) -> None:
        self._port = free_port()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._opened: PointsByUdp | None = None

    def open(self) -> PointsByUdp:
        self._opened = PointsByUdp("points", TcpAddress("127.0.0.1", self._port), points(), "ns")
        return self._opened

    def say(self, numbers: Sequence[int]) -> None:
        eventually(lambda: self._opened is not None and self._opened._socket is not None)
        for number in numbers:
            self._send(f"m n={number}i")

    def say_poison(self) -> None:
        self._send("m n=")

    def _send(self, line: str) -> None:
        self._socket.sendto(line.encode(), ("127.0.0.1", self._port))

    def close(self) -> None:
        self._socket.close()


class TestPointsByUdp(SourceKit):
    """What datagrams can have. What is posted is in `tests/web/test_influx_writes.py`, and in the kills: a request is
    answered when the gateway's own server says so, which the kit does not have."""

    cannot: ClassVar = {
        "it_goes_on_when_a_connection_was_lost": "datagrams have no connection",
        "a_kill_between_receipt_and_commit_loses_nothing": "nobody who sends datagrams learns that one has come",
        "it_may_be_left_while_the_other_side_is_away": "datagrams have no connection",
    }

    @pytest.fixture
    def bench(self) -> Iterator[SourceBench]:
        bench = UdpBench()
        yield bench
        bench.close()
