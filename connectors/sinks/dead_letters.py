"""Where records go that could not be read, with their reason and their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import anyio
import msgspec

from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import BINARY
from tidelog.plans.diagnostics.visible import visible
from tidelog.runtime.ports.interfaces import Rejected


class DeadLetterWriter:
    """Writes rejected records: to a file as JSON lines, or for people to standard error, `place: reason: raw`.

    `count` says how many there were. The file is created or emptied at once, so that a path that cannot be written is
    a SpecError at the start; with `append`, what it holds is kept. Bytes that are not UTF-8 are written as `\\xff`.
    `write` makes a line of each, in place of that.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        fd: int = 2,
        append: bool = False,
        write: Callable[[Rejected], str] | None = None,
    ) -> None:
        self.count = 0
        self._turn: anyio.Lock | None = None
        self._write = write or (_plain_line if path is None else _json_line)
        self._descriptor: Descriptor | None
        if path is None:
            try:
                self._descriptor = Descriptor(fd, owned=False)
            except OSError:  # standard error is closed: nobody wants to know
                self._descriptor = Descriptor(os.open(os.devnull, os.O_WRONLY))
        else:
            flags = os.O_WRONLY | os.O_CREAT | BINARY | (os.O_APPEND if append else os.O_TRUNC)
            try:
                self._descriptor = Descriptor(os.open(path, flags, 0o666))
            except OSError as error:
                raise SpecError(f"cannot write dead letters to `{path}`: {error.strerror}") from error

    async def __aenter__(self) -> DeadLetterWriter:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    async def send(self, rejected: Sequence[Rejected]) -> None:
        """Write these; raises OSError where that fails, and ValueError once closed."""
        if self._descriptor is None:
            raise ValueError("the dead-letter writer is closed")
        self.count += len(rejected)
        self._turn = self._turn or anyio.Lock()  # made within the event loop
        async with self._turn:  # sources and sinks write at once: no line stands within another
            await self._descriptor.write("".join([f"{self._write(item)}\n" for item in rejected]).encode())

    def close(self) -> None:
        if self._descriptor is not None:
            self._descriptor.close()
            self._descriptor = None


def _json_line(item: Rejected) -> str:
    return msgspec.json.encode({"place": item.place, "reason": item.reason, "raw": text_of(item)}).decode()


def _plain_line(item: Rejected) -> str:
    """One line, whatever the record holds."""
    return visible(f"{item.place}: {item.reason}: {text_of(item)}")


def text_of(item: Rejected) -> str:
    """What a rejected record said."""
    return item.raw.decode("utf-8", "backslashreplace")
