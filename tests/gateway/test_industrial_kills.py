"""Devices, the gateway that asks them, and screens that show its alarms, each of which is killed: nothing is lost that was
there while somebody listened, or kept for it; nothing is told twice.

The servers are those that pymodbus and asyncua bring along. To start one of asyncua's takes seconds, so where it is
killed again and again its connections are cut, and it forgets all its clients and their subscriptions: that is what these
see of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread

import anyio
import pytest
from test_opcua_alarms import Plant as AlarmPlant
from test_opcua_alarms import operator
from test_opcua_alarms import run as run_alarms

import tidelog
from brokers import free_port
from children import WAIT, child
from plcs import Plant, collected, modbus, plant, unit  # noqa: F401 - `collected` is a fixture
from services import TIDELOG
from tidelog.connectors.field.modbus.device import ModbusDevices
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.source import OpcUaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.polled import PolledSource
from tidelog.runtime.ports.interfaces import Source
from waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

KILLS = int(os.environ.get("KILLS", "10"))
PROGRAM = """timeline integer, unit 1 ms, round down.
input seen(n: integer).
input level(n: integer).
output told, high.
told(N) :- seen(N).
high(N) :- level(N).
"""
SETTINGS = """program = "plant.tide"
emit = "intervals"
lateness = "1 h"
state = "state"
[[source]]
name = "machines"
type = "opcua"
url = "{url}"
every = 0.02
queue = 10000
repeat = 0
node = [{{ name = "n", id = "ns=2;s=n" }}]
[[source.map]]
topic = "n"
predicate = "seen"
fields.n = "value"
[[source]]
name = "tanks"
type = "modbus"
host = "127.0.0.1"
port = {port}
every = 0.02
register = [{{ name = "level", address = 0 }}]
[[source.map]]
topic = "level"
predicate = "level"
fields.n = "value"
[[sink]]
name = "file"
type = "spec"
spec = "jsonl+file:told.jsonl"
"""


def size(file: Path) -> int:
    """How much has been told, in bytes."""
    return file.stat().st_size if file.exists() else 0


def told(file: Path) -> list[tuple[str, int]]:
    """The answers in a file, in their order."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [(line["predicate"], line["args"][0]) for line in lines]


@contextmanager
def counting(at: Plant) -> Iterator[Callable[[], int]]:
    """A node that counts on, many times a second; gives how far it has come, and stops for good when asked."""
    stopped, last = [False], [0]

    def work() -> None:
        for number in count(1):
            if stopped[0]:
                return
            at.set("n", number)
            last[0] = number
            time.sleep(0.01)

    thread = Thread(target=work)
    thread.start()

    def stop() -> int:
        stopped[0] = True
        thread.join(WAIT)
        return last[0]

    try:
        yield stop
    finally:
        stop()


def test_the_gateway_is_killed(tmp_path: Path) -> None:
    """Each value of a node is told once: what changed while the gateway was away the server has kept, and takes over. What a
    device holds is told as soon as it is asked again."""
    port = free_port()
    (tmp_path / "plant.tide").write_text(PROGRAM)
    chance = random.Random(7)
    with plant({"n": 0}) as at, modbus([unit(1, [41])], port):
        (tmp_path / "plant.toml").write_text(SETTINGS.format(url=at.url, port=port))
        command = [*TIDELOG, "gateway", str(tmp_path / "plant.toml")]
        file = tmp_path / "told.jsonl"
        with (tmp_path / "said.txt").open("wb") as said, counting(at) as stop:
            for _ in range(KILLS):
                before = size(file)
                with child(command, stderr=said) as gateway:
                    eventually(lambda: size(file) > before + 500, process=gateway)  # noqa: B023 - it is called at once
                    time.sleep(chance.uniform(0, 0.1))
                    gateway.kill()
            last = stop()
            with child(command, stderr=said) as gateway:
                eventually(lambda: f'"args":[{last}]' in file.read_text()[-10_000:], process=gateway)
                gateway.terminate()
        numbers = [number for name, number in told(file) if name == "told"]
        assert sorted(numbers) == list(range(numbers[0], last + 1)), (tmp_path / "said.txt").read_text()
        assert ("high", 41) in told(file)


SOON = tidelog.RestartPolicy(attempts=None, delay=0.02, longest=0.02)


def follow(source: Source, work: Callable[[Callable[[], Sequence[tuple[str, int]]]], None]) -> None:
    """An engine that follows a source while something is done in another thread."""
    plan = tidelog.compile(PROGRAM)
    sink = tidelog.MemorySink()

    def heard() -> list[tuple[str, int]]:
        return [(answer[0], answer[1][0]) for answer in list(sink.answers)]

    async def main() -> None:
        engine = tidelog.Engine(plan, [source], [sink], emit="intervals", lateness="1 h", restarts=SOON)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            await anyio.to_thread.run_sync(work, heard)
            tasks.cancel_scope.cancel()

    anyio.run(main, backend="trio")


def test_a_server_of_nodes_is_killed() -> None:
    """It has forgotten all, each time: it is asked anew, and what holds then is told."""
    with plant({"n": 0}) as at:
        told_settings = OpcUaSettings(url=at.url, every=0.02, repeat=0)
        maps = [MapSettings("seen", topic="n", fields={"n": FieldSettings(path="value")})]
        mapper = MapMapper("plc", tidelog.compile(PROGRAM).schema, maps)
        source = OpcUaSource("plc", told_settings, [NodeSettings(name="n", id="ns=2;s=n")], mapper)

        def work(heard: Callable[[], Sequence[tuple[str, int]]]) -> None:
            for number in range(1, KILLS + 1):
                at.set("n", 2 * number)
                eventually(lambda: ("told", 2 * number) in heard())  # noqa: B023 - it is called at once
                at.forget()
                at.set("n", 2 * number + 1)
                eventually(lambda: ("told", 2 * number + 1) in heard())  # noqa: B023 - likewise
            assert source.link().connections == KILLS + 1

        follow(source, work)


def test_a_device_is_killed() -> None:
    """What it holds when it is back is told."""
    port = free_port()
    devices = ModbusDevices(
        ModbusSettings(host="127.0.0.1", port=port, timeout=0.5), [RegisterSettings(name="level", address=0)]
    )
    maps = [MapSettings("level", topic="level", fields={"n": FieldSettings(path="value")})]
    source = PolledSource("plc", devices, MapMapper("plc", tidelog.compile(PROGRAM).schema, maps), every=0.02)

    def work(heard: Callable[[], Sequence[tuple[str, int]]]) -> None:
        for number in range(KILLS + 1):
            with modbus([unit(1, [number])], port):
                eventually(lambda: ("high", number) in heard())  # noqa: B023 - it is called at once

    follow(source, work)


def test_screens_are_killed() -> None:
    """A screen that comes back is told what is open, however its last connection ended."""

    async def test(at: AlarmPlant) -> None:
        await at.hot(10, 10_000)
        for _ in range(KILLS):
            async with operator(at) as anna:
                await anna.refresh()
                event = await anna.told_of("too_warm")
                assert event.Message.Text == "Room north is too warm"
                anna.client.uaclient.protocol.transport.abort()
        await asyncio.sleep(0)
        async with operator(at) as anna:
            await anna.refresh()
            await anna.told_of("too_warm")

    run_alarms(test)
