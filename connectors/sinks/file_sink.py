"""Answers to a file."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

import anyio

from tidelog.connectors.formats.formatting import Encoder
from tidelog.connectors.sinks.outgoing import OutgoingSink
from tidelog.connectors.store.syncing import sync_name
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.connectors.transport.media import DescriptorMedium, Medium
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.plans.diagnostics.errors import ConnectorError, SnapshotError
from tidelog.plans.diagnostics.systems import AT_ONCE, BINARY
from tidelog.runtime.ports.durability import Promise

_CUT = 0
"""In place of a flag: opened for the first time, the file is cut back to what was committed."""
READER_INTERVAL = 0.05
"""How often, in seconds, a FIFO that nobody reads yet is tried again."""


class _Standing(Saved):
    """Where a file stands."""

    length: Natural


class FileSink(OutgoingSink):
    """Writes a file: created, or emptied when first entered; entered again, it goes on at the end.

    With `is_kept` what the file holds already stays, and answers go behind it.

    A FIFO whose reader has gone goes on, for the next one, with the first line that was not read whole. In a durable run a
    regular file holds each answer exactly once: it is cut back to what was committed, and goes on there.
    """

    def __init__(self, path: str, encoder: Encoder, *, name: str | None = None, is_kept: bool = False) -> None:
        super().__init__(encoder, name or path)
        self._path = path
        self._is_kept = is_kept
        self._beginning = os.O_APPEND if is_kept else os.O_TRUNC
        self._length: int | None = None  # of what was committed, where the run is durable
        self._secured = 0
        self._is_named = False  # whether the name of the file is on the disk
        self._fd = -1

    @property
    def promise(self) -> Promise:
        """`exactly once`, unless it is a FIFO or a device, which keeps nothing."""
        try:
            return "exactly once" if stat.S_ISREG(os.stat(self._path).st_mode) else "best effort"
        except FileNotFoundError:
            return "exactly once"

    def resume(self, run: str, taken: int, standing: dict[str, Any] | None) -> int:
        """Go on behind the answer number `taken`: what the file holds behind is cut off when it is entered.

        SnapshotError where it holds less.
        """
        found = os.stat(self._path).st_size if os.path.exists(self._path) else 0
        begin = found if self._is_kept else 0
        length = begin if standing is None else read_saved(standing, _Standing).length
        if found < length:
            told = f"`{self._path}` has {found} bytes, and had {length} when its answers were committed"
            raise SnapshotError(f"{told}: put it back, or name another file")
        self._length, self._confirmed, self._beginning = length, taken, _CUT
        return taken

    def standing(self) -> dict[str, Any]:
        """Where the last answer ends that it has confirmed."""
        return {"length": (self._length or 0) + self._confirmed_end}

    def confirmed(self) -> int:
        """The number of the last answer that is on the disk, or, in a FIFO, has been read."""
        if self._length is None:
            return super().confirmed()
        self._note_taken(self._secured)
        return self._confirmed

    def check(self) -> None:
        """A file that was moved away still takes what it is given."""

    def secure(self) -> None:
        """Let what was written be on the disk; ConnectorError where that fails, since trying again would seem to succeed."""
        if self._length is None or self._outgoing is None:
            return
        written = self._outgoing.handed
        try:
            os.fsync(self._fd)
            if not self._is_named:
                sync_name(self._path)
        except OSError as error:
            told = f"{self.name}: what was written may not be on the disk: {error.strerror}"
            raise ConnectorError(f"{told}; the next run writes it again") from error
        self._secured, self._is_named = written, True

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
        flags = os.O_WRONLY | os.O_CREAT | AT_ONCE | BINARY | (self._beginning or os.O_APPEND)
        self._fd = os.open(self._path, flags, 0o666)
        medium = DescriptorMedium(Descriptor(self._fd), is_reopened=True)
        if self._beginning == _CUT and self._length is not None:
            os.ftruncate(self._fd, self._length)
        self._beginning = os.O_APPEND
        return medium
