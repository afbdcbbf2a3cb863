"""Values by Modbus and OPC UA, beside the bare libraries: how many a second, what each costs, and whether memory stays flat.

    python -m benchmarks.industrial [--values 200000]

The servers are those of pymodbus and asyncua, in a process of their own. Both sides of a comparison take turns, with the
same values: the bare library reads or hears them as its documentation shows, and counts them; ours makes facts of them,
through maps. Rates count all time; beside them stands what this process computes, as the
servers are the slower end.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import socket
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

import tidelog
from tidelog.connectors.field.modbus.device import ModbusDevices
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.source import OpcUaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.polled import PolledSource

PLAN = tidelog.compile(
    """timeline integer, unit 1 ms, round down.
input reading(name: text, value: number).
hot(N) :- reading(N, V), V > 1000000000."""
)
MAPS = [MapSettings("reading", topic="{name}", fields={"value": FieldSettings(path="value")})]
REGISTERS, NODES, TURNS = 500, 200, 5


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve_registers(port: int) -> None:
    """A device with registers."""
    from pymodbus.server import StartTcpServer  # noqa: PLC0415 - of this process alone
    from pymodbus.simulator import DataType, SimData, SimDevice  # noqa: PLC0415 - likewise

    held = SimData(0, values=list(range(REGISTERS)), datatype=DataType.REGISTERS)
    StartTcpServer([SimDevice(1, simdata=[held])], address=("127.0.0.1", port))


def serve_nodes(port: int) -> None:
    """A server whose nodes all change, as often as it can."""
    from asyncua import Server, ua  # noqa: PLC0415 - of this process alone

    async def main() -> None:
        server = Server()
        await server.init()
        server.set_endpoint(f"opc.tcp://127.0.0.1:{port}/")
        space = await server.register_namespace("urn:bench")
        nodes = [await server.nodes.objects.add_variable(ua.NodeId(f"n{at}", space), f"n{at}", 0.0) for at in range(NODES)]
        async with server:
            number = 0.0
            while True:
                number += 1
                for node in nodes:
                    await node.write_value(number)
                await asyncio.sleep(0.02)

    asyncio.run(main())


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"nobody listens at {port}")


def memory() -> float:
    """What this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


class Spent:
    """How long something took, and how long this process computed for it, from its making on."""

    def __init__(self) -> None:
        self._begin, self._computed = time.perf_counter(), time.process_time()

    def times(self) -> tuple[float, float]:
        """Seconds passed, and computed."""
        return time.perf_counter() - self._begin, time.process_time() - self._computed


Work = Callable[[], tuple[tuple[float, float], int]]
"""Seconds passed and computed, and how many values came."""


