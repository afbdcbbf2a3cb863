"""Facts from a compressed file, which does not grow."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import anyio.lowlevel

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.transport.compressed import CompressedFile
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.ports.interfaces import Batch


class _Position(Saved):
    """Where a file stands: how many unpacked bytes were read, their digest, and the reader's state."""

    offset: Natural
    seen: str
    lines: dict[str, Any]


class CompressedSource:
    """Reads a compressed file once, from its beginning to its end. Entered again, it goes on where it was.

    `size` is the file's length in bytes, `position` how many of them have been read. In a later run it can go on from where
    a batch ended (`resume`): what was read before is unpacked again.
    """

    is_recorded = True
    is_replayable = True

    def __init__(self, path: str, decoder: Decoder, compression: Literal["gz", "zst"], *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self.size: int | None = None
        self.position = 0
        self._path, self._compression = path, compression
        self._decoder, self._max_line = decoder, max_line
        self._reader = LineReader(decoder, max_line)
        self._file: CompressedFile | None = None
        self._offset = 0
        self._seen = hashlib.sha256()
        self._is_finished = False

    async def __aenter__(self) -> CompressedSource:
        self._file = CompressedFile(self._path, self._compression)
        self.size = self._file.size
        _pass_over(self._file, self._offset)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    async def receive(self) -> Batch | None:
        """The facts of the next 64 KiB. Raises ConnectorError where the file is damaged, and DataError where nothing of it
        can be understood."""
        if self._file is None:
            raise ValueError("a source is used within `async with`")
        while not self._is_finished:
            await anyio.lowlevel.checkpoint()
            chunk = self._file.read(READ_SIZE)
            self.position = self._file.position
            self._offset += len(chunk)
            self._seen.update(chunk)
            batch = self._reader.feed(chunk) if chunk else self._reader.finish()
            self._is_finished = not chunk
            if not is_empty(batch):
                batch.position = {"offset": self._offset, "seen": self._seen.hexdigest(), "lines": self._reader.snapshot()}
                return batch
        return None

    def resume(self, position: dict[str, Any]) -> None:
        """Go on where a batch of an earlier run ended; SnapshotError where the file holds something else by now."""
        saved = read_saved(position, _Position)
        try:
            file = CompressedFile(self._path, self._compression)
        except OSError as error:
            raise SnapshotError(f"`{self._path}` cannot be read again: {error.strerror}") from error
        try:
            seen = _pass_over(file, saved.offset)
        finally:
            file.close()
        if seen.hexdigest() != saved.seen:
            raise SnapshotError(f"`{self._path}` is not what was read before")
        self._reader = LineReader(self._decoder.for_stream(self.name), self._max_line)
        self._reader.restore(saved.lines)
        self._offset, self._seen = saved.offset, seen


def _pass_over(file: CompressedFile, size: int) -> hashlib._Hash:
    """Unpack so many bytes, and return their digest."""
    digest = hashlib.sha256()
    while size and (piece := file.read(min(size, READ_SIZE))):
        digest.update(piece)
        size -= len(piece)
    return digest
