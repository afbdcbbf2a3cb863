"""Answers to a file."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

import anyio

from tidelog.connectors.descriptors import Descriptor
from tidelog.connectors.formatting import Encoder
from tidelog.runtime.interfaces import AnyAnswer

READER_INTERVAL = 0.05
"""How often, in seconds, a FIFO that nobody reads yet is tried again."""


class FileSink:
    """Writes a file: created, or emptied when first entered; entered again, it goes on at the end."""

    def __init__(self, path: str, encoder: Encoder, *, name: str | None = None) -> None:
        self.name = name or path
        self._path = path
        self._encoder = encoder
        self._beginning = os.O_TRUNC
        self._descriptor: Descriptor | None = None

    async def __aenter__(self) -> FileSink:
        self._descriptor = Descriptor(await self._open())
        self._beginning = os.O_APPEND
        return self

    async def _open(self) -> int:
        """Open the file; a FIFO is waited for until it has a reader. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | self._beginning
        while True:
            try:
                return os.open(self._path, flags, 0o666)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await anyio.sleep(READER_INTERVAL)

    async def __aexit__(self, *exc: object) -> None:
        if self._descriptor is not None:
            self._descriptor.close()
            self._descriptor = None

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Raises OSError where the file cannot be written."""
        if self._descriptor is None:
            raise ValueError("a sink is used within `async with`")
        await self._descriptor.write(self._encoder.encode(answers))
