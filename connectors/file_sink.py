"""Answers to a file."""

from __future__ import annotations

import errno
import os

import anyio

from tidelog.connectors.descriptors import Descriptor
from tidelog.connectors.formatting import Encoder
from tidelog.connectors.media import DescriptorMedium, Medium
from tidelog.connectors.outgoing import OutgoingSink

READER_INTERVAL = 0.05
"""How often, in seconds, a FIFO that nobody reads yet is tried again."""


class FileSink(OutgoingSink):
    """Writes a file: created, or emptied when first entered; entered again, it goes on at the end.

    A FIFO whose reader has gone goes on, for the next one, with the first line that was not read whole.
    """

    def __init__(self, path: str, encoder: Encoder, *, name: str | None = None) -> None:
        super().__init__(encoder, name or path)
        self._path = path
        self._beginning = os.O_TRUNC

    async def _open(self) -> Medium:
        """Open the file; a FIFO is waited for until it has a reader."""
        while True:
            try:
                return self._opened()
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await anyio.sleep(READER_INTERVAL)

    def _opened(self) -> Medium:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | self._beginning
        medium = DescriptorMedium(Descriptor(os.open(self._path, flags, 0o666)), is_reopened=True)
        self._beginning = os.O_APPEND
        return medium
