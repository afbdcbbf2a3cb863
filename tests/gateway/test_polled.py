"""Modbus TCP and OPC UA, against the servers that their libraries ship."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from asyncua.sync import Server
from pymodbus.datastore import ModbusDeviceContext, ModbusSequentialDataBlock, ModbusServerContext
from pymodbus.server import ModbusTcpServer

import tidelog
from brokers import free_port
from children import WAIT
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.modbus import ModbusDevice
from tidelog.connectors.sources.opcua import OpcUaServer
from tidelog.connectors.sources.polled import NodeSettings, Polled, PolledSource, RegisterSettings
from tidelog.runtime.ports.interfaces import Batch

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input temp(machine: text, celsius: number).
hot(M, C) :- temp(M, C), C >= 80."""
)


@contextmanager
def modbus(port: int) -> Iterator[None]:
    """A device with a few registers, on asyncio in a thread of its own."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    servers: list[ModbusTcpServer] = []

    async def serve() -> None:
        block = ModbusSequentialDataBlock(1, [215, 0xFFCE, 0x42C8, 0x0000])
        bits = ModbusSequentialDataBlock(1, [True])
        device = ModbusDeviceContext(hr=block, ir=block, co=bits, di=bits)
        servers.append(ModbusTcpServer(ModbusServerContext(device), address=("127.0.0.1", port)))
        await servers[0].serve_forever(background=True)
        started.set()

    loop.call_soon(lambda: asyncio.ensure_future(serve(), loop=loop))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    assert started.wait(WAIT)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(servers[0].shutdown(), loop).result(WAIT)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT)
        loop.close()


def once(polled: Polled, count: int = 1) -> list[Batch]:
    """What a source brings the first times, on trio."""
    maps = [MapSettings("temp", topic="{machine}/temp", fields={"celsius": FieldSettings(path="value", convert="X / 10")})]

    async def receive() -> list[Batch]:
        source = PolledSource("plc", polled, MapMapper("plc", PLAN.schema, maps), every=0.05)
        async with source:
            with anyio.fail_after(WAIT):
                return [batch for _ in range(count) if (batch := await source.receive()) is not None]

    return anyio.run(receive, backend="trio")


def test_registers_of_a_device() -> None:
    """Whole numbers with their sign, floats of two registers, bits; a register that is not there costs no other."""
    port = free_port()
    registers = [
        RegisterSettings(name="boiler/temp", address=0, type="int16"),
        RegisterSettings(name="chiller/temp", address=1, type="int16"),
        RegisterSettings(name="press/temp", address=2, type="float32"),
        RegisterSettings(name="nowhere/temp", address=500),
    ]
    with modbus(port):
        batches = once(ModbusDevice("127.0.0.1", port, registers), 2)
    for batch in batches:
        assert [row for _, row, _, _ in batch.records] == [("boiler", 21.5), ("chiller", -5), ("press", 10)]
        assert [item.place for item in batch.rejected] == ["plc:nowhere/temp"]
    with pytest.raises(OSError, match="no Modbus device answers"):
        once(ModbusDevice("127.0.0.1", port, registers, timeout=0.5))


def test_nodes_of_a_server() -> None:
    """Values with the time of their source; a node that is not there costs no other."""
    port = free_port()
    url = f"opc.tcp://127.0.0.1:{port}/plant"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = Server()
        server.set_endpoint(url)
        space = server.register_namespace("plant")
        server.nodes.objects.add_variable(f"ns={space};s=Boiler", "Boiler", 815.0)
        server.start()
        try:
            nodes = [
                NodeSettings(name="boiler/temp", id=f"ns={space};s=Boiler"),
                NodeSettings(name="nowhere/temp", id=f"ns={space};s=Nowhere"),
            ]
            batches = once(OpcUaServer(url, nodes), 2)
        finally:
            server.stop()
    for batch in batches:
        assert [row for _, row, _, _ in batch.records] == [("boiler", 81.5)]
        assert [item.place for item in batch.rejected] == ["plc:nowhere/temp"]
    with pytest.raises(OSError, match="opc"):
        once(OpcUaServer(url, nodes, timeout=0.5))
