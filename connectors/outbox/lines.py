"""Facts of an outbox as JSON lines, one a fact: what a server sends, and what a client makes of it again, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidelog.connectors.outbox.file import OutboxRow
from tidelog.plans.diagnostics.errors import ConnectorError

MEDIA_TYPE = "application/x-ndjson"
FIRST, LAST, IDENTITY = "outbox-first", "outbox-last", "outbox-identity"
"""The headers of a reply: the numbers of the first and the last fact that the outbox holds, and which outbox it is."""
READ_ROWS = 10_000
"""How many facts one reply holds at most."""
REPLY_BYTES = 4_000_000
"""How many bytes of facts one reply holds, unless a single fact has more."""
MAX_REPLY = 64_000_000
"""How many bytes a client reads of a reply: what one fact may come to."""
MAX_NUMBER = 1 << 62
"""The largest number of a fact that may be asked for."""


class _Line(msgspec.Struct):
    """A line: the columns of a row, its arguments as the JSON array that they are."""

    seq: int
    predicate: str
    arguments: msgspec.Raw
    start: str | None
    end: str | None
    start_open: bool
    end_open: bool
    horizon: str | None
    emitted_at: int


class Acknowledgement(msgspec.Struct, forbid_unknown_fields=True):
    """What a client says: all facts up to this number have been taken."""

    upto: int


class Problem(msgspec.Struct):
    """What a server says where it does not do what it was asked for."""

    error: str


_encode_lines = msgspec.json.Encoder().encode_lines
_decode_lines = msgspec.json.Decoder(_Line).decode_lines


def encode_rows(rows: Sequence[OutboxRow]) -> bytes:
    """Facts as lines.

    >>> encode_rows([OutboxRow(1, "hot", '["s1"]', "3", "4", False, True, None, 0)]).decode()[:44]
    '{"seq":1,"predicate":"hot","arguments":["s1"'
    """
    return _encode_lines(_Line(row[0], row[1], msgspec.Raw(row[2].encode()), *row[3:]) for row in rows)


def decode_rows(data: bytes, after: int) -> list[OutboxRow]:
    """The facts of lines that begin behind number `after`; ConnectorError where they are none, or one is missing."""
    try:
        rows = [
            OutboxRow(line.seq, line.predicate, bytes(line.arguments).decode(), *msgspec.structs.astuple(line)[3:])
            for line in _decode_lines(data)
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConnectorError(f"the reply cannot be read: {error}") from None
    for expected, row in enumerate(rows, after + 1):
        if row.seq != expected:
            raise ConnectorError(f"the reply has fact {row.seq} where number {expected} was expected")
    return rows
