"""What a sink has let a broker retain, on the disk: so a later run takes away what does not hold any more.

It is written before anything is published. What is written, and was not published, does no harm: the next run publishes it,
or takes it away.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from tidelog.connectors.store.stored_file import META
from tidelog.connectors.store.stored_rows import StoredRows
from tidelog.plans.data.facts import Row
from tidelog.plans.data.forms import RETAINED_FILE

FILE = "retained.sqlite"
"""What it is called in its folder."""

Key = tuple[str, Row, int]
"""A stretch over which a row holds: its predicate, the row, and its begin (encoded)."""


class Held(msgspec.Struct, frozen=True, array_like=True):
    """A row that holds from `lo` on (encoded); up to `hi`, or, where that is None, no end is known.

    `number` is that of the answer that said so last.
    """

    predicate: str
    row: Row
    lo: int
    hi: int | None
    number: int

    @property
    def key(self) -> Key:
        """What tells it from others."""
        return self.predicate, self.row, self.lo


class StoredPlace(msgspec.Struct, frozen=True, array_like=True):
    """The topics at which the broker retains something for a place, and what was shown there last."""

    topics: tuple[str, ...]
    last: Held | None


@dataclass
class Stored:
    """All that a file holds: which run wrote it, its places, and what holds, with its place."""

    run: str
    places: dict[str, StoredPlace]
    holding: list[tuple[str, Held]]


@dataclass
class Changes:
    """What is to be written at once; None stands for what is no more."""

    places: dict[str, StoredPlace | None] = field(default_factory=dict)
    rows: dict[Key, bytes | None] = field(default_factory=dict)
    """What holds, by its key, as `encode_row` has it."""


_encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(StoredPlace).decode
_decode_row = msgspec.msgpack.Decoder(tuple[str, Held]).decode


def encode_row(place: str, held: Held) -> bytes:
    """What holds, with its place, as it is stored; raises what an encoder raises for what no file can have."""
    return _encode((place, held))


def decode_row(data: bytes) -> tuple[str, Held]:
    """What was encoded so."""
    return _decode_row(data)


class RetainedFile(StoredRows):
    """The file of one sink."""

    what, file, form = "retained messages", FILE, RETAINED_FILE
    keys: ClassVar = {"places": "place", "rows": "key"}
    tables = (
        META,
        "CREATE TABLE places (place TEXT PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE rows (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    )


class RetainedStore:
    """What one sink has let be retained. Raises ConnectorError where the file is damaged, or the disk is full."""

    def __init__(self, folder: str) -> None:
        self._file = RetainedFile.opened(folder)

    def load(self) -> Stored:
        """All of it."""
        with self._file.reading():
            places = {place: _decode_place(data) for place, data in self._file.rows("places")}
            holding = [_decode_row(data) for _, data in self._file.rows("rows")]
            return Stored(self._file.text("run"), places, holding)

    def write(self, run: str, changes: Changes) -> None:
        """Store changes of a run, all of them or none."""
        with self._file.transaction():
            self._file.put({"run": run})
            for name, place in changes.places.items():
                self._file.put_row("places", name, None if place is None else _encode(place))
            for key, row in changes.rows.items():
                self._file.put_row("rows", _encode(key), row)

    def close(self) -> None:
        """Let it go."""
        self._file.close()
