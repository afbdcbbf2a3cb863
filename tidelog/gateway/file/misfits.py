"""What a value in a gateway's file should be where it does not fit: its place, its type, and what it may be."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tidelog.plans.diagnostics.suggestions import suggest

_KINDS = re.compile(r"`((?:(?:str|int|float|object|array|bool|null)(?: \| )?)+)`")
_WORDS = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "object": "a table",
    "array": "an array",
    "bool": "a boolean",
    "null": "",
}
"""What is said for the names of types; TOML has no null."""


def place_of(schema: type, data: dict[str, Any], steps: Sequence[str]) -> tuple[str | int, ...]:
    """The place in a file of this schema that `msgspec` means.

    It does not say which member of a table it is (`...`): the first that is wrong.
    """
    place: list[str | int] = []
    here: Any = data
    for step in steps:
        if step == "..." and isinstance(here, dict):
            step = next(key for key in here if not _is_fit(schema, data, place, key))
        place.append(int(step) if isinstance(here, list) else step)
        here = _part(here, place[-1])
    return tuple(place)


def kind_at(schema: type, data: Any, place: Sequence[str | int]) -> msgspec.inspect.Type | None:
    """The type that a schema has for what stands at a place; of a tag, the union that it chooses from."""
    kind: msgspec.inspect.Type | None = msgspec.inspect.type_info(schema)
    for part in place:
        if isinstance(kind, msgspec.inspect.UnionType):
            member = chosen(kind, data)
            if member is None:
                return kind
            kind = member
        kind = _part_kind(kind, part)
        data = _part(data, part)
    return kind


def chosen(kind: msgspec.inspect.UnionType, value: Any) -> msgspec.inspect.Type | None:
    """The type of a union that a value is meant to be: by its tag, or the only one that has keys."""
    structs = [one for one in kind.types if isinstance(one, msgspec.inspect.StructType)]
    if not isinstance(value, dict):
        return None
    tagged = [one for one in structs if one.tag_field and one.tag == value.get(one.tag_field)]
    if tagged:
        return tagged[0]
    plain = [one for one in structs if not one.tag_field]
    return plain[0] if len(plain) == 1 else None


def allowed(kind: msgspec.inspect.Type | None, got: str) -> str:
    """What a value may be, for the help: the nearest, or all."""
    values: list[str] = []
    for one in kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,):
        if isinstance(one, msgspec.inspect.LiteralType):
            values += [str(value) for value in one.values]
        elif isinstance(one, msgspec.inspect.StructType) and one.tag is not None:
            values.append(str(one.tag))
    return nearest(got, values)


def nearest(got: str, values: Sequence[str]) -> str:
    """The help for a value that is none of these: the nearest of them, or all."""
    near = suggest(got, values).removeprefix("; ")
    return near or (f"known are {', '.join(values)}" if values else "")


def in_words(message: str) -> str:
    """A message with plain words for the names of types."""
    if message == "Expected `int`, got `float`":
        return "Expected a whole number, got one with a fraction"
    return _KINDS.sub(lambda found: _kinds(found[1]), message)


def _kinds(names: str) -> str:
    """What is said for the names of types, each once."""
    return " or ".join(dict.fromkeys(word for name in names.split(" | ") if (word := _WORDS[name])))


def _is_fit(schema: type, data: dict[str, Any], place: Sequence[str | int], key: str) -> bool:
    """Whether a table could be read if the member `key` of the table at `place` were its only one."""
    alone: Any = copy.deepcopy(data)
    table = functools.reduce(_part, place, alone)
    for other in table.keys() - {key}:
        del table[other]
    try:
        msgspec.convert(alone, schema)
    except msgspec.ValidationError:
        return False
    return True


def _part_kind(kind: msgspec.inspect.Type | None, part: str | int) -> msgspec.inspect.Type | None:
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return kind.item_type
    if isinstance(kind, msgspec.inspect.DictType):
        return kind.value_type
    if isinstance(kind, msgspec.inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == part), None)
    return None


def _part(value: Any, step: Any) -> Any:
    """A member of a table or an array; of anything else nothing."""
    return value[step] if isinstance(value, dict | list) else None
