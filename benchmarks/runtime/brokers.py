"""What talks to a broker, beside paho-mqtt alone: sinks whose messages are retained, and Sparkplug. Needs Mosquitto.

    python -m benchmarks.runtime.brokers [--count 100000]

All is measured by turns in one process, with one broker. Each line says how many messages a second pass, how many pass where
the library alone does the same, and the ratio; and by how much memory has grown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

import tidelog
from benchmarks.gateway import BROKER, free_port
from tidelog.connectors.brokers.mqtt.client import MqttClient
from tidelog.connectors.brokers.mqtt.retained.board import TopicPresenter
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.settings import BrokerSettings
from tidelog.connectors.field.sparkplug.payload import Payload, decode
from tidelog.connectors.field.sparkplug.source import SparkplugSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings, TimeSettings
from tidelog.connectors.mapping.templates import Template, TopicTemplate
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.runtime.ports.durability import Heading

PLAN = tidelog.compile(
    """timeline integer, unit 1 ms.
input temp(edge: text, device: text, name: text, celsius: number).
output mode(machine: text, mode: text).
mode(M, N) :- temp(M, _, N, _)."""
)
TOPICS, TURNS, AT_ONCE, METRICS = 1000, 3, 500, 10


def memory() -> float:
    """What this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def bare_publishing(port: int, count: int) -> float:
    """Messages a second of the library alone: retained, with QoS 1, a thousand of them on their way."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="bare", protocol=MQTTv5)
    taken, is_done = [0], threading.Event()

    def published(*_: object) -> None:
        taken[0] += 1
        if taken[0] == count:
            is_done.set()

    client.on_publish = published
    client.max_inflight_messages_set(1000)
    client.max_queued_messages_set(0)
    client.connect("127.0.0.1", port)
    client.loop_start()
    began = time.perf_counter()
    for number in range(count):
        while len(client._out_messages) > 30_000:
            time.sleep(0.001)
        client.publish(f"bare/m{number % TOPICS}", b"auto", 1, retain=True)
    is_done.wait(300)
    took = time.perf_counter() - began
    client.disconnect()
    client.loop_stop()
    return count / took


async def retaining(port: int, count: int, folder: str) -> float:
    """The same of the sink: modes begin and end by turns."""
    topic = TopicTemplate("mode/{machine}", PLAN.schema, iso=False, outputs=["mode"])
    presenter = TopicPresenter(topic, Template(PLAN.schema, "{mode}", iso=False, outputs=["mode"]), ["mode"])
    lines = Template(PLAN.schema, None, iso=False, outputs=["mode"]).lines
    client = MqttClient(BrokerSettings(url=f"mqtt://127.0.0.1:{port}"), "retaining", ".")
    sink = RetainingSink("modes", client, presenter, lines, folder=folder)
    sink.going_on("r")
    async with sink:
        while not sink.is_connected:  # noqa: ASYNC110 - once, before it is measured
            await anyio.sleep(0.01)
        began = time.perf_counter()
        for first in range(0, count, AT_ONCE):
            sink.number(Heading("r", first + 1, 0))
            await sink.send([_change(number) for number in range(first, min(count, first + AT_ONCE))])
        return count / (time.perf_counter() - began)


def _change(number: int) -> ChangeRecord:
    machine, turn = number % TOPICS, number // TOPICS
    return ChangeRecord("mode", (f"m{machine}", "auto"), turn // 2, POS if turn % 2 == 0 else turn // 2)


def payload(seq: int, values: int, *, is_birth: bool) -> bytes:
    """A message of a device with so many metrics."""
    told = Payload(timestamp=1_700_000_000_000 + seq, seq=seq % 256)
    for number in range(values):
        metric = told.metrics.add(alias=number, double_value=20.5 + seq % 7)
        if is_birth:
            metric.name, metric.datatype = f"m{number}", 10
    data: bytes = told.SerializeToString()
    return data


def publish_plant(port: int, count: int) -> None:
    """An edge node with one device, as fast as the broker takes it."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="edge")
    client.max_queued_messages_set(0)
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.publish("spBv1.0/g/NBIRTH/e", payload(0, 0, is_birth=True))
    client.publish("spBv1.0/g/DBIRTH/e/d", payload(1, METRICS, is_birth=True))
    data = [payload(seq, METRICS, is_birth=False) for seq in range(256)]
    for number in range(2, count):
        client.publish("spBv1.0/g/DDATA/e/d", data[number % 256])
        while client.want_write() and number % 100 == 0:
            time.sleep(0.0005)
    client.publish("spBv1.0/g/DDATA/e/d", data[count % 256]).wait_for_publish(60)
    client.disconnect()
    client.loop_stop()


