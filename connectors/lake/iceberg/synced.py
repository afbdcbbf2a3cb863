"""Files of tables on this machine's disk: each is there for certain before a catalog names it.

The library lets the system bring files to the disk when it likes, and the catalog's own commit may be there before them.
What a catalog in SQLite says is there when it has answered. Object stores keep what they have answered.
"""

from __future__ import annotations

import io
import os
from typing import Any

from pyarrow.fs import LocalFileSystem
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from tidelog.connectors.store.syncing import make_folder, sync, sync_name


class _Synced(io.BufferedWriter):
    def __init__(self, path: str, *, overwrite: bool) -> None:
        super().__init__(io.FileIO(path, "wb" if overwrite else "xb"))
        self._path = path

    def close(self) -> None:
        if not self.closed:
            super().close()
            sync(self._path)
            sync_name(self._path)


class _SyncedFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> Any:
        """A stream whose file is on the disk when it is closed."""
        make_folder(os.path.dirname(self._path))
        return _Synced(self._path, overwrite=overwrite)


class SyncedFileIO(PyArrowFileIO):
    """The files of the library, of which those on this machine's disk are brought to it when they are closed."""

    def new_output(self, location: str) -> PyArrowFile:
        """A file to write to at a location."""
        found = super().new_output(location)
        if not isinstance(found._filesystem, LocalFileSystem):
            return found
        return _SyncedFile(location, found._path, found._filesystem)
