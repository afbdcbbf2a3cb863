"""What a gateway's file says of messages: which become facts, and how, and what answers become."""

from __future__ import annotations

from typing import Literal

import msgspec

Scalar = str | int | float | bool


class FieldSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where an argument's value comes from (one of `path topic property meta value rest`), and what is done with it."""

    path: str | None = None
    """A JMESPath within the payload; `@` is the payload itself."""
    topic: str | None = None
    """The name of a level of the topic, as in `plant/{machine}/temperature`."""
    property: str | None = None
    """The name of a user property (MQTT 5)."""
    meta: Literal["topic", "retained"] | None = None
    value: Scalar | None = None
    rest: bool = False
    """The members of the payload that nothing else reads, as JSON text."""
    default: Scalar | None = None
    """What is taken where there is nothing, or null."""
    values: dict[str, Scalar] | None = None
    """What each value that a device sends stands for, such as `{ ON = "open", OFF = "closed" }`."""
    convert: str = ""
    """Arithmetic over X, such as `(X - 32) * 5 / 9`."""
    type: Literal["text", "number", "json"] | None = None


class TimeSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The time of a fact within its message, and how it is written there."""

    path: str | None = None
    property: str | None = None
    format: Literal["iso", "s", "ms", "us", "ns"] = "iso"


class MapSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What messages of a topic become: facts of one predicate."""

    predicate: str
    topic: str = "#"
    each: str = ""
    when: str = ""
    fields: dict[str, str | FieldSettings] = {}
    time: Literal["arrival"] | TimeSettings = "arrival"
    extra: Literal["ignore", "refuse"] = "ignore"
