"""The code that takes a fact's values out of a message, written once for each map, so that no setting is interpreted for
each message.

The text is built from the kinds of the fields alone; what a gateway's file says enters it as values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.connectors.mapping.fields import Get, Levels, Step, as_number, as_text
from tidelog.connectors.mapping.messages import Message
from tidelog.plans.diagnostics.errors import DataError

TakeValues = Callable[[Any, Any, Levels, Message], tuple[Any, ...]]
"""Gives the values of the element at hand, of the whole payload, of the topic's levels, of the message; or DataError."""

_LEFT_ALONE: dict[Step, str] = {
    as_number: "{v}.__class__ is not float and {v}.__class__ is not int",
    as_text: "{v}.__class__ is not str",
}
"""What a conversion leaves as it is need not be handed to it."""


@dataclass(frozen=True, slots=True)
class FieldSource:
    """Where one value comes from: `get` gives it, from a `member` of the element or a `level` of the topic if so told."""

    name: str
    get: Get
    convert: Step | None
    default: Any
    member: str | None = None
    level: str | None = None


def value_taker(fields: Sequence[FieldSource]) -> TakeValues:
    """What takes the values of these fields, one after the other, each with its default and its conversion."""
    lines = ["def take(element, payload, levels, message):"]
    if any(field.member is not None for field in fields):
        lines.append("    is_object = element.__class__ is dict")
    scope: dict[str, Any] = {"__builtins__": {"dict": dict, "float": float, "int": int, "str": str}}
    for i, field in enumerate(fields):
        value = f"v{i}"
        scope |= {f"get{i}": field.get, f"key{i}": field.member if field.level is None else field.level}
        scope |= {f"lacking{i}": _lacking(field), f"convert{i}": _converting(field)}
        lines.append(f"    {value} = {_found(field, i)}")
        lines.append(f"    if {value} is None: {value} = lacking{i}()")
        if field.convert is not None:
            test = _LEFT_ALONE.get(field.convert, "True").format(v=value)
            lines.append(f"    elif {test}: {value} = convert{i}({value})")
    lines.append(f"    return ({''.join(f'v{i}, ' for i in range(len(fields)))})")
    exec("\n".join(lines), scope)  # noqa: S102 - built from kinds and numbers alone
    take: TakeValues = scope["take"]
    return take


def _found(field: FieldSource, i: int) -> str:
    if field.level is not None:
        return f"levels[key{i}]"
    if field.member is not None:
        return f"element.get(key{i}) if is_object else None"
    return f"get{i}(element, payload, levels, message)"


def _lacking(field: FieldSource) -> Callable[[], Any]:
    def lacking() -> Any:
        if field.default is None:
            raise DataError(f"field `{field.name}`: there is nothing, and no default")
        return field.default

    return lacking


def _converting(field: FieldSource) -> Step | None:
    convert = field.convert
    if convert is None:
        return None

    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except DataError as error:
            raise DataError(f"field `{field.name}`: {error.reason}") from None

    return converted
