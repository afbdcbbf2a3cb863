"""File descriptors, read and written without holding up the event loop."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import anyio.to_thread

from tidelog.connectors.transport.terminals import for_terminal

READ_SIZE = 1 << 16
"""How many bytes are read at once: enough to share the cost of a hop, little enough that decoding them is short."""
WRITE_SIZE = 4096
"""How many bytes a pipe that is ready takes for certain (PIPE_BUF), even one that would block for more."""


class Descriptor:
    """One open descriptor. Pipes, terminals, sockets are waited for; regular files are read and written at once.

    The descriptor's flags are left alone, since a terminal or a pipe may be shared with other processes. Closing
    closes it only if it is `owned`. A terminal is sent what `for_terminal` makes of the bytes. Where the system waits for
    sockets alone (Windows), a thread waits.
    """

    def __init__(self, fd: int, *, owned: bool = True) -> None:
        self.fd = fd
        self._owned = owned
        mode = os.fstat(fd)
        self.is_regular = stat.S_ISREG(mode.st_mode)
        self.size = mode.st_size if self.is_regular else None
        self._waits = not self.is_regular
        self.is_terminal = os.isatty(fd)
        self._poll = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(fd, select.POLLOUT)
        self._in_thread = self._waits and self._poll is None

    async def read(self, limit: int = READ_SIZE) -> bytes:
        """What is there, up to `limit` bytes; waits for it, and returns nothing at the end. Raises OSError."""
        if self._in_thread:
            return await anyio.to_thread.run_sync(os.read, self.fd, limit, abandon_on_cancel=True)
        while True:
            await self._wait(anyio.wait_readable)
            try:
                return os.read(self.fd, limit)
            except BlockingIOError:
                continue

    async def write(self, data: bytes) -> None:
        """Write all of it, waiting as long as the other side is not ready. Raises OSError, such as BrokenPipeError."""
        await anyio.lowlevel.checkpoint()
        view = memoryview(for_terminal(data) if self.is_terminal else data)
        while view:
            view = view[await self.write_some(view) :]

    async def write_some(self, data: memoryview) -> int:
        """Write some of it, waiting as long as the other side is not ready; returns how many bytes. Raises OSError."""
        if self._in_thread:
            return await anyio.to_thread.run_sync(os.write, self.fd, bytes(data[:WRITE_SIZE]), abandon_on_cancel=True)
        while True:
            if self._waits and self._poll is not None and not self._poll.poll(0):
                await self._wait(anyio.wait_writable)
            try:
                return os.write(self.fd, data[:WRITE_SIZE] if self._waits else data)
            except BlockingIOError:
                await self._wait(anyio.wait_writable)

    async def _wait(self, until_ready: Callable[[int], Awaitable[None]]) -> None:
        if self._waits:
            try:
                await until_ready(self.fd)
                return
            except PermissionError:  # the system cannot wait for what never blocks, such as /dev/null
                self._waits = False
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        if self._owned:
            os.close(self.fd)
