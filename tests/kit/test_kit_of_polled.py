"""Modbus and OPC UA have what the kit asks of what is asked again and again, against the servers of their libraries."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest
from asyncua.sync import Server
from pymodbus.client import ModbusTcpClient
from pymodbus.datastore import ModbusDeviceContext, ModbusSequentialDataBlock, ModbusServerContext
from pymodbus.server import ModbusTcpServer

from brokers import free_port
from children import WAIT
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.modbus import ModbusDevice
from tidelog.connectors.sources.opcua import OpcUaServer
from tidelog.connectors.sources.polled import NodeSettings, Polled, PolledSource, RegisterSettings
from tidelog.testing.connectors import PLAN, SourceBench, SourceKit
from wires import Wire

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
EVERY = 0.02
MAPS = [MapSettings("reading", fields={"n": FieldSettings(path="value")})]


class PolledBench(SourceBench):
    """What is asked, behind a wire that can be cut. A name that it is asked for is not there: that is the poison."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def polled(self) -> Polled:
        raise NotImplementedError

    def open(self) -> PolledSource:
        return PolledSource("plc", self.polled(), MapMapper("plc", PLAN.schema, MAPS), every=EVERY)

    def say_poison(self) -> None:
        """It is asked for it each time."""

    def cut(self) -> None:
        self.wire.cut()

    def leave(self) -> None:
        self.wire.leave()


class PolledKit(SourceKit):
    """A device has its latest value alone."""

    has_latest_alone = True
    cannot: ClassVar = {
        "a_kill_between_receipt_and_commit_loses_nothing": "a device keeps no values: it is asked for the present one",
        "nothing_piles_up_while_nobody_receives": "it is asked when somebody receives",
        "readings_arrive_in_order": "a name that is not there is among them, as poison; the other tests read in order",
    }


class ModbusBench(PolledBench):
    """A device with one register."""

    def __init__(self, wire: Wire, port: int) -> None:
        super().__init__(wire)
        self._client = ModbusTcpClient("127.0.0.1", port=port)

    def polled(self) -> Polled:
        registers = [RegisterSettings(name="a", address=0), RegisterSettings(name="b", address=500)]
        return ModbusDevice("127.0.0.1", self.wire.port, registers, timeout=1.0)

    def say(self, numbers: Sequence[int]) -> None:
        self._client.connect()
        self._client.write_register(0, numbers[-1])
        self._client.close()


class TestModbus(PolledKit):
    """Registers."""

    @pytest.fixture
    def bench(self) -> Iterator[SourceBench]:
        loop, started, port = asyncio.new_event_loop(), threading.Event(), free_port()
        device = ModbusDeviceContext(hr=ModbusSequentialDataBlock(1, [0, 0]))
        servers: list[ModbusTcpServer] = []

        async def serve() -> None:
            context = ModbusServerContext(device)
            servers.append(ModbusTcpServer(context, address=("127.0.0.1", port)))
            await servers[0].serve_forever(background=True)
            started.set()

        loop.call_soon(lambda: asyncio.ensure_future(serve(), loop=loop))
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        assert started.wait(WAIT)
        with Wire(port) as wire:
            yield ModbusBench(wire, port)
        asyncio.run_coroutine_threadsafe(servers[0].shutdown(), loop).result(WAIT)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT)
        loop.close()


class OpcUaBench(PolledBench):
    """A server with one variable."""

    def __init__(self, wire: Wire, variable: object, space: int) -> None:
        super().__init__(wire)
        self._variable, self._space = variable, space

    def polled(self) -> Polled:
        nodes = [NodeSettings(name=name, id=f"ns={self._space};s={name}") for name in ("a", "b")]
        return OpcUaServer(f"opc.tcp://127.0.0.1:{self.wire.port}/plant", nodes, timeout=2.0)

    def say(self, numbers: Sequence[int]) -> None:
        self._variable.write_value(numbers[-1])  # type: ignore[attr-defined] # the library has no types


class TestOpcUa(PolledKit):
    """Nodes; on one loop alone, since the library runs in a thread of its own, and takes its time to connect."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "trio"

    @pytest.fixture(scope="class")
    def server(self) -> Iterator[tuple[int, object, int]]:
        """Its port, its variable, and the number of its namespace."""
        port = free_port()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server = Server()
            server.set_endpoint(f"opc.tcp://127.0.0.1:{port}/plant")
            space = server.register_namespace("plant")
            variable = server.nodes.objects.add_variable(f"ns={space};s=a", "a", 0)
            variable.set_writable()
            server.start()
            try:
                yield port, variable, space
            finally:
                server.stop()

    @pytest.fixture
    def bench(self, server: tuple[int, object, int]) -> Iterator[SourceBench]:
        port, variable, space = server
        with Wire(port) as wire:
            yield OpcUaBench(wire, variable, space)
