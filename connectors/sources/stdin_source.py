"""Facts from standard input."""

from __future__ import annotations

import os
import stat

from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.framing import MAX_LINE, LineReader, is_empty
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.runtime.ports.interfaces import Batch


class StdinSource:
    """Reads standard input (or another descriptor that stays the caller's own) to its end."""

    def __init__(self, decoder: Decoder, *, max_line: int = MAX_LINE, fd: int = 0) -> None:
        self.name = decoder.name
        self._fd = fd
        self._reader = LineReader(decoder, max_line)
        self._descriptor: Descriptor | None = None
        self._is_finished = False

    @property
    def is_recorded(self) -> bool:
        """Whether it comes from a regular file: what it says was there before."""
        try:
            return stat.S_ISREG(os.fstat(self._fd).st_mode)
        except OSError:
            return False

    async def __aenter__(self) -> StdinSource:
        self._descriptor = Descriptor(self._fd, owned=False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._descriptor = None

    async def receive(self) -> Batch | None:
        """The facts that have come, once some have. Raises OSError, and DataError as the decoder does."""
        if self._descriptor is None:
            raise ValueError("a source is used within `async with`")
        while not self._is_finished:
            chunk = await self._descriptor.read()
            self._is_finished = not chunk
            batch = self._reader.feed(chunk) if chunk else self._reader.finish()
            if not is_empty(batch):
                return batch
        return None
