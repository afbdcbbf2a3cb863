"""Which requests read the registers that are wanted: one for each block of neighbours, as long as the protocol lets it be.

A device may refuse a block, since a register of it is not there, or one that nobody wants lies in between. Then the block
falls apart (`halves`): at its gaps first, and then in the middle, until what is refused is a value by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tidelog.connectors.field.modbus.settings import MOST_BITS, MOST_REGISTERS, RegisterSettings, Table

SIZES: Final = {
    "int16": 1,
    "uint16": 1,
    "int32": 2,
    "uint32": 2,
    "float32": 2,
    "int64": 4,
    "uint64": 4,
    "float64": 4,
}
"""How many registers hold a value of each type."""
_DIGITS: Final[dict[Table, int]] = {"coil": 0, "discrete": 1, "input": 3, "holding": 4}
_NAMES: Final[dict[Table, tuple[str, str]]] = {
    "coil": ("coil", "coils"),
    "discrete": ("discrete input", "discrete inputs"),
    "input": ("input register", "input registers"),
    "holding": ("holding register", "holding registers"),
}
FUNCTIONS: Final[dict[Table, int]] = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
"""The function code that reads each table."""


def is_bits(table: Table) -> bool:
    """Whether a table holds bits, and not registers."""
    return table in ("coil", "discrete")


def width(register: RegisterSettings) -> int:
    """Over how many places of its table a value lies."""
    return 1 if is_bits(register.table) else SIZES[register.type]


@dataclass(frozen=True, slots=True)
class Block:
    """One request: `count` places of a unit's table from `address` on, and the values that lie in them, by address."""

    unit: int
    table: Table
    address: int
    count: int
    registers: tuple[RegisterSettings, ...]

    def __str__(self) -> str:
        """As plants write it: `device 3, holding registers 40001-40010` (with an en dash), counted from 1."""
        one, several = _NAMES[self.table]
        first, last = self.address, self.address + self.count - 1
        if self.count == 1:
            return f"device {self.unit}, {one} {_number(self.table, first, first)}"
        return f"device {self.unit}, {several} {_number(self.table, first, last)}–{_number(self.table, last, last)}"


def _number(table: Table, address: int, highest: int) -> str:
    """The number of a place as it is written: the table's digit, and the place counted from 1; six digits beyond 9999."""
    return f"{_DIGITS[table]}{address + 1:0{4 if highest < 9999 else 5}d}"


def blocks(registers: Sequence[RegisterSettings], *, gap: int, most: int = MOST_REGISTERS) -> list[Block]:
    """The fewest requests, by unit and table, none of which reads over more than `gap` places that nobody wants.

    >>> wanted = [RegisterSettings(name=f"r{at}", address=at) for at in range(500)]
    >>> [(block.address, block.count) for block in blocks(wanted, gap=8)]
    [(0, 125), (125, 125), (250, 125), (375, 125)]
    """
    found = []
    ordered = sorted(registers, key=lambda one: (one.unit, one.table, one.address, one.name))
    for (_, table), group in groupby(ordered, key=lambda one: (one.unit, one.table)):
        longest = MOST_BITS if is_bits(table) else most
        found += [_block(run) for run in _runs([*group], gap, longest)]
    return found


def _runs(registers: Sequence[RegisterSettings], gap: int, longest: int) -> Iterator[list[RegisterSettings]]:
    """Values of one table, in their order, divided where a gap is too wide, or a request would be too long."""
    run: list[RegisterSettings] = []
    end = 0
    for one in registers:
        last = one.address + width(one)
        if run and (one.address - end > gap or max(end, last) - run[0].address > longest):
            yield run
            run = []
        end = max(end, last) if run else last
        run.append(one)
    if run:
        yield run


def halves(block: Block) -> list[Block]:
    """What a block that was refused falls into: the parts between its gaps, or else two halves; nothing where it is one
    value alone, which cannot be read by itself."""
    parts = [*_runs(block.registers, 0, block.count)]
    if len(parts) == 1:
        middle = len(block.registers) // 2
        parts = [[*block.registers[:middle]], [*block.registers[middle:]]] if middle else []
        if len({(one.address, width(one)) for one in block.registers}) == 1:
            parts = []
    return [_block(part) for part in parts]


def _block(registers: Sequence[RegisterSettings]) -> Block:
    first = registers[0]
    end = max(one.address + width(one) for one in registers)
    return Block(first.unit, first.table, first.address, end - first.address, tuple(registers))
