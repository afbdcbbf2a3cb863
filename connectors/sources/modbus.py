"""Registers of a device, by Modbus TCP. Nothing else loads pymodbus.

Its client that blocks is used, in a thread: the other one needs asyncio's event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from tidelog.connectors.sources.polled import Reading, RegisterSettings

_READS = {
    "holding": "read_holding_registers",
    "input": "read_input_registers",
    "coil": "read_coils",
    "discrete": "read_discrete_inputs",
}


class ModbusDevice:
    """A device, and the registers that it is asked for."""

    def __init__(self, host: str, port: int, registers: Sequence[RegisterSettings], *, timeout: float = 3.0) -> None:
        self.place = f"{host}:{port}"
        self._registers = registers
        self._client: Any = ModbusTcpClient(host, port=port, timeout=timeout, retries=0)  # only a part of it has types

    def open(self) -> None:
        """Connect; OSError where that fails."""
        if not self._client.connect():
            raise ConnectionError(f"no Modbus device answers at {self.place}")

    def read(self) -> Sequence[Reading]:
        """The values of all registers; OSError where the connection is lost."""
        return [(register.name, self._value(register)) for register in self._registers]

    def _value(self, register: RegisterSettings) -> dict[str, Any] | str:
        kind = self._client.DATATYPE[register.type.upper()]
        is_bit = register.table in ("coil", "discrete")
        read = getattr(self._client, _READS[register.table])
        try:
            found = read(register.address, count=1 if is_bit else kind.value[1], device_id=register.unit)
        except ModbusException as error:
            raise ConnectionError(f"{self.place}: {error}") from error
        if found.isError():
            return f"register {register.address} of table {register.table} cannot be read: {found}"
        if is_bit:
            return {"value": bool(found.bits[0])}
        return {"value": self._client.convert_from_registers(found.registers, kind, register.words)}

    def close(self) -> None:
        """Leave the device."""
        self._client.close()
