"""What a gateway's file may say of a Modbus source, and of each value in a device's registers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tidelog.connectors.transport.bounds import Count, Port, Positive, UInt16
from tidelog.plans.diagnostics.errors import SpecError

Table = Literal["holding", "input", "coil", "discrete"]
ValueType = Literal["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
Unit = Annotated[int, Meta(ge=0, le=255)]
MOST_REGISTERS = 125
"""So many registers one answer may hold, by the protocol."""
MOST_BITS = 2000
"""So many coils, or discrete inputs, one answer may hold."""


class RegisterSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A value in a device's registers. `name` is the topic of its messages, `address` counts from 0."""

    name: str
    address: UInt16
    table: Table = "holding"
    type: ValueType = "uint16"
    words: Literal["big", "little"] = "big"
    """Which of several registers comes first: the one with the high or with the low digits."""
    unit: Unit = 1


class ModbusSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How devices are reached: a host, or a serial line; and how they are asked."""

    host: str = ""
    port: Port = 502
    framer: Literal["tcp", "rtu"] = "tcp"
    """What stands in a connection to `host`: Modbus TCP, or the frames of a serial line (RTU over TCP)."""
    serial: str = ""
    """The serial line, such as `/dev/ttyUSB0`."""
    baudrate: Count = 19_200
    bytesize: Literal[7, 8] = 8
    parity: Literal["none", "even", "odd"] = "even"
    stopbits: Literal[1, 2] = 1
    timeout: Positive = 3.0
    """For how many seconds an answer is waited for."""
    gap: Annotated[int, Meta(ge=0, le=MOST_REGISTERS)] = 8
    """Over how many registers that nobody wants a request reads, so that there is one in place of two."""
    most: Annotated[int, Meta(ge=4, le=MOST_REGISTERS)] = MOST_REGISTERS
    """How many registers one request asks for at most."""

    def check(self) -> None:
        """SpecError where it says nothing of where the devices are, or says it twice."""
        if bool(self.host) == bool(self.serial):
            raise SpecError("devices are at a `host`, or at a `serial` line such as `/dev/ttyUSB0`: say one of both")
        if self.serial and self.framer == "tcp" and self.port != 502:
            raise SpecError("`port` belongs to `host`: a serial line has none")
