"""MQTT has what the kit asks, with Mosquitto behind a wire that can be cut."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from brokers import Broker, broker
from children import WAIT
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.retained.board import TopicPresenter
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.brokers.mqtt.sink import MqttSink
from tidelog.connectors.brokers.mqtt.source import MqttSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.testing.connectors import PLAN, Arrival, SinkBench, SinkKit, SourceBench, SourceKit, number_in
from wires import Wire

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that all tests of this module share: each has topics of its own."""
    with broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


class Peer:
    """Somebody else at the broker, on a thread of the library's."""

    def __init__(self, port: int, name: str) -> None:
        self.client = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=MQTTv5)
        self._is_there = threading.Event()
        self.client.on_subscribe = lambda *given: self._is_there.set()
        lasting = Properties(PacketTypes.CONNECT)
        lasting.SessionExpiryInterval = 600
        self.client.connect("127.0.0.1", port, clean_start=False, properties=lasting)
        self.client.loop_start()

    def subscribe(self, topic: str) -> None:
        """Hear what is published there from now on."""
        self.client.subscribe(topic, qos=1)
        assert self._is_there.wait(WAIT)

    def leave(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


class PublishingBench(SinkBench):
    """Somebody who has subscribed to what a sink publishes."""

    def __init__(self, port: int, wire: Wire) -> None:
        self._wire, self._name = wire, f"kit{next(_numbers)}"
        self._got: list[Arrival] = []
        self._peer = Peer(port, f"{self._name}-reader")
        self._peer.client.on_message = self._on_message
        self._peer.subscribe(f"{self._name}/#")

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        told = dict(getattr(message.properties, "UserProperty", []))
        self._got.append(Arrival(number_in(message.payload), told["id"]))

    def open(self) -> MqttSink:
        settings = BrokerSettings(url=f"mqtt://127.0.0.1:{self._wire.port}", retry_longest=0.05)
        topic = TopicTemplate(f"{self._name}/{{note}}", PLAN.schema, iso=False, outputs=["alarm"])
        template = Template(PLAN.schema, {"n": "{n}"}, iso=False, outputs=["alarm"])
        return MqttSink("alarms", MqttClient(settings, self._name, "."), topic, template)

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


class TestMqttSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, mosquitto: Broker) -> Iterator[SinkBench]:
        with Wire(mosquitto.port) as wire:
            bench = PublishingBench(mosquitto.port, wire)
            yield bench
            bench.close()


class RetainedBench(PublishingBench):
    """Somebody who has subscribed to topics at which something is retained while it holds: here, all of it has ended.

    What is told anew, and belongs to no answer that is owed, has no id.
    """

    def __init__(self, port: int, wire: Wire, folder: Path) -> None:
        super().__init__(port, wire)
        self._folder = folder

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        told = dict(getattr(message.properties, "UserProperty", []))
        if "id" in told:
            self._got.append(Arrival(int(message.topic.rpartition("/")[2]), told["id"]))

    def open(self) -> RetainingSink:
        settings = BrokerSettings(url=f"mqtt://127.0.0.1:{self._wire.port}", retry_longest=0.05)
        topic = TopicTemplate(f"{self._name}/{{n}}", PLAN.schema, iso=False, outputs=["alarm"])
        template = Template(PLAN.schema, {"n": "{n}"}, iso=False, outputs=["alarm"])
        client, shown = MqttClient(settings, self._name, "."), TopicPresenter(topic, template, ["alarm"])
        return RetainingSink("alarms", client, shown, template.lines, folder=str(self._folder / self._name))


@pytest.mark.long
class TestRetainingSink(SinkKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, mosquitto: Broker, tmp_path: Path) -> Iterator[SinkBench]:
        with Wire(mosquitto.port) as wire:
            bench = RetainedBench(mosquitto.port, wire, tmp_path)
            yield bench
            bench.close()


class SubscribedBench(SourceBench):
    """Somebody who publishes what a source has subscribed to."""

    def __init__(self, port: int, wire: Wire) -> None:
        self._wire, self._name = wire, f"kit{next(_numbers)}"
        before = Peer(port, self._name)  # the broker keeps what comes for a session, from its beginning
        before.subscribe(f"{self._name}/#")
        before.leave()
        self._peer = Peer(port, f"{self._name}-writer")

    def open(self) -> MqttSource:
        settings = BrokerSettings(url=f"mqtt://127.0.0.1:{self._wire.port}", retry_longest=0.05, max_inflight=50)
        mapper = MapMapper("floor", PLAN.schema, [MapSettings("reading", topic=f"{self._name}/#")])
        return MqttSource("floor", MqttClient(settings, self._name, "."), mapper, [f"{self._name}/#"])

    def say(self, numbers: Sequence[int]) -> None:
        topic = f"{self._name}/n"
        for at in range(0, len(numbers), 200):  # all at once would be held in memory
            said = [self._peer.client.publish(topic, f'{{"n":{number}}}', qos=1) for number in numbers[at : at + 200]]
            for one in said:
                one.wait_for_publish(WAIT)

    def say_poison(self) -> None:
        self._peer.client.publish(f"{self._name}/n", "nonsense", qos=1).wait_for_publish(WAIT)

    def cut(self) -> None:
        self._wire.cut()

    def leave(self) -> None:
        self._wire.leave()

    def close(self) -> None:
        self._peer.leave()


class TestMqttSource(SourceKit):
    """All that the kit asks."""

    @pytest.fixture
    def bench(self, mosquitto: Broker) -> Iterator[SourceBench]:
        with Wire(mosquitto.port) as wire:
            bench = SubscribedBench(mosquitto.port, wire)
            yield bench
            bench.close()
