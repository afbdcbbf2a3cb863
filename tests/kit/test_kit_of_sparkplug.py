"""Sparkplug B has what the kit asks, as far as its QoS 0 lets it: a simulated edge node behind Mosquitto."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest
from edge_nodes import INT64, EdgeNode

from brokers import Broker, broker
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.field.sparkplug.source import SparkplugSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.testing.connectors import PLAN, SourceBench, SourceKit
from waiting import eventually
from wires import Wire

_numbers = itertools.count(1)
_LOST = "data have QoS 0: what is sent while nobody hears it is lost, and births tell the last values alone"


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that all tests of this module share: each has a group of its own."""
    with broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


class EdgeBench(SourceBench):
    """An edge node with one device, whose metric `n` has no value when it is born."""

    def __init__(self, port: int, wire: Wire) -> None:
        self._wire, self._group = wire, f"kit{next(_numbers)}"
        self._node = EdgeNode(port, self._group, "e", {"": {"hello": (INT64, 0)}, "d": {"n": (INT64, None)}})
        self._node.start()

    def open(self) -> SparkplugSource:
        settings = BrokerSettings(url=f"mqtt://127.0.0.1:{self._wire.port}", retry_longest=0.05)
        one = MapSettings("reading", topic="device/{group}/e/d/{name}", when="value != `null`", fields={"n": "value"})
        client, mapper = MqttClient(settings, self._group, "."), MapMapper("plant", PLAN.schema, [one])
        return SparkplugSource("plant", client, mapper, [one.topic], groups=[self._group])

    def say(self, numbers: Sequence[int]) -> None:
        def is_heard() -> bool:
            self._node.tell("", {"hello": 1})
            return self._node.rebirths > 0

        eventually(is_heard)  # whoever hears it first asks for a birth
        for number in numbers:
            self._node.tell("d", {"n": number})

    def say_poison(self) -> None:
        self._node._client.publish(f"spBv1.0/{self._group}/DDATA/e/d", b"\xff nonsense", 0)

    def cut(self) -> None:
        self._wire.cut()

    def leave(self) -> None:
        self._wire.leave()

    def close(self) -> None:
        self._node.stop()


@pytest.mark.long
class TestSparkplugSource(SourceKit):
    """What a wire with QoS 0 can have."""

    cannot: ClassVar = {
        "it_goes_on_when_a_connection_was_lost": _LOST,
        "a_kill_between_receipt_and_commit_loses_nothing": _LOST,
        "nothing_piles_up_while_nobody_receives": _LOST,
        "it_may_be_cancelled_at_any_time": _LOST,
    }

    @pytest.fixture
    def bench(self, mosquitto: Broker) -> Iterator[SourceBench]:
        with Wire(mosquitto.port) as wire:
            bench = EdgeBench(mosquitto.port, wire)
            yield bench
            bench.close()
