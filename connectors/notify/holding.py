"""What a sink has told to hold, on the disk: a later run repeats it, and tells its end.

It is written before anything is posted. What is written, and was not posted, is posted by the next run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tidelog.connectors.store.state_store import PRIVATE
from tidelog.connectors.store.stored_file import META, StoredFile
from tidelog.connectors.store.stored_snapshots import row_checksum
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


class HoldingFile(StoredFile):
    """The file of one sink."""

    what, file, form = "what holds", "holding.sqlite", HOLDING_FILE
    tables = (
        "CREATE TABLE holding (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
        META,
    )


class HoldingStore:
    """What one sink has told to hold. Raises ConnectorError where the file is damaged, or the disk is full."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, PRIVATE, exist_ok=True)
        self._file = HoldingFile(folder, create=True)
        try:
            if self._file.is_new:
                self._file.create({"run": ""})
        except BaseException:
            self._file.close()
            raise

    def load(self) -> Holding:
        """All of it."""
        found: dict[Key, bytes] = {}
        with self._file.reading():
            run = self._file.text("run")
            for key, data, checksum in self._file.execute("SELECT key, data, checksum FROM holding"):
                if not isinstance(key, bytes) or not isinstance(data, bytes) or row_checksum(key, data) != checksum:
                    raise self._file.damaged("a row is not what was written")
                found[_decode(key)] = data
        return Holding(run, found)

    def write(self, run: str, changes: Mapping[Key, bytes | None]) -> None:
        """Store changes of a run, all of them or none; None stands for what holds no more."""
        with self._file.transaction():
            self._file.put({"run": run})
            for key, data in changes.items():
                name = _encode(key)
                if data is None:
                    self._file.execute("DELETE FROM holding WHERE key = ?", (name,))
                else:
                    values = (name, data, row_checksum(name, data))
                    self._file.execute("INSERT OR REPLACE INTO holding VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Let it go."""
        self._file.close()
