"""Facts from a file: a regular one, a FIFO or a device."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Any

from tidelog.connectors.decoding import Decoder
from tidelog.connectors.descriptors import Descriptor
from tidelog.connectors.framing import MAX_LINE, LineReader, is_empty
from tidelog.plans.errors import SnapshotError
from tidelog.plans.saved import Natural, Saved, read_saved
from tidelog.runtime.interfaces import Batch

_PIECE = 1 << 20
"""How many bytes are read at once of what was read before."""


class _Position(Saved):
    """Where a file stands: how many bytes were read, their digest, and the reader's state."""

    offset: Natural
    seen: str
    lines: dict[str, Any]


class FileSource:
    """Reads a file once, from its beginning to its end. Entered again, it goes on where it was.

    `size` is the file's length in bytes (None while closed, and where it has none, as a FIFO), `position` how many
    bytes have been read: what a progress display needs. A regular file can be read again from where a batch ended, in a
    later run, too (`resume`).
    """

    def __init__(self, path: str, decoder: Decoder, *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self.size: int | None = None
        self.position = 0
        self._path = path
        self._reader = LineReader(decoder, max_line)
        self._descriptor: Descriptor | None = None
        self._is_finished = False
        self._seen = hashlib.sha256()

    async def __aenter__(self) -> FileSource:
        # Without O_NONBLOCK the opening of a FIFO waits for its writer, and holds up everything.
        fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._descriptor = Descriptor(fd)
        self.size = self._descriptor.size
        if self._descriptor.is_regular:
            os.lseek(fd, self.position, os.SEEK_SET)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._descriptor is not None:
            self._descriptor.close()
            self._descriptor = None

    async def receive(self) -> Batch | None:
        """The facts of the next 64 KiB. Raises OSError, and DataError where the whole file cannot be understood."""
        if self._descriptor is None:
            raise ValueError("a source is used within `async with`")
        while not self._is_finished:
            chunk = await self._descriptor.read()
            self.position += len(chunk)
            self._seen.update(chunk)
            self._is_finished = not chunk
            batch = self._reader.feed(chunk) if chunk else self._reader.finish()
            if not is_empty(batch):
                batch.position = self._tell(self._descriptor)
                return batch
        return None

    @property
    def is_recorded(self) -> bool:
        """Whether it is a regular file: what it says was there before."""
        return os.path.isfile(self._path)

    @property
    def is_replayable(self) -> bool:
        """Whether it is a regular file, not a FIFO or a device. Raises OSError where it is gone."""
        return stat.S_ISREG(os.stat(self._path).st_mode)

    def _tell(self, descriptor: Descriptor) -> dict[str, Any] | None:
        """Where the file and its lines stand; None for a FIFO or a device, which cannot be read again."""
        if not descriptor.is_regular:
            return None
        return {
            "offset": self.position,
            "seen": self._seen.hexdigest(),
            "lines": self._reader.snapshot(),
        }

    def resume(self, position: dict[str, Any]) -> None:
        """Go on where a batch of an earlier run ended; SnapshotError where the file holds something else by now."""
        saved = read_saved(position, _Position)
        try:
            seen = _digest(self._path, saved.offset)
        except OSError as error:
            raise SnapshotError(f"`{self._path}` cannot be read again: {error.strerror}") from error
        if seen.hexdigest() != saved.seen:
            raise SnapshotError(f"`{self._path}` is not what was read before: its first {saved.offset} bytes differ")
        self._reader.restore(saved.lines)
        self.position, self._seen = saved.offset, seen


def _digest(path: str, size: int) -> hashlib._Hash:
    """The digest of a file's first bytes, or of all that there are."""
    digest = hashlib.sha256()
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while size and (piece := os.read(fd, min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    finally:
        os.close(fd)
    return digest
