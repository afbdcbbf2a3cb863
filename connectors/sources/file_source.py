"""Facts from a file: a regular one, a FIFO or a device."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from typing import Any

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.sources.rotated import trace
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.diagnostics.systems import AT_ONCE, BINARY
from tidelog.runtime.ports.interfaces import Batch

logger = logging.getLogger("tidelog")


class _Position(Saved):
    """Where a file stands: how many bytes were read, their digest, the reader's state, and the file's inode."""

    offset: Natural
    seen: str
    lines: dict[str, Any]
    inode: Natural | None = None


class FileSource:
    """Reads a file once, from its beginning to its end. Entered again, it goes on where it was.

    `size` is the file's length in bytes (None while closed, and where it has none, as a FIFO), `position` how many
    bytes have been read: what a progress display needs. A regular file can be read again from where a batch ended, in a
    later run, too (`resume`): if it has been rotated since, the rest of it is read where it is now, then what came after it.
    """

    def __init__(self, path: str, decoder: Decoder, *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self.size: int | None = None
        self.position = 0
        self._path = path
        self._rest = [path]
        self._decoder, self._max_line = decoder, max_line
        self._reader = LineReader(decoder, max_line)
        self._descriptor: Descriptor | None = None
        self._inode: int | None = None
        self._is_finished = False
        self._seen = hashlib.sha256()

    async def __aenter__(self) -> FileSource:
        if self._inode is not None and os.stat(self._rest[0]).st_ino != self._inode:  # rotated since it was left
            self._rest = trace(self._path, self._inode, self.position, self._seen.hexdigest()).paths
        self._open()
        return self

    def _open(self) -> None:
        """Open the file that is to be read now, and go to where it stands."""
        # Without O_NONBLOCK the opening of a FIFO waits for its writer, and holds up everything.
        fd = os.open(self._rest[0], os.O_RDONLY | AT_ONCE | BINARY)
        self._descriptor = Descriptor(fd)
        self.size = self._descriptor.size
        if self._descriptor.is_regular:
            self._inode = os.fstat(fd).st_ino
            os.lseek(fd, self.position, os.SEEK_SET)

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
            batch = self._reader.feed(chunk) if chunk else self._finish(self._descriptor)
            if not is_empty(batch):
                batch.position = self._tell(self._descriptor)
            if not chunk:
                self._end(self._descriptor)
            if not is_empty(batch):
                return batch
        return None

    def _finish(self, descriptor: Descriptor) -> Batch:
        """The last batch of a file. The begin of a line whose rest was cut off is rejected."""
        if not descriptor.is_regular or os.fstat(descriptor.fd).st_size >= self.position:
            return self._reader.finish()
        logger.warning("%s: was cut while it was read: %d bytes of it had been read", self.name, self.position)
        return self._reader.abandon("the file was cut within the line")

    def _end(self, descriptor: Descriptor) -> None:
        """Go on with the file that came after this one, if it has been rotated."""
        if len(self._rest) == 1:
            self._is_finished = True
            return
        descriptor.close()
        del self._rest[0]
        self.position, self._seen = 0, hashlib.sha256()
        self._reader = self._read_by_lines()
        self._open()

    def _read_by_lines(self) -> LineReader:
        """A reader for the file that is to be read now, which has a header of its own, if its format has one."""
        name = self.name if self._rest == [self._path] else self._rest[0]
        return LineReader(self._decoder.for_stream(name), self._max_line)

    @property
    def is_recorded(self) -> bool:
        """Whether it is a regular file: what it says was there before."""
        return os.path.isfile(self._rest[0])

    @property
    def is_replayable(self) -> bool:
        """Whether it is a regular file, not a FIFO or a device. One that is gone may have been rotated: `resume` tells."""
        return not os.path.lexists(self._rest[0]) or stat.S_ISREG(os.stat(self._rest[0]).st_mode)

    def _tell(self, descriptor: Descriptor) -> dict[str, Any] | None:
        """Where the file and its lines stand; None for a FIFO or a device, which cannot be read again."""
        if not descriptor.is_regular:
            return None
        return {
            "offset": self.position,
            "seen": self._seen.hexdigest(),
            "lines": self._reader.snapshot(),
            "inode": self._inode,
        }

    def resume(self, position: dict[str, Any]) -> None:
        """Go on where a batch of an earlier run ended; SnapshotError where what was read is not there by now."""
        saved = read_saved(position, _Position)
        try:
            found = trace(self._path, saved.inode, saved.offset, saved.seen)
        except OSError as error:
            raise SnapshotError(f"`{self._path}` cannot be read again: {error.strerror}") from error
        self._rest = found.paths
        if self._rest != [self._path]:
            logger.warning("%s: has been rotated: what came after the last commit is read from %s", self.name, self._rest[0])
        self._reader = self._read_by_lines()
        self._reader.restore(saved.lines)
        self.position, self._seen = saved.offset, found.seen
