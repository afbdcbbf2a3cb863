"""Where records go that could not be read, with their reason and their place."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from tidelog.connectors.descriptors import Descriptor
from tidelog.plans.errors import SpecError
from tidelog.plans.visible import visible
from tidelog.runtime.interfaces import Rejected


class DeadLetterWriter:
    """Writes rejected records: to a file as JSON lines, or for people to standard error, `place: reason: raw`.

    `count` says how many there were. The file is created or emptied at once, so that a path that cannot be written is
    a SpecError at the start; with `append`, what it holds is kept. Bytes that are not UTF-8 are written as `\\xff`.
    """

    def __init__(self, path: str | None = None, *, fd: int = 2, append: bool = False) -> None:
        self.count = 0
        self._is_json = path is not None
        self._descriptor: Descriptor | None
        if path is None:
            try:
                self._descriptor = Descriptor(fd, owned=False)
            except OSError:  # standard error is closed: nobody wants to know
                self._descriptor = Descriptor(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
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
        write_line = _json_line if self._is_json else _plain_line
        await self._descriptor.write(b"".join(map(write_line, rejected)))

    def close(self) -> None:
        if self._descriptor is not None:
            self._descriptor.close()
            self._descriptor = None


def _json_line(item: Rejected) -> bytes:
    return msgspec.json.encode({"place": item.place, "reason": item.reason, "raw": _text(item.raw)}) + b"\n"


def _plain_line(item: Rejected) -> bytes:
    """One line, whatever the record holds."""
    return visible(f"{item.place}: {item.reason}: {_text(item.raw)}").encode() + b"\n"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
