"""One argument of a fact: where in a message it comes from, and what is done with it on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tidelog.connectors.formats.values import read_argument
from tidelog.connectors.mapping.arithmetic import read_conversion
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.paths import members_of, only_member, read_path
from tidelog.connectors.mapping.settings import FieldSettings, Scalar
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import FieldType

Levels = Mapping[str, str]
Get = Callable[[Any, Any, Levels, Message], Any]
"""Gives a value of the element at hand, of the whole payload, of the topic's levels, of the message; None is nothing."""
Step = Callable[[Any], Any]

ROOT = "$."
"""What a path begins with that starts at the whole payload, where `each` takes it apart."""
_SOURCES = ("path", "topic", "property", "meta", "value")


def field_of(settings: str | FieldSettings) -> FieldSettings:
    """The settings of a field; a text alone is a path."""
    return FieldSettings(path=settings) if isinstance(settings, str) else settings


def getter(settings: FieldSettings, name: str, levels: Mapping[str, int], read: frozenset[str]) -> Get:
    """What gives the value of a field as the device sent it. SpecError where it does not say, or says twice, which one.

    `read` are the members of the payload that something else reads.
    """
    given = [kind for kind in _SOURCES if getattr(settings, kind) is not None] + ["rest"] * settings.rest
    if len(given) != 1:
        told = "nothing" if not given else " and ".join(f"`{kind}`" for kind in given)
        raise SpecError(f"field `{name}` comes from one of `path topic property meta value rest`, got {told}")
    if settings.path is not None:
        return path_getter(settings.path)
    if settings.topic is not None:
        return _level_getter(settings.topic, name, levels)
    if settings.property is not None:
        key = settings.property
        return lambda element, payload, levels, message: message.properties.get(key)
    if settings.meta == "topic":
        return lambda element, payload, levels, message: message.topic
    if settings.meta == "retained":
        return lambda element, payload, levels, message: message.is_retained
    if settings.rest:
        return lambda element, payload, levels, message: _rest(element, read)
    value = settings.value
    return lambda element, payload, levels, message: value


def path_getter(text: str) -> Get:
    """What follows a path, from the element at hand or from the whole payload."""
    find = path_finder(text)
    if text.startswith(ROOT):
        return lambda element, payload, levels, message: find(payload)
    return lambda element, payload, levels, message: find(element)


def path_finder(text: str) -> Step:
    """What follows a path from where it begins."""
    return read_path(text.removeprefix(ROOT))


def member_of(settings: FieldSettings) -> str | None:
    """The member of the element at hand that is all that a field comes from; None where it comes from elsewhere."""
    return None if settings.path is None or settings.path.startswith(ROOT) else only_member(settings.path)


def read_members(text: str) -> set[str]:
    """The members of the element at hand that a path reads."""
    return set() if text.startswith(ROOT) else members_of(text)


def _level_getter(level: str, name: str, levels: Mapping[str, int]) -> Get:
    if level not in levels:
        raise SpecError(f"field `{name}`: the topic names no level `{level}`{suggest(level, levels)}")
    return lambda element, payload, levels, message: levels[level]


def _rest(element: Any, read: frozenset[str]) -> str:
    if element.__class__ is not dict:
        return "{}"
    return msgspec.json.encode({key: value for key, value in element.items() if key not in read}, order="sorted").decode()


def converter(settings: FieldSettings, name: str, declared: FieldType) -> Step | None:
    """A function that turns a device's value into the fact's argument; None where the schema's own conversion is enough.
    SpecError for arithmetic that cannot be read."""
    steps: list[Step] = []
    if settings.values is not None:
        steps.append(_translated(settings.values))
    kind = settings.type or ("number" if declared in ("number", "integer") else None)
    if kind == "number" or settings.convert:  # arithmetic needs a number, whatever becomes of its result
        steps.append(as_number)
    if settings.convert:
        steps.append(read_conversion(settings.convert))
    if kind == "text":
        steps.append(as_text)
    if kind == "json":
        steps.append(_as_json)
    return _chained(steps)


def _chained(steps: list[Step]) -> Step | None:
    if len(steps) < 2:
        return steps[0] if steps else None

    def apply(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return apply


def _translated(values: Mapping[str, Scalar]) -> Step:
    def translate(value: Any) -> Any:
        key = value if isinstance(value, str) else _as_json(value)
        if key not in values:
            raise DataError(f"{shorten(key)} is none of the known values{suggest(key, values)}")
        return values[key]

    return translate


def as_number(value: Any) -> Any:
    """A number, also where it is written as text; DataError for anything else."""
    if value.__class__ is float or value.__class__ is int:
        return value
    number = read_argument(value.strip()) if isinstance(value, str) else None
    if number is None:
        raise DataError(f"expected a number, got {shorten(_as_json(value))}")
    return number


def as_text(value: Any) -> str:
    """Text, or the JSON of what is none."""
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