def bare_hearing(port: int, count: int) -> float:
    """Messages a second that the library alone hears, and protobuf reads to the last value."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="bare")
    heard, is_done, is_there = [0], threading.Event(), threading.Event()

    def hear(_client: Client, _data: object, message: Any) -> None:
        for metric in decode(message.payload).metrics:
            _ = (metric.alias, metric.timestamp, metric.double_value)
        heard[0] += 1
        if heard[0] >= count:
            is_done.set()

    client.on_message = hear
    client.on_subscribe = lambda *_: is_there.set()
    client.connect("127.0.0.1", port)
    client.subscribe("spBv1.0/g/#", 0)
    client.loop_start()
    is_there.wait(30)
    sender = threading.Thread(target=publish_plant, args=(port, count))
    began = time.perf_counter()
    sender.start()
    is_done.wait(300)
    took = time.perf_counter() - began
    sender.join()
    client.disconnect()
    client.loop_stop()
    return count / took


async def hearing(port: int, count: int) -> float:
    """The same of the source, with all metrics as facts."""
    maps = [
        MapSettings(
            "temp",
            topic="device/{group}/{edge}/{device}/{name}",
            fields={"celsius": "value"},
            time=TimeSettings(path="time", format="ms"),
        )
    ]
    client = MqttClient(BrokerSettings(url=f"mqtt://127.0.0.1:{port}"), "host", ".")
    mapper = MapMapper("plant", PLAN.schema, maps)
    source = SparkplugSource("plant", client, mapper, [maps[0].topic], groups=["g"])
    async with source:
        while source.is_behind:  # noqa: ASYNC110 - once, before it is measured
            await anyio.sleep(0.01)
        facts, expected = 0, (count - 1) * METRICS
        sender = threading.Thread(target=publish_plant, args=(port, count))
        began = time.perf_counter()
        sender.start()
        while facts < expected:
            batch = await source.receive()
            if batch is None or batch.position is None or batch.rejected:
                raise SystemExit("messages were lost, or could not be read")
            facts += len(batch.records)
            source.acknowledge(batch.position)
        took = time.perf_counter() - began
        await anyio.to_thread.run_sync(sender.join)
        return count / took


def compare(what: str, ours: Callable[[], float], bare: Callable[[], float]) -> None:
    """Print both, by turns, and by how much memory has grown over the later turns."""
    found, alone = [], []
    before = 0.0
    for turn in range(TURNS):
        alone.append(bare())
        found.append(ours())
        if turn == 0:
            before = memory()
    best, best_alone = max(found), max(alone)
    told = f"{best:,.0f} messages a second; the library alone {best_alone:,.0f}; ratio {best / best_alone:.2f}"
    print(f"{what}: {told}; memory grew by {memory() - before:.1f} MB in {TURNS - 1} further turns")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description="What talks to a broker, beside paho-mqtt alone.")
    parser.add_argument("--count", type=int, default=100_000)
    count = parser.parse_args().count
    found = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        raise SystemExit("Mosquitto is not there: run .ci/mosquitto")
    with tempfile.TemporaryDirectory() as name:
        port = free_port()
        Path(name, "mosquitto.conf").write_text(BROKER.format(port=port))
        broker = subprocess.Popen([found, "-c", f"{name}/mosquitto.conf"], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        try:
            folder = iter(range(1000))
            compare(
                "retained while holding",
                lambda: anyio.run(retaining, port, count, f"{name}/r{next(folder)}"),
                lambda: bare_publishing(port, count),
            )
            compare(
                "Sparkplug, ten metrics each", lambda: anyio.run(hearing, port, count), lambda: bare_hearing(port, count)
            )
        finally:
            broker.terminate()
            broker.wait(30)


if __name__ == "__main__":
    main()
