"""Devices of a plant for tests: the servers that pymodbus and asyncua bring along, each in a thread with its own loop."""

from __future__ import annotations

import asyncio
import gc
import os
import pty
import threading
import tty
import warnings
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from asyncua import Server, ua
from pymodbus import FramerType
from pymodbus.pdu import ModbusPDU
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from brokers import free_port
from children import WAIT

T = TypeVar("T")


class Loop:
    """asyncio's loop in a thread. Once it is closed, it takes no more work: a thread that comes late is told so."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self._admission = threading.Lock()
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._admission:
            if self._is_closed:
                work.close()
                raise RuntimeError("the loop is closed")
            running = asyncio.run_coroutine_threadsafe(work, self.loop)
        return running.result(WAIT)

    def close(self) -> None:
        with self._admission:
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(_end_others(), self.loop).result(WAIT)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WAIT)
        self.loop.close()


async def _end_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(3):  # a connection may have been made just now
        for transport in [*getattr(asyncio.get_running_loop(), "_transports").values()]:  # noqa: B009 - nobody else closes them
            transport.abort()
        await asyncio.sleep(0.01)


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """What pymodbus's server has left open of connections that broke goes with the module that imports this."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@dataclass
class Asked:
    """What a server was asked: function, unit, first address, count. Who is `silent` does not answer."""

    requests: list[tuple[int, int, int, int]] = field(default_factory=list)
    silent: set[int] = field(default_factory=set)
    hold: Callable[[int, int, list[int]], None] = field(default=lambda *_: None)
    """Lets a unit hold other registers from an address on."""

    def note(self, sending: bool, pdu: ModbusPDU) -> ModbusPDU:
        if not sending:
            self.requests.append((pdu.function_code, pdu.dev_id, pdu.address, pdu.count))
        return pdu


def unit(number: int, registers: dict[int, int] | list[int], bits: Sequence[bool] = (False,)) -> SimDevice:
    """A device: its holding and input registers, from address 0, or those addresses alone; and its bits."""
    held = dict(enumerate(registers)) if isinstance(registers, list) else registers
    words = [SimData(at, values=value, datatype=DataType.REGISTERS) for at, value in held.items()]
    flags = [SimData(0, values=[*bits], datatype=DataType.BITS)]
    return SimDevice(number, simdata=(flags, flags, words, words))


@contextmanager
def modbus(units: Sequence[SimDevice], port: int | str, framer: FramerType = FramerType.SOCKET) -> Iterator[Asked]:
    """Devices behind one port, or behind a serial line where that is its name. A silent one does not answer."""
    loop, asked = Loop(), Asked()

    def silenced(sending: bool, data: bytes) -> bytes:
        at = 6 if framer == FramerType.SOCKET else 0
        return b"" if sending and len(data) > at and data[at] in asked.silent else data

    async def serve() -> Any:
        context = [*units]
        if isinstance(port, str):
            server: Any = ModbusSerialServer(
                context, port=port, framer=framer, baudrate=19_200, trace_pdu=asked.note, trace_packet=silenced
            )
        else:
            server = ModbusTcpServer(
                context, address=("127.0.0.1", port), framer=framer, trace_pdu=asked.note, trace_packet=silenced
            )
        await server.serve_forever(background=True)
        return server

    server = loop.run(serve())
    asked.hold = lambda number, address, values: loop.run(server.async_setValues(number, 16, address, values))
    try:
        yield asked
    finally:
        loop.run(server.shutdown())
        loop.close()


@contextmanager
def serial_line() -> Iterator[tuple[str, str]]:
    """A serial line of two pseudo-terminals: what is written to one of these names is read at the other one."""
    ends = [pty.openpty() for _ in range(2)]
    stopped = threading.Event()
    for _, slave in ends:
        tty.setraw(slave)

    def pass_on(reading: int, writing: int) -> None:
        while not stopped.is_set():
            try:
                data = os.read(reading, 4096)
            except OSError:
                return
            if not stopped.is_set():
                os.write(writing, data)

    (one, first), (other, second) = ends
    threads = [threading.Thread(target=pass_on, args=pair, daemon=True) for pair in ((one, other), (other, one))]
    for thread in threads:
        thread.start()
    try:
        yield os.ttyname(first), os.ttyname(second)
    finally:
        stopped.set()
        for slave in (first, second):
            os.write(slave, b"\0")
        for thread in threads:
            thread.join(WAIT)
        for pair in ends:
            for end in pair:
                os.close(end)


