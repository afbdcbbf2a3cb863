"""What the registers of a block hold: numbers of 16 to 64 bits, in the order of words that each value says."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from tidelog.connectors.field.modbus.blocks import SIZES, Block, is_bits
from tidelog.connectors.field.modbus.settings import RegisterSettings

_CODES = {
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "uint64": ">Q",
    "float32": ">f",
    "float64": ">d",
}
Reading = tuple[str, dict[str, object] | str]
"""A name, and what its message holds; or why it cannot be read."""
Decode = Callable[[Sequence[int]], list[Reading]]


def decoder(block: Block) -> Decode:
    """What makes readings of a block's registers, or of its bits: in the order of the block's values."""
    places = [(one, one.address - block.address) for one in block.registers]
    if is_bits(block.table):
        return lambda bits: [(one.name, {"value": bool(bits[at])}) for one, at in places]
    pack, takers = struct.Struct(f">{block.count}H").pack, [_taker(one, at) for one, at in places]
    if all(one.type == "uint16" for one in block.registers):
        named = [(one.name, at) for one, at in places]
        return lambda registers: [(name, {"value": registers[at]}) for name, at in named]

    def decode(registers: Sequence[int]) -> list[Reading]:
        data = pack(*registers[: block.count])
        return [take(data, registers) for take in takers]

    return decode


def _taker(one: RegisterSettings, at: int) -> Callable[[bytes, Sequence[int]], Reading]:
    unpack, name, words = struct.Struct(_CODES[one.type]).unpack_from, one.name, SIZES[one.type]
    is_float, is_turned = one.type.startswith("float"), one.words == "little" and words > 1

    def take(data: bytes, registers: Sequence[int]) -> Reading:
        if is_turned:
            value = unpack(struct.pack(f">{words}H", *registers[at : at + words][::-1]))[0]
        else:
            value = unpack(data, 2 * at)[0]
        if is_float and not math.isfinite(value):
            return name, f"it holds {value}, which is no number"
        return name, {"value": value}

    return take
