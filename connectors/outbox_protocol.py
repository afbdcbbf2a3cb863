"""What an outbox's server and its clients say to each other: MessagePack, each message behind its length in four bytes.

A client begins with `Hello`, which the server answers as it answers each `Request` that follows: by one `Reply`. A message
that is longer than it may be is refused before it is read.
"""

from __future__ import annotations

import struct
from typing import Annotated, Literal, TypeVar

import msgspec

from tidelog.plans.errors import ConnectorError, SpecError, TidelogError

VERSION = 1
MAX_REQUEST = 8192
"""How many bytes a client's message has at most."""
MAX_REPLY = 64_000_000
"""How many bytes a reply has at most: what one fact may come to."""
REPLY_BYTES = 4_000_000
"""How many bytes of facts one reply holds, unless a single fact has more."""
MAX_NUMBER = 1 << 62
"""The largest number that a request may hold."""
LENGTH = struct.Struct(">I")
"""The length that stands before a message."""

T = TypeVar("T")


class Hello(msgspec.Struct, forbid_unknown_fields=True):
    """The first message: the version of this protocol, and the token, where the server wants one."""

    version: int
    token: str = ""


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One call of a method of `OutboxReader`; `number` is its `after` or `upto`."""

    method: Literal["schema", "first", "last", "read", "acknowledge"]
    number: Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_NUMBER)] = 1


class Reply(msgspec.Struct):
    """What the method returned, encoded; or what was wrong, and whose fault it is."""

    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""
    kind: Literal["", "value", "spec", "connector"] = ""

    def check(self) -> None:
        """Raise the error that the server met, as it met it."""
        if self.kind == "value":
            raise ValueError(self.error)
        if self.kind == "spec":
            raise SpecError(self.error)
        if self.kind:
            raise ConnectorError(self.error)


def reply_with(value: object) -> Reply:
    return Reply(msgspec.Raw(msgspec.msgpack.encode(value)))


def reply_to(error: ValueError | TidelogError) -> Reply:
    """The reply that lets the client raise this error."""
    if isinstance(error, ValueError):
        return Reply(error=str(error), kind="value")
    return Reply(error=str(error), kind="spec" if isinstance(error, SpecError) else "connector")


def pack(message: object, most: int) -> bytes:
    """A message behind its length; ConnectorError where it is too long."""
    data = msgspec.msgpack.encode(message)
    if len(data) > most:
        raise ConnectorError(f"a message of {len(data)} bytes is too long: {most} at most")
    return LENGTH.pack(len(data)) + data


def unpack_length(head: bytes, most: int) -> int:
    """The length of the message that follows; ConnectorError where it is too long."""
    length: int = LENGTH.unpack(head)[0]
    if length > most:
        raise ConnectorError(f"a message of {length} bytes is too long: {most} at most")
    return length


def unpack(data: bytes, kind: type[T]) -> T:
    """The message in these bytes; ConnectorError where there is another one, or none."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConnectorError(f"the message cannot be read: {error}") from None