def compared(name: str, bare: Work, ours: Work) -> None:
    """Print how many values come on both sides, which take turns, and what one costs."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    costs: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(TURNS):
        for side, work in (("bare", bare), ("ours", ours)):
            (passed, computed), count = work()
            rates[side].append(count / passed)
            costs[side].append(computed / count * 1e6)
    rate, our_rate = statistics.median(rates["bare"]), statistics.median(rates["ours"])
    cost, our_cost = statistics.median(costs["bare"]), statistics.median(costs["ours"])
    print(f"{name}: {rate:,.0f} values a second by the library, {our_rate:,.0f} to facts: {our_rate / rate:.2f} of it;")
    print(f"  {cost:.1f} µs computed for a value by the library, {our_cost:.1f} µs to a fact")


# --- Modbus -------------------------------------------------------------------------------------------------------------


def bare_registers(port: int, rounds: int) -> tuple[tuple[float, float], int]:
    """Block reads and conversions, as the documentation of pymodbus has them."""
    from pymodbus.client import ModbusTcpClient  # noqa: PLC0415 - beside ours

    client = ModbusTcpClient("127.0.0.1", port=port)
    client.connect()
    spent, count = Spent(), 0
    for _ in range(rounds):
        for address in range(0, REGISTERS, 125):
            found = client.read_holding_registers(address, count=125, device_id=1).registers
            for at in range(125):
                client.convert_from_registers(found[at : at + 1], client.DATATYPE.UINT16)
                count += 1
    times = spent.times()
    client.close()
    return times, count


def our_registers(port: int, rounds: int) -> tuple[tuple[float, float], int]:
    """The same to facts."""
    registers = [RegisterSettings(name=f"r{at}", address=at) for at in range(REGISTERS)]

    async def work() -> tuple[tuple[float, float], int]:
        devices = ModbusDevices(ModbusSettings(host="127.0.0.1", port=port), registers)
        async with PolledSource("plc", devices, MapMapper("plc", PLAN.schema, MAPS), every=0.000_001) as source:
            spent, count = Spent(), 0
            for _ in range(rounds):
                batch = await source.receive()
                count += 0 if batch is None else len(batch.records)
            return spent.times(), count

    return anyio.run(work, backend="trio")


# --- OPC UA -------------------------------------------------------------------------------------------------------------


def bare_nodes(port: int, values: int) -> tuple[tuple[float, float], int]:
    """A subscription with a handler, as the documentation of asyncua has it."""
    from asyncua import Client, ua  # noqa: PLC0415 - beside ours

    count, done = 0, asyncio.Event()

    class Handler:
        def datachange_notification(self, node: Any, value: Any, data: Any) -> None:
            nonlocal count
            count += 1
            if count >= values:
                done.set()

    async def work() -> tuple[float, float]:
        async with Client(f"opc.tcp://127.0.0.1:{port}/", timeout=60, watchdog_intervall=60) as client:
            subscription = await client.create_subscription(50, Handler())
            spent = Spent()
            await subscription.subscribe_data_change([client.get_node(ua.NodeId(f"n{at}", 2)) for at in range(NODES)])
            await done.wait()
            return spent.times()

    return asyncio.run(work()), count


def our_nodes(port: int, values: int) -> tuple[tuple[float, float], int]:
    """The same to facts."""
    nodes = [NodeSettings(name=f"n{at}", id=f"ns=2;s=n{at}") for at in range(NODES)]
    settings = OpcUaSettings(url=f"opc.tcp://127.0.0.1:{port}/", every=0.05, queue=1000, timeout=60)

    async def work() -> tuple[tuple[float, float], int]:
        async with OpcUaSource("plc", settings, nodes, MapMapper("plc", PLAN.schema, MAPS)) as source:
            spent, count = Spent(), 0
            while count < values:
                batch = await source.receive()
                if batch is not None:
                    count += len(batch.records)
                    if batch.position is not None:
                        source.acknowledge(batch.position)
            return spent.times(), count

    return anyio.run(work, backend="trio")


def flat(name: str, work: Callable[[int], object], values: int) -> None:
    """Print what this process holds while so many values pass."""
    before = memory()
    work(values // 10)
    warm = memory()
    work(values)
    after = memory()
    print(f"{name}: {before:.0f} MB, {warm:.0f} MB behind {values // 10:,} values, {after:.0f} MB behind {values:,} more")


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description="Modbus and OPC UA beside the bare libraries.")
    parser.add_argument("--values", type=int, default=200_000, help="so many values pass while memory is looked at")
    values = parser.parse_args().values
    warnings.simplefilter("ignore")
    started = []
    for serve in (serve_registers, serve_nodes):
        port = free_port()
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
        process.start()
        started.append((process, port))
    (_, registers), (_, nodes) = started
    try:
        wait_for(registers)
        compared("Modbus", lambda: bare_registers(registers, 20), lambda: our_registers(registers, 20))
        flat("Modbus", lambda count: our_registers(registers, count // REGISTERS), values)
        wait_for(nodes)
        compared("OPC UA", lambda: bare_nodes(nodes, 5_000), lambda: our_nodes(nodes, 5_000))
        flat("OPC UA", lambda count: our_nodes(nodes, count), values)
    finally:
        for process, _ in started:
            process.terminate()


if __name__ == "__main__":
    main()
