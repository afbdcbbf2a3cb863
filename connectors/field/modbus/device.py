"""Devices behind one connection, asked by Modbus. Nothing else loads pymodbus.

Its client that blocks is used, in a thread: the other one needs asyncio's event loop. One request is on its way at a time,
as on a serial line. So each device has a share of a round, which is its timeout: what it leaves unanswered by then is asked
first in its next round. One that does not answer at all is put aside, and asked beside the others at ever longer intervals.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from pymodbus.client import ModbusSerialClient, ModbusTcpClient
from pymodbus.exceptions import ConnectionException, ModbusException
from pymodbus.framer import FramerType

from tidelog.connectors.field.modbus.blocks import FUNCTIONS, Block, blocks, halves, width
from tidelog.connectors.field.modbus.decoding import Decode, Reading, decoder
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings, Table
from tidelog.connectors.transport.links import Link
from tidelog.plans.diagnostics.errors import SpecError

_READS: Final[dict[Table, str]] = {
    "holding": "read_holding_registers",
    "input": "read_input_registers",
    "coil": "read_coils",
    "discrete": "read_discrete_inputs",
}
EXCEPTIONS: Final = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledged, the device needs long",
    6: "device busy",
    7: "negative acknowledgement",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "the device behind the gateway does not answer",
}
"""What the exception codes of the protocol mean."""
_DIVIDED: Final = (2, 3)
"""Exceptions that a part of a block may have caused."""
_ABSENT: Final = (10, 11)
"""Exceptions with which a gateway says that a device is not there."""
_PLACES: Final = 65_536
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""How many seconds pass before what could not be read is tried again, at first and at most; each time twice as many."""


class _Problems(logging.Filter):
    """Takes in what the library says of what fails: why nobody can be reached it says to nobody else."""

    def __init__(self) -> None:
        super().__init__()
        self._last = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            self._last.text = record.getMessage().partition("\n")[0].rpartition("failed: ")[2]
        return record.levelno < logging.ERROR

    def last(self) -> str:
        """What failed last in this thread."""
        return getattr(self._last, "text", "") or "no answer"


_problems = _Problems()
logging.getLogger("pymodbus.logging").addFilter(_problems)


class _Pause:
    """When something that failed is tried again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seconds = 0.0
        self._until = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is to be tried now."""
        return self._clock() >= self._until

    def failed(self) -> None:
        """It has failed once more."""
        self._seconds = min(2 * self._seconds or FIRST_PAUSE, LONGEST_PAUSE)
        self._until = self._clock() + self._seconds

    def worked(self) -> None:
        """It works again."""
        self._seconds = self._until = 0.0


class _Asked:
    """A block as it is asked for."""

    def __init__(self, block: Block, clock: Callable[[], float]) -> None:
        self.block = block
        self.decode: Decode = decoder(block)
        self.pause = _Pause(clock)


class _Unit:
    """One device, and its blocks: those that were left over in its last round come first."""

    def __init__(self, asked: Sequence[_Asked], clock: Callable[[], float]) -> None:
        self.asked = deque(asked)
        self.pause = _Pause(clock)
        self.is_silent = False


class _NoAnswer(Exception):
    """A device has not answered in time."""


