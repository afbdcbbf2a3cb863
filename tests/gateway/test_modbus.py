"""Devices by Modbus, against the servers that pymodbus brings along: over TCP, RTU over TCP, and RTU over a serial line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from pymodbus import FramerType

import tidelog
from brokers import free_port
from children import WAIT
from plcs import Asked, collected, modbus, serial_line, unit  # noqa: F401 - `collected` is a fixture
from tidelog.connectors.field.modbus.device import ModbusDevices
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.sources.polled import PolledSource
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Batch

pytestmark = pytest.mark.filterwarnings("ignore")

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input temp(machine: text, celsius: number).
hot(M, C) :- temp(M, C), C >= 80."""
)
MAPS = [MapSettings("temp", topic="{machine}/temp", fields={"celsius": FieldSettings(path="value", convert="X / 10")})]
REGISTERS = [
    RegisterSettings(name="boiler/temp", address=0, type="int16"),
    RegisterSettings(name="chiller/temp", address=1, type="int16"),
    RegisterSettings(name="press/temp", address=2, type="float32"),
    RegisterSettings(name="turned/temp", address=4, type="int32", words="little"),
]
HELD = [215, 0xFFCE, 0x42C8, 0x0000, 1, 0]
FACTS = [("boiler", 21.5), ("chiller", -5), ("press", 10), ("turned", 0.1)]


def receive(
    settings: ModbusSettings, registers: list[RegisterSettings], count: int = 1, backend: str = "trio"
) -> list[Batch]:
    """What a source brings the first times."""

    async def work() -> list[Batch]:
        source = PolledSource("plc", ModbusDevices(settings, registers), MapMapper("plc", PLAN.schema, MAPS), every=0.01)
        async with source:
            with anyio.fail_after(WAIT):
                return [batch for _ in range(count) if (batch := await source.receive()) is not None]

    return anyio.run(work, backend=backend)


def rows(batch: Batch) -> list[Any]:
    return [row for _, row, _, _ in batch.records]


def opened(settings: ModbusSettings, registers: list[RegisterSettings], work: Callable[[ModbusDevices], None]) -> None:
    """Devices that are asked by hand, one call after the other."""
    devices = ModbusDevices(settings, registers)
    devices.open()
    try:
        work(devices)
    finally:
        devices.close()


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_over_tcp(backend: str) -> None:
    """Whole numbers with their sign, floats of two registers, either order of words: by one request a round."""
    port = free_port()
    with modbus([unit(1, HELD)], port) as asked:
        batches = receive(ModbusSettings(host="127.0.0.1", port=port), REGISTERS, 2, backend)
    assert [rows(batch) for batch in batches] == [FACTS, FACTS]
    assert asked.requests == [(3, 1, 0, 6)] * 2


def test_rtu_over_tcp() -> None:
    """The frames of a serial line within a connection."""
    port = free_port()
    with modbus([unit(1, HELD)], port, FramerType.RTU):
        batches = receive(ModbusSettings(host="127.0.0.1", port=port, framer="rtu"), REGISTERS)
    assert rows(batches[0]) == FACTS


def test_rtu_over_a_serial_line() -> None:
    """A pair of pseudo-terminals, which know no parity, with two devices on the line."""
    registers = [*REGISTERS, RegisterSettings(name="other/temp", address=0, unit=2)]
    with serial_line() as (here, there), modbus([unit(1, HELD), unit(2, [70])], there, FramerType.RTU):
        batches = receive(ModbusSettings(serial=here, parity="none"), registers)
    assert rows(batches[0]) == [*FACTS, ("other", 7)]


def test_all_tables() -> None:
    """Coils, discrete inputs and input registers, each by its own function."""
    port = free_port()
    registers = [
        RegisterSettings(name="coil", address=1, table="coil"),
        RegisterSettings(name="discrete", address=0, table="discrete"),
        RegisterSettings(name="input", address=0, table="input"),
    ]
    held: list[Any] = []
    with modbus([unit(1, HELD, [False, True])], port) as asked:
        opened(ModbusSettings(host="127.0.0.1", port=port), registers, lambda devices: held.extend(devices.read()))
    assert sorted(held) == [("coil", {"value": True}), ("discrete", {"value": False}), ("input", {"value": 215})]
    assert sorted(function for function, *_ in asked.requests) == [1, 2, 4]


def test_500_registers_take_4_requests() -> None:
    """As many as the protocol needs: 125 registers fit into an answer."""
    port = free_port()
    registers = [RegisterSettings(name=f"r{at}", address=at) for at in range(500)]
    held: list[Any] = []
    with modbus([unit(1, list(range(500)))], port) as asked:
        opened(ModbusSettings(host="127.0.0.1", port=port), registers, lambda devices: held.extend(devices.read()))
    assert held == [(f"r{at}", {"value": at}) for at in range(500)]
    assert len(asked.requests) == 4


