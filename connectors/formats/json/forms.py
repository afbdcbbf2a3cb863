"""The forms of JSON lines as msgspec decodes them, and what proves that no key stands twice in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.diagnostics.errors import DataError

Arguments = tuple[str | int | float | bool, ...]


class Atom(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": "temp", "args": ["s1", 21.5]}`: a plain line's first half."""

    predicate: str
    args: Arguments


class Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A plain line."""

    predicate: str
    args: Arguments
    time: int | float | str | None = None
    interval: str | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """The lines `{"temp": {"sensor": "s1", "value": 21.5}, "time": 17}` of one declared input, and their first halves."""

    predicate: str
    head: msgspec.json.Decoder[Any]
    line: msgspec.json.Decoder[Any]
    values: Callable[[Any], Arguments]
    members: int


def first_key(line: bytes) -> bytes:
    """The key that stands first in a line, where nothing stands before it."""
    return line[2 : line.find(b'"', 2)]


def prove_unique(document: bytes, members: int, values: Iterable[object]) -> None:
    """Raise DataError unless the colons that stand outside `values` prove that objects have so many members at the most."""
    colons = document.count(b":")
    if colons == members:
        return
    inside = sum([value.count(":") for value in values if isinstance(value, str)])
    if colons - inside != members or b"\\" in document:
        raise DataError("a key may stand twice")


def keyed_forms(schema: Schema) -> dict[bytes, Keyed]:
    """A decoder for each input with named fields, by its key; the keys of a plain fact stay its keys.

    A name that JSON writes with escapes never is the key as it stands in a line: such lines are read without a form.
    """
    return {
        predicate.name.encode(): _keyed_form(predicate)
        for predicate in schema.predicates.values()
        if predicate.fields
        and predicate.name not in ("predicate", "args", "time", "interval")
        and msgspec.json.encode(predicate.name) == f'"{predicate.name}"'.encode()
    }


def _keyed_form(predicate: PredicateSchema) -> Keyed:
    slots = [f"field{i}" for i in range(len(predicate.fields))]
    fields = msgspec.defstruct(
        "Fields",
        [(slot, str | int | float | bool) for slot in slots],
        rename=dict(zip(slots, predicate.fields, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )
    renamed = {"fact": predicate.name}
    head = msgspec.defstruct("Fact", [("fact", fields)], rename=renamed, forbid_unknown_fields=True)
    line = msgspec.defstruct(
        "Line",
        [("fact", fields), ("time", int | float | str | None, None), ("interval", str | None, None)],
        rename=renamed,
        forbid_unknown_fields=True,
        gc=False,
    )
    values = attrgetter(*slots) if len(slots) > 1 else msgspec.structs.astuple
    return Keyed(predicate.name, msgspec.json.Decoder(head), msgspec.json.Decoder(line), values, len(slots) + 1)
