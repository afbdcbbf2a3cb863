"""A message: what a device sends, before anything is made of it; and how one is recorded, as a JSON line.

    {"topic":"plant/press/temperature","payload":{"celsius":85.5},"at":1764000000.25}

`payload` is the JSON that was sent, or text where it is none; bytes that are not text are `base64`. `at` is when it came, in
seconds since 1970. So what `--tap` shows can be played again, and given to `--try`.
"""

from __future__ import annotations

import base64
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import msgspec

from tidelog.plans.diagnostics.errors import DataError

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message: its topic, what it holds, when it came (seconds since 1970), and whether its broker had retained it.

    `place` is where it stands in what was read, which facts and dead letters then have as theirs: all messages of a batch
    have one, or none has.
    """

    topic: str
    payload: bytes
    at: float
    is_retained: bool = False
    properties: Mapping[str, str] = NO_PROPERTIES
    place: str = ""


@runtime_checkable
class HearsMessages(Protocol):
    """A source to which messages come; `on_messages` is told of them before anything is made of them."""

    on_messages: Callable[[Sequence[Message]], None] | None


class _Recorded(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A message as a JSON line."""

    topic: str = ""
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    base64: str | msgspec.UnsetType = msgspec.UNSET
    at: float | None = None
    retained: bool = False
    properties: dict[str, str] = {}


_decode = msgspec.json.Decoder(_Recorded).decode


def read_recorded(line: bytes) -> tuple[Message, bool]:
    """The message that a line records, and whether it says when it came; DataError where it is none."""
    try:
        found = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"not a recorded message: {error}") from None
    given = [name for name in ("payload", "text", "base64") if getattr(found, name) is not msgspec.UNSET]
    if len(given) != 1:
        raise DataError("a recorded message has one of `payload`, `text` and `base64`")
    message = Message(found.topic, _bytes_of(found), found.at or 0.0, found.retained, found.properties)
    return message, found.at is not None


def _bytes_of(found: _Recorded) -> bytes:
    if isinstance(found.payload, msgspec.Raw):
        return bytes(found.payload)
    if isinstance(found.text, str):
        return found.text.encode()
    try:
        return base64.b64decode(str(found.base64), validate=True)
    except (Base64Error, ValueError):
        raise DataError("`base64` holds something else") from None


def write_recorded(message: Message) -> bytes:
    """A message as a JSON line, with its end."""
    found = _Recorded(message.topic, at=message.at, retained=message.is_retained, properties=dict(message.properties))
    payload: Any = message.payload
    try:
        msgspec.json.decode(payload)
        found.payload = msgspec.Raw(payload.replace(b"\n", b" ").replace(b"\r", b" "))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        try:
            found.text = payload.decode()
        except UnicodeDecodeError:
            found.base64 = base64.b64encode(payload).decode()
    return msgspec.json.encode(found) + b"\n"
