"""What a sink has told to hold, on the disk: a later run repeats it, and tells its end.

It is written before anything is posted. What is written, and was not posted, is posted by the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import msgspec

from tidelog.connectors.store.stored_file import META
from tidelog.connectors.store.stored_rows import StoredRows
from tidelog.plans.data.facts import Row
from tidelog.plans.data.forms import HOLDING_FILE

Key = tuple[str, Row, int]
"""A stretch over which a row holds: its predicate, the row, and its begin (encoded)."""


class Holding(NamedTuple):
    """All that a file has: which run wrote it, and what holds."""

    run: str
    found: dict[Key, bytes]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Key).decode


class HoldingFile(StoredRows):
    """The file of one sink."""

    what, file, form = "what holds", "holding.sqlite", HOLDING_FILE
    keys: ClassVar = {"holding": "key"}
    tables = (
        "CREATE TABLE holding (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
        META,
    )


class HoldingStore:
    """What one sink has told to hold. Raises ConnectorError where the file is damaged, or the disk is full."""

    def __init__(self, folder: str) -> None:
        self._file = HoldingFile.opened(folder)

    def load(self) -> Holding:
        """All of it."""
        with self._file.reading():
            return Holding(self._file.text("run"), {_decode(key): data for key, data in self._file.rows("holding")})

    def write(self, run: str, changes: Mapping[Key, bytes | None]) -> None:
        """Store changes of a run, all of them or none; None stands for what holds no more."""
        with self._file.transaction():
            self._file.put({"run": run})
            for key, data in changes.items():
                self._file.put_row("holding", _encode(key), data)

    def close(self) -> None:
        """Let it go."""
        self._file.close()
