"""Modbus and OPC UA have what the kit asks, with their libraries' own servers behind wires that can be cut."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

from brokers import free_port
from plcs import Plant, collected, modbus, plant, unit  # noqa: F401 - `collected` is a fixture
from tidelog.connectors.field.modbus.device import ModbusDevices
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.source import OpcUaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.polled import PolledSource
from tidelog.testing.connectors import PLAN, SourceBench, SourceKit
from waiting import eventually
from wires import Wire

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

MAPS = [MapSettings("reading", topic="n", when="value > `0`", fields={"n": FieldSettings(path="value")})]


def mapper() -> MapMapper:
    """What was there before is 0, and no reading."""
    return MapMapper("plc", PLAN.schema, MAPS)


class WiredBench(SourceBench):
    """Whoever sends is behind a wire."""

    wire: Wire

    def cut(self) -> None:
        self.wire.cut()

    def leave(self) -> None:
        self.wire.leave()


class DeviceBench(WiredBench):
    """A device with one value."""

    def __init__(self, asked: Any, wire: Wire) -> None:
        self._asked, self.wire = asked, wire

    def open(self) -> PolledSource:
        settings = ModbusSettings(host="127.0.0.1", port=self.wire.port, timeout=0.5)
        devices = ModbusDevices(settings, [RegisterSettings(name="n", address=0, type="float32")])
        return PolledSource("plc", devices, mapper(), every=0.01)

    def say(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._hold(float(number))

    def say_poison(self) -> None:
        self._hold(float("nan"))
        count = len(self._asked.requests)
        eventually(lambda: len(self._asked.requests) > count + 1)

    def _hold(self, value: float) -> None:
        self._asked.hold(1, 0, [*struct.unpack(">HH", struct.pack(">f", value))])


class TestModbus(SourceKit):
    """A device keeps its latest values alone, and nobody keeps them for who was away."""

    has_latest_alone = True
    cannot: ClassVar = {
        "a_kill_between_receipt_and_commit_loses_nothing": "a device keeps its latest values alone, and takes no receipts",
    }

    @pytest.fixture
    def bench(self) -> Iterator[SourceBench]:
        port = free_port()
        with modbus([unit(1, [0, 0])], port) as asked, Wire(port) as wire:
            yield DeviceBench(asked, wire)


class NodeBench(WiredBench):
    """A node."""

    def __init__(self, at: Plant, wire: Wire) -> None:
        self._at, self.wire = at, wire
        at.set("n", 0.0)
        at.forget()

    def open(self) -> OpcUaSource:
        settings = OpcUaSettings(
            url=f"opc.tcp://127.0.0.1:{self.wire.port}/plant", every=0.02, queue=10_000, repeat=0, timeout=1.0
        )
        return OpcUaSource("plc", settings, [NodeSettings(name="n", id="ns=2;s=n")], mapper(), keeps=True)

    def say(self, numbers: Sequence[int]) -> None:
        eventually(self._at.is_listened_to)  # before that, nobody keeps anything
        for number in numbers:
            self._at.set("n", float(number))

    def say_poison(self) -> None:
        self._at.set("n", float("nan"))


@pytest.fixture(scope="module")
def server() -> Iterator[Plant]:
    """It takes seconds to start."""
    with plant({"n": 0.0}) as found:
        yield found


class TestOpcUa(SourceKit):
    """A server keeps what changes, in its queues, and what it has no receipt for."""

    cannot: ClassVar = {
        "nothing_piles_up_while_nobody_receives": "the server of the test keeps its queues in the memory of the test",
    }

    @pytest.fixture
    def bench(self, server: Plant) -> Iterator[SourceBench]:
        with ExitStack() as stack:
            port = int(server.url.rpartition(":")[2].partition("/")[0])
            yield NodeBench(server, stack.enter_context(Wire(port)))
