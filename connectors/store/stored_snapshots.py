"""Snapshots in a state's file: the last one, and some older ones, from which the journal can be told again.

A snapshot is a list of parts. A part that has not changed since the snapshot before is in both lists, and stored once, under
the number of the event of which it was new. It goes with the last list that has it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tidelog.connectors.store.stored_file import StoredFile, encode

PIECE = 4_000_000
"""Into pieces of how many bytes a part of the state is cut."""
TABLES = (
    "CREATE TABLE parts (name TEXT NOT NULL, event INTEGER NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL, "
    "checksum INTEGER NOT NULL, PRIMARY KEY (name, event, piece))",
    "CREATE TABLE snapshots (event INTEGER PRIMARY KEY, listed BLOB NOT NULL, checksum INTEGER NOT NULL)",
)
"""The parts by the event of which they were new; the lists of the older snapshots by their events."""


class _Part(NamedTuple):
    """A part in a list: the event of which it was new, how many pieces it has, and the checksum of all of it."""

    event: int
    pieces: int
    checksum: int


_Listed = dict[str, _Part]


class StoredSnapshots:
    """Reads and writes the snapshots of a file, within its transactions. ConnectorError for what is not as written."""

    def __init__(self, file: StoredFile) -> None:
        self._file = file

    def store(self, parts: Mapping[str, bytes | None], event: int, keep: Iterable[int]) -> bytes:
        """Put a snapshot as of an event in the place of the last one: the parts that have changed, None for what is no more.

        Of the older snapshots, and this one, those of the events `keep` stay beside it. Returns the list of all its parts.
        """
        before = self._listed(None)
        listed = {name: part for name, part in before.items() if name not in parts}
        for name, data in parts.items():
            if data is not None:
                listed[name] = self._store_part(name, data, event)
        held, kept = self.events(), set(keep)
        gone = [before, *(self._listed(old) for old in held if old not in kept)]
        for old in held:
            if old not in kept:
                self._file.execute("DELETE FROM snapshots WHERE event = ?", (old,))
        told = encode(listed)
        if event in kept:
            self._file.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (event, told, row_checksum(event, told)))
        self._delete_unlisted(gone, [listed, *(self._listed(old) for old in held if old in kept)])
        return told

    def drop_before(self, event: int) -> None:
        """Drop the older snapshots as of events before this one."""
        gone = [old for old in self.events() if old < event]
        if not gone:
            return
        lists = [self._listed(old) for old in gone]
        self._file.execute("DELETE FROM snapshots WHERE event < ?", (event,))
        self._delete_unlisted(lists, [self._listed(None), *(self._listed(old) for old in self.events())])

    def _store_part(self, name: str, data: bytes, event: int) -> _Part:
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        for i, piece in enumerate(pieces):
            row = (name, event, i, piece)
            self._file.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)", (*row, row_checksum(*row)))
        return _Part(event, len(pieces), zlib.crc32(data))

    def _delete_unlisted(self, gone: Iterable[_Listed], lists: Iterable[_Listed]) -> None:
        """Delete the parts of these lists that none of the others has."""
        needed = {(name, part.event) for listed in lists for name, part in listed.items()}
        for name, event in {(name, part.event) for listed in gone for name, part in listed.items()} - needed:
            self._file.execute("DELETE FROM parts WHERE name = ? AND event = ?", (name, event))

    # --- reading --------------------------------------------------------------------------------------------------------

    def events(self) -> list[int]:
        """Of which events there are older snapshots, in order; that of the last one may be among them."""
        return [event for (event,) in self._file.execute("SELECT event FROM snapshots ORDER BY event").fetchall()]

    def parts(self, event: int | None = None, names: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """The parts of the last snapshot, or of that as of an event; all of them, or those with these names.

        ConnectorError where one is missing, or is not what was written.
        """
        listed = self._listed(event)
        for name in listed if names is None else [name for name in names if name in listed]:
            part = listed[name]
            data = b"".join(self._pieces(name, part))
            if zlib.crc32(data) != part.checksum:
                raise self._file.damaged(f"the state of `{name}` is not what was written")
            yield name, data

    def _listed(self, event: int | None) -> _Listed:
        if event is None:
            stored = self._file.blob("parts")
            return msgspec.msgpack.decode(stored, type=_Listed) if stored else {}
        row = self._file.execute("SELECT listed, checksum FROM snapshots WHERE event = ?", (event,)).fetchone()
        if row is None:
            raise self._file.damaged(f"the snapshot as of event {event} is missing")
        if row_checksum(event, row[0]) != row[1]:
            raise self._file.damaged(f"the snapshot as of event {event} is not what was written")
        return msgspec.msgpack.decode(row[0], type=_Listed)

    def _pieces(self, name: str, part: _Part) -> Iterator[bytes]:
        query = "SELECT piece, data, checksum FROM parts WHERE name = ? AND event = ? ORDER BY piece"
        rows = self._file.execute(query, (name, part.event)).fetchall()
        if [row[0] for row in rows] != list(range(part.pieces)):
            raise self._file.damaged(f"a piece of the state of `{name}` is missing")
        for piece, data, found in rows:
            if row_checksum(name, part.event, piece, data) != found:
                raise self._file.damaged(f"the state of `{name}` is not what was written")
            yield data


def row_checksum(*values: object) -> int:
    """The checksum of a row."""
    return zlib.crc32(encode(values))
