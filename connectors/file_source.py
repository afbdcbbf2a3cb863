"""Facts from a file: a regular one, a FIFO or a device."""

from __future__ import annotations

import os

from tidelog.connectors.decoding import Decoder
from tidelog.connectors.descriptors import Descriptor
from tidelog.connectors.framing import MAX_LINE, LineReader, is_empty
from tidelog.runtime.interfaces import Batch


class FileSource:
    """Reads a file once, from its beginning to its end. Entered again, it goes on where it was.

    `size` is the file's length in bytes (None while closed, and where it has none, as a FIFO), `position` how many
    bytes have been read: what a progress display needs.
    """

    def __init__(self, path: str, decoder: Decoder, *, max_line: int = MAX_LINE) -> None:
        self.name = decoder.name
        self.size: int | None = None
        self.position = 0
        self._path = path
        self._reader = LineReader(decoder, max_line)
        self._descriptor: Descriptor | None = None
        self._is_finished = False

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
            self._is_finished = not chunk
            batch = self._reader.feed(chunk) if chunk else self._reader.finish()
            if not is_empty(batch):
                return batch
        return None
