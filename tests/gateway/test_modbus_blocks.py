"""Which requests read registers, what their answers hold, and how places are named: without any device."""

from __future__ import annotations

import struct
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors.field.modbus.blocks import SIZES, Block, blocks, halves, is_bits, width
from tidelog.connectors.field.modbus.decoding import decoder
from tidelog.connectors.field.modbus.settings import MOST_BITS, MOST_REGISTERS, RegisterSettings

TABLES = ("holding", "input", "coil", "discrete")
drawn = st.builds(
    RegisterSettings,
    name=st.text("abc", min_size=1, max_size=3),
    address=st.integers(0, 700),
    table=st.sampled_from(TABLES),
    type=st.sampled_from(sorted(SIZES)),
    words=st.sampled_from(("big", "little")),
    unit=st.integers(1, 2),
)


def places(registers: tuple[RegisterSettings, ...] | list[RegisterSettings]) -> set[tuple[int, str, int]]:
    """Every place in which a value lies."""
    return {(one.unit, one.table, one.address + at) for one in registers for at in range(width(one))}


@given(st.lists(drawn, max_size=60), st.integers(0, 20), st.integers(4, MOST_REGISTERS))
def test_blocks_cover_what_is_wanted(registers: list[RegisterSettings], gap: int, most: int) -> None:
    """Each value lies in exactly one block, which is as long as the protocol lets it be at most, and reads over no gap that
    is too wide; two blocks could not have been one."""
    found = blocks(registers, gap=gap, most=most)
    assert sorted(map(repr, (one for block in found for one in block.registers))) == sorted(map(repr, registers))
    for block in found:
        assert block.count <= (MOST_BITS if is_bits(block.table) else most)
        wanted = {at for _, _, at in places(block.registers)}
        assert {block.address, block.address + block.count - 1} <= wanted
        assert wanted <= set(range(block.address, block.address + block.count))
        is_wanted = [at in wanted for at in range(block.address, block.address + block.count)]
        assert all(wants or len([*run]) <= gap for wants, run in groupby(is_wanted))
    for one, other in pairwise(found):
        if (one.unit, one.table) == (other.unit, other.table):
            longest = MOST_BITS if is_bits(one.table) else most
            first = other.registers[0]
            is_apart = first.address - (one.address + one.count) > gap
            is_too_long = max(one.address + one.count, first.address + width(first)) - one.address > longest
            assert is_apart or is_too_long


@given(st.lists(drawn, min_size=1, max_size=30), st.integers(0, 20))
def test_halves_end_with_single_values(registers: list[RegisterSettings], gap: int) -> None:
    """A block that is refused, and each part of it, falls apart until all are values at one place: none is lost."""
    left, single = blocks(registers, gap=gap), []
    while left:
        block = left.pop()
        parts = halves(block)
        if parts:
            assert all(len(part.registers) < len(block.registers) for part in parts)
            left += parts
        else:
            single.append(block)
            assert len({(one.address, width(one)) for one in block.registers}) == 1
    assert sum(len(block.registers) for block in single) == len(registers)


def test_500_registers_are_4_requests() -> None:
    """125 registers are what one answer can hold."""
    found = blocks([RegisterSettings(name=f"r{at}", address=at) for at in range(500)], gap=8)
    assert [(block.address, block.count) for block in found] == [(0, 125), (125, 125), (250, 125), (375, 125)]


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (Block(3, "holding", 0, 10, ()), "device 3, holding registers 40001–40010"),
        (Block(1, "holding", 9, 1, ()), "device 1, holding register 40010"),
        (Block(1, "holding", 9_990, 20, ()), "device 1, holding registers 409991–410010"),
        (Block(7, "input", 99, 2, ()), "device 7, input registers 30100–30101"),
        (Block(1, "coil", 0, 2, ()), "device 1, coils 00001–00002"),
        (Block(1, "discrete", 15, 1, ()), "device 1, discrete input 10016"),
    ],
)
def test_places_are_named_as_plants_write_them(block: Block, name: str) -> None:
    """The table's digit, and the place counted from 1; six digits where five do not do."""
    assert str(block) == name


CODES = {
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


@given(st.data())
def test_values_come_out_as_they_went_in(data: st.DataObject) -> None:
    """Of each type, in each order of words, wherever they lie in a block."""
    kind = data.draw(st.sampled_from(sorted(SIZES)))
    words = data.draw(st.sampled_from(("big", "little")))
    if kind.startswith("float"):
        value = data.draw(st.floats(width=int(kind[5:]), allow_nan=False, allow_infinity=False))
    else:
        bits = int(kind.removeprefix("u").removeprefix("int"))
        value = data.draw(
            st.integers(0, 2**bits - 1) if kind[0] == "u" else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
    at = data.draw(st.integers(0, 5))
    packed = struct.pack(f">{CODES[kind]}", value)
    registers = [int.from_bytes(packed[i : i + 2]) for i in range(0, len(packed), 2)]
    one = RegisterSettings(name="x", address=at, type=kind, words=words)
    other = RegisterSettings(name="y", address=0)
    block = Block(1, "holding", 0, at + len(registers), (other, one))
    held = [7] * at + (registers if words == "big" else registers[::-1])
    assert decoder(block)(held)[1] == ("x", {"value": value})


def test_what_is_no_number_is_told() -> None:
    """A float that is none would become null on its way: it is refused with what it is."""
    one = RegisterSettings(name="x", address=0, type="float32")
    assert decoder(Block(1, "holding", 0, 2, (one,)))([0x7FC0, 0]) == [("x", "it holds nan, which is no number")]
