"""Events: what a session is told by sources and clocks, one after the other, as data that can be stored and told again.

A session that is told the same events in the same order comes to the same state. So a journal of events brings a session
back, from its beginning or from a snapshot.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tidelog.plans.data.forms import JOURNAL, brought_up
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SnapshotError, SpecError
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.durability import Input, StateStore
from tidelog.runtime.ports.events import TakesEvents
from tidelog.runtime.ports.interfaces import Batch, Rejected, Tick

_LEVEL = 1
"""How hard a block is compressed: a block is written each second, and read once, if ever."""
MOST_BYTES = 1 << 30
"""How many bytes a block may have once it is unpacked."""


class Taken(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """A source has said something. `moment` is when, by any clock."""

    source: str
    moment: float
    records: Sequence[tuple[str, tuple[Value, ...], int, int]]
    watermark: int | None = None
    parts: Sequence[Value | None] | None = None


class Opened(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """A further source has come."""

    source: str


class Ended(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """A source has ended."""

    source: str


class Left(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """A source will say nothing more in this run, though the stream has not ended."""

    source: str


class Ignored(msgspec.Struct, array_like=True, frozen=True, tag=4):
    """A source, or those of its parts that said nothing after the moment `before`, is idle."""

    source: str
    before: float


class Passed(msgspec.Struct, array_like=True, frozen=True, tag=5):
    """The clock has gone on."""

    watermark: int
    present: int
    ceiling: int = POS
    holds: bool = False
    unheard: int = 0


class Marked(msgspec.Struct, array_like=True, frozen=True, tag=6):
    """Nothing has happened. From here on the journal can be read without what was before.

    `intake` is the intake's state, `reach` when the last fact ends that was accepted so far, but for those without an end:
    they are of the predicates `endless`.
    """

    intake: dict[str, Any]
    reach: int
    endless: list[str]


class Retracted(msgspec.Struct, array_like=True, frozen=True, tag=7):
    """A source has taken facts back: over these intervals nothing counts that it, or another one, had said before.

    The session that a run goes on with has never been told them, so it is not told of this.
    """

    source: str
    records: Sequence[tuple[str, tuple[Value, ...], int, int]]


Event = Taken | Opened | Ended | Left | Ignored | Passed | Marked | Retracted

_VERSION = bytes([JOURNAL.version])
"""What a block begins with."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Event]).decode


def tell(session: TakesEvents, event: Event) -> list[Rejected]:
    """Tell a session an event from the journal; returns what it refused."""
    if isinstance(event, Taken):
        batch = Batch(list(event.records), watermark=event.watermark, parts=event.parts)
        return session.take(event.source, batch, event.moment)
    if isinstance(event, Passed):
        session.pass_time(Tick(event.watermark, event.present, event.ceiling, event.holds, event.unheard))
    elif isinstance(event, Opened):
        session.open(event.source)
    elif isinstance(event, Marked):
        return []
    elif isinstance(event, Ended):
        return session.end(event.source)
    elif isinstance(event, Left):
        return session.leave(event.source)
    elif isinstance(event, Ignored):
        return session.ignore(event.source, event.before)
    return []


def pack_events(events: Sequence[Event]) -> bytes:
    """Events as bytes."""
    return _VERSION + zlib.compress(_encode(events), _LEVEL)


def unpack_events(data: bytes) -> list[Event]:
    """What was packed, also by an older version; SnapshotError where it is anything else."""
    try:
        packed = zlib.decompressobj().decompress(data[1:], MOST_BYTES)
        if data[:1] == _VERSION:
            return _decode(packed)
        return msgspec.convert(brought_up(JOURNAL, msgspec.msgpack.decode(packed), data[0], "the journal"), list[Event])
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, IndexError, SpecError) as error:
        raise SnapshotError(f"the journal is damaged: {error}") from error


def numbered(block: Input, number: int = 0) -> list[tuple[int, Event]]:
    """The events of a block behind the one with this number, each with its own; SnapshotError where it is damaged."""
    return [item for item in enumerate(unpack_events(block.data), block.first) if item[0] > number]


def events_behind(store: StateStore, number: int = 0) -> Iterator[list[tuple[int, Event]]]:
    """The same of all blocks of a journal, one after the other."""
    return (numbered(block, number) for block in store.journal(number + 1 if number else 0))


def count_facts(events: Sequence[Event]) -> int:
    """How many facts these events bring."""
    return sum(len(event.records) for event in events if isinstance(event, Taken))