class Plant:
    """A server of nodes `ns=2;s=NAME`. It can be asked what it holds, and be stopped and started again at its port.

    Where it `mends` the library's server, that goes on with a subscription that was taken over, as others do.
    """

    def __init__(self, port: int, values: dict[str, Any], *, mends: bool = True) -> None:
        self._mends = mends
        self.url = f"opc.tcp://127.0.0.1:{port}/plant"
        self._values = values
        self._loop = Loop()
        self.server: Any = None
        self.nodes: dict[str, Any] = {}

    def start(self) -> None:
        """Serve; all nodes hold what they held at first."""
        self._loop.run(self._start())

    async def _start(self) -> None:
        self.server = server = Server()
        await server.init()
        server.set_endpoint(self.url)
        server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
        space = await server.register_namespace("plant")
        folders: dict[str, Any] = {}
        for name, value in self._values.items():
            place, _, last = name.rpartition(".")
            if place and place not in folders:
                folders[place] = await server.nodes.objects.add_object(ua.NodeId(place, space), place)
            parent = folders.get(place, server.nodes.objects)
            self.nodes[name] = await parent.add_variable(ua.NodeId(name, space), last, value)
        if self._mends:
            _mend(server.iserver.subscription_service)
        await server.start()

    def stop(self) -> None:
        """End all connections."""
        self._loop.run(self.server.stop())

    def set(self, name: str, value: Any, status: int = 0, at: datetime | None = None) -> None:
        """A node holds another value from now on, or from another time on."""
        found = ua.DataValue(ua.Variant(value), ua.StatusCode(status), at or datetime.now(UTC))
        self._loop.run(self.nodes[name].write_value(found))

    def subscriptions(self) -> dict[int, Any]:
        """The subscriptions that it has now."""
        return dict(self.server.iserver.subscription_service.subscriptions)

    def is_listened_to(self) -> bool:
        """Whether somebody has subscribed to a node who is there now: those who went have left some behind."""
        return any(
            one.monitored_item_srv._monitored_items and not one.pub_request_callback.__self__._transport.is_closing()
            for one in self.subscriptions().values()
        )

    def forget(self) -> None:
        """All subscriptions are gone, and so are the connections of those who had them."""

        async def work() -> None:
            for protocol in [*self.server.bserver.clients]:
                protocol.transport.abort()
            service = self.server.iserver.subscription_service
            await service.delete_subscriptions([*service.subscriptions])

        self._loop.run(work())

    def cut(self) -> None:
        """All connections are gone, and what was subscribed to is kept."""

        async def work() -> None:
            for protocol in [*self.server.bserver.clients]:
                protocol.transport.abort()

        self._loop.run(work())

    def close(self) -> None:
        self._loop.close()


def _mend(service: Any) -> None:
    """asyncua 2.1.0 leaves a subscription that was taken over with the requests of the client that had it."""
    transfer = service.transfer_subscriptions

    async def transferred(params: Any, session: Any, callback: Any) -> Any:
        results = await transfer(params, session, callback)
        for number in params.SubscriptionIds:
            if number in service.subscriptions:
                service.subscriptions[number].pub_request_callback = callback.__self__.get_publish_request
        return results

    service.transfer_subscriptions = transferred


@contextmanager
def plant(values: dict[str, Any], port: int | None = None, *, mends: bool = True) -> Iterator[Plant]:
    """A server that serves for the length of a `with` block."""
    found = Plant(port or free_port(), values, mends=mends)
    try:
        found.start()
        try:
            yield found
        finally:
            found.stop()
    finally:
        found.close()