def test_a_block_that_is_refused_falls_apart() -> None:
    """What is there is read, in as few requests as that takes; what is not is told with its place, exception and function,
    and is left alone for a while; the parts stay as they are."""
    port = free_port()
    registers = [RegisterSettings(name=f"r{at}", address=at) for at in (0, 1, 2, 3, 4, 5, 6, 7, 9)]
    there = {at: at for at in (0, 1, 2, 3, 4, 6, 7, 9)}  # 5 is wanted and not there; 8 is neither
    held: list[list[Any]] = []

    def work(devices: ModbusDevices) -> None:
        held.extend([devices.read(), devices.read()])
        assert devices.link.statistics().errors == 5

    with modbus([unit(3, there)], port) as asked:
        wanted = [RegisterSettings(name=one.name, address=one.address, unit=3) for one in registers]
        opened(ModbusSettings(host="127.0.0.1", port=port), wanted, work)
    reason = "device 3, holding register 40006: exception 2, illegal data address (function 3)"
    assert ("r5", reason) in held[0]
    good = [(f"r{at}", {"value": at}) for at in sorted(there)]
    assert sorted(item for item in held[0] if item[0] != "r5") == good
    assert sorted(held[1]) == good
    assert len(asked.requests) == 5 + 4 + 4


def test_dead_letters_name_the_place() -> None:
    """What cannot be read is a dead letter of its value's name, and costs no other."""
    port = free_port()
    registers = [REGISTERS[0], RegisterSettings(name="nowhere/temp", address=500)]
    with modbus([unit(1, HELD)], port):
        batch = receive(ModbusSettings(host="127.0.0.1", port=port), registers)[0]
    assert rows(batch) == [("boiler", 21.5)]
    assert [(item.place, item.reason) for item in batch.rejected] == [
        ("plc:nowhere/temp", "device 1, holding register 40501: exception 2, illegal data address (function 3)")
    ]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_dead_unit_does_not_hold_up_the_others() -> None:
    """It costs one request that is not answered, is told, and is then asked beside the others, ever more rarely; once it
    answers again, it is one of them."""
    port, clock = free_port(), Clock()
    registers = [RegisterSettings(name=f"u{number}", address=at, unit=number) for number in (1, 2, 3) for at in (0, 200)]
    with modbus([unit(number, [number] * 300) for number in (1, 2, 3)], port) as asked:
        devices = ModbusDevices(ModbusSettings(host="127.0.0.1", port=port, timeout=0.2), registers, clock=clock)
        devices.open()
        asked.silent.add(2)
        first = devices.read()
        reason = "device 2, holding register 40001: no answer within 0.2 s"
        assert first == [("u1", {"value": 1})] * 2 + [("u2", reason)] + [("u3", {"value": 3})] * 2
        assert devices.look_after() == []  # its time has not come
        asked.requests.clear()
        assert devices.read() == [("u1", {"value": 1})] * 2 + [("u3", {"value": 3})] * 2
        assert 2 not in units_of(asked)
        clock.now = 1.0
        assert devices.look_after() == [("u2", reason.replace("40001", "40201"))]
        clock.now = 2.9
        assert devices.look_after() == []
        asked.silent.clear()
        clock.now = 3.0
        assert devices.look_after() == [("u2", {"value": 2})] * 2
        assert devices.read() == [(f"u{number}", {"value": number}) for number in (1, 2, 3) for _ in range(2)]
        asked.silent.update({1, 2, 3})
        with pytest.raises(OSError, match=r"no answer within 0.2 s from any device"):
            devices.read()
        devices.close()


def units_of(asked: Asked) -> set[int]:
    return {number for _, number, _, _ in asked.requests}


def test_a_slow_unit_has_its_share_of_a_round() -> None:
    """What a device leaves over by its timeout comes first in its next round."""
    clock = Clock()
    registers = [RegisterSettings(name=f"r{at}", address=at) for at in (0, 200, 400)]
    devices = ModbusDevices(ModbusSettings(host="127.0.0.1", timeout=3.0), registers, clock=clock)

    class Slow:
        def read_holding_registers(self, address: int, *, count: int, device_id: int) -> Any:
            clock.now += 2.0
            return type("Answer", (), {"isError": lambda self: False, "registers": [address] * count})()

    devices._client = Slow()
    assert [[name for name, _ in devices.read()] for _ in range(3)] == [["r0", "r200"], ["r400", "r0"], ["r200", "r400"]]


def test_a_device_that_is_away() -> None:
    """It says where nobody is."""
    port = free_port()
    with pytest.raises(OSError, match=f"no Modbus device can be reached at 127.0.0.1:{port}"):
        receive(ModbusSettings(host="127.0.0.1", port=port, timeout=0.5), REGISTERS)
    with pytest.raises(OSError, match="no Modbus device can be reached at /dev/nowhere"):
        receive(ModbusSettings(serial="/dev/nowhere"), REGISTERS)


@pytest.mark.parametrize("settings", [ModbusSettings(), ModbusSettings(host="a", serial="/dev/ttyUSB0")])
def test_a_place_is_said_once(settings: ModbusSettings) -> None:
    """Neither nothing nor two places."""
    with pytest.raises(SpecError, match="say one of both"):
        ModbusDevices(settings, REGISTERS)


def test_registers_have_an_end() -> None:
    """None at all, and a value that ends beyond the last address, are told before anything is asked."""
    place = ModbusSettings(host="a")
    with pytest.raises(SpecError, match="it asks for no register"):
        ModbusDevices(place, [])
    last = RegisterSettings(name="x", address=65_535)
    ModbusDevices(place, [last])
    with pytest.raises(SpecError, match="`x`: a float32 at 65535 ends beyond the last address, 65535"):
        ModbusDevices(place, [RegisterSettings(name="x", address=65_535, type="float32")])
