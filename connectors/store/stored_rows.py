"""A file of rows by their keys, each with its checksum, that one sink writes in one run after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from tidelog.connectors.store.state_store import PRIVATE
from tidelog.connectors.store.stored_file import StoredFile
from tidelog.connectors.store.stored_snapshots import row_checksum


class StoredRows(StoredFile):
    """Tables of a key, its data and a checksum; `meta` knows the run that wrote last. `keys` are the columns of the keys."""

    keys: ClassVar[Mapping[str, str]]

    @classmethod
    def opened(cls, folder: str) -> Self:
        """The file in a folder, both of which are made where they are missing. ConnectorError where it is damaged."""
        os.makedirs(folder, PRIVATE, exist_ok=True)
        file = cls(folder, create=True)
        try:
            if file.is_new:
                file.create({"run": ""})
        except BaseException:
            file.close()
            raise
        return file

    def rows(self, table: str) -> Iterator[tuple[Any, bytes]]:
        """Keys and data. ConnectorError where one is not what was written."""
        for key, data, checksum in self.execute(f"SELECT {self.keys[table]}, data, checksum FROM {table}"):  # noqa: S608 - own names
            if not isinstance(data, bytes) or row_checksum(key, data) != checksum:
                raise self.damaged("a row is not what was written")
            yield key, data

    def put_row(self, table: str, key: str | bytes, data: bytes | None) -> None:
        """Store a row; None takes it away."""
        if data is None:
            self.execute(f"DELETE FROM {table} WHERE {self.keys[table]} = ?", (key,))  # noqa: S608 - own names
        else:
            self.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", (key, data, row_checksum(key, data)))  # noqa: S608 - likewise