class ModbusDevices:
    """All devices behind one connection, and the registers that they are asked for. Its methods block.

    SpecError for settings that do not say where the devices are, and for registers that no device has.
    """

    def __init__(
        self, settings: ModbusSettings, registers: Sequence[RegisterSettings], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        settings.check()
        _check(registers)
        self.place = settings.serial or f"{settings.host}:{settings.port}"
        self.link = Link()
        self._settings, self._clock = settings, clock
        self._units: dict[int, _Unit] = {}
        for block in blocks(registers, gap=settings.gap, most=settings.most):
            unit = self._units.setdefault(block.unit, _Unit((), clock))
            unit.asked.append(_Asked(block, clock))
        self._client: Any = None  # only a part of it has types

    def open(self) -> None:
        """Connect; OSError where that fails."""
        self._client = self._make_client()
        self._connect()
        self.link.up()

    def _connect(self) -> None:
        if not self._client.connect():
            raise ConnectionError(f"no Modbus device can be reached at {self.place}: {_problems.last()}")

    def _make_client(self) -> Any:
        told, timeout = self._settings, self._settings.timeout
        if told.serial:
            return ModbusSerialClient(
                told.serial,
                baudrate=told.baudrate,
                bytesize=told.bytesize,
                parity=told.parity[0].upper(),
                stopbits=told.stopbits,
                timeout=timeout,
                retries=0,
            )
        framer = FramerType.RTU if told.framer == "rtu" else FramerType.SOCKET
        return ModbusTcpClient(told.host, port=told.port, framer=framer, timeout=timeout, retries=0)

    def close(self) -> None:
        """Leave the devices."""
        self.link.down()
        if self._client is not None:
            self._client.close()

    def try_once(self) -> str:
        """Connect, and read all once: how many values there are, by how many requests, and what is wrong with the first that
        cannot be read. OSError where nothing can be read."""
        self.open()
        try:
            found = self.read()
        finally:
            self.close()
        wrong = [held for _, held in found if isinstance(held, str)]
        if len(wrong) == len(found):
            raise ConnectionError(f"{self.place}: nothing can be read: {wrong[0] if wrong else 'it asks for nothing'}")
        there = f"{self.place} answers: {len(found) - len(wrong)} values by {self.link.requests} requests"
        return f"{there}; not {wrong[0]}" if wrong else there

    # --- rounds ---------------------------------------------------------------------------------------------------------

    def read(self) -> list[Reading]:
        """The values of all devices that answer; OSError where the connection is lost, or none of them answers any more."""
        found: list[Reading] = []
        present = [unit for unit in self._units.values() if not unit.is_silent]
        for unit in present:
            found += self._round(unit)
        if present and all(unit.is_silent for unit in self._units.values()):
            self._forgive()
            raise ConnectionError(f"{self.place}: no answer within {self._settings.timeout:g} s from any device")
        return found

    def look_after(self) -> list[Reading]:
        """Ask one of those that did not answer whether it does again, where its time has come; its values, or why not."""
        for unit in self._units.values():
            if unit.is_silent and unit.pause.is_due:
                return self._round(unit)
        return []

    def _round(self, unit: _Unit) -> list[Reading]:
        """Ask a device for its blocks, as long as its share of the time lasts."""
        found: list[Reading] = []
        until = self._clock() + self._settings.timeout
        for _ in range(len(unit.asked)):
            if self._clock() >= until:
                break
            asked = unit.asked.popleft()
            unit.asked.append(asked)
            if not asked.pause.is_due:
                continue
            try:
                found += self._read(unit, asked)
            except _NoAnswer as reason:
                unit.is_silent = True
                unit.pause.failed()
                found.append((asked.block.registers[0].name, f"{asked.block}: {reason}"))
                return found
            if unit.is_silent:
                unit.is_silent = False
                unit.pause.worked()
        return found

    def _read(self, unit: _Unit, asked: _Asked) -> list[Reading]:
        """What one request brings; a block that is refused falls apart, and stays so until the connection is made anew."""
        answer = self._ask(asked.block)
        if not isinstance(answer, int):
            asked.pause.worked()
            return asked.decode(answer)
        self.link.errors += 1
        block, reason = asked.block, _told(asked.block, answer)
        if answer in _ABSENT:
            raise _NoAnswer(reason.removeprefix(f"{block}: "))
        parts = halves(block) if answer in _DIVIDED else []
        if not parts:
            asked.pause.failed()
            return [(one.name, reason) for one in block.registers]
        unit.asked.remove(asked)
        found: list[Reading] = []
        for part in parts:
            smaller = _Asked(part, self._clock)
            unit.asked.append(smaller)
            found += self._read(unit, smaller)
        return found

    def _ask(self, block: Block) -> Sequence[int] | int:
        """The registers, or bits, of a block, or the exception code of the answer. OSError where the connection is lost."""
        self.link.requests += 1
        try:
            read = getattr(self._client, _READS[block.table])
            answer = read(block.address, count=block.count, device_id=block.unit)
        except ConnectionException as error:
            self.link.errors += 1
            raise ConnectionError(f"{self.place}: the connection was lost") from error
        except ModbusException as error:
            self.link.errors += 1
            self._begin_anew()
            raise _NoAnswer(f"no answer within {self._settings.timeout:g} s") from error
        if answer.isError():
            return int(answer.exception_code)
        values: Sequence[int] = answer.bits if block.table in ("coil", "discrete") else answer.registers
        if len(values) < block.count:
            self.link.errors += 1
            raise _NoAnswer(f"an answer with {len(values)} values in place of {block.count}")
        return values

    def _begin_anew(self) -> None:
        """Frames of RTU have no number: an answer that comes too late would be taken for that to the next request."""
        if self._settings.serial or self._settings.framer == "rtu":
            self._client.close()
            self._connect()

    def _forgive(self) -> None:
        """All are asked again once the connection was made anew."""
        for unit in self._units.values():
            unit.is_silent = False
            unit.pause.worked()


def _check(registers: Sequence[RegisterSettings]) -> None:
    """SpecError where there are none, or one lies beyond the last place of a table."""
    if not registers:
        raise SpecError("it asks for no register: give tables `[[source.register]]`")
    for one in registers:
        if one.address + width(one) > _PLACES:
            where = f"a {one.type} at {one.address} ends beyond the last address, {_PLACES - 1}"
            raise SpecError(f"register `{one.name}`: {where}")


def _told(block: Block, code: int) -> str:
    """Why a block was refused: device, registers, exception and function."""
    meaning = EXCEPTIONS.get(code, "a code of the maker's own")
    return f"{block}: exception {code}, {meaning} (function {FUNCTIONS[block.table]})"
