"""What is read to its end, a file or standard input, in pieces of bytes."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.connectors.spec import Spec
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError


def name_of(spec: Spec) -> str:
    """What it is called in places and messages."""
    return spec.path or "stdin"


@contextmanager
def opened(spec: Spec) -> Iterator[int]:
    """The descriptor to read from."""
    if not spec.path:
        yield 0
        return
    try:
        descriptor = os.open(spec.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SpecError(f"cannot read `{spec.path}`: {os.strerror(error.errno or 0)}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_piece(descriptor: int, name: str, size: int = READ_SIZE) -> bytes:
    """What comes next, or nothing at the end."""
    while True:
        try:
            return os.read(descriptor, size)
        except BlockingIOError:  # a terminal or a pipe that another process has set not to wait
            select.select([descriptor], [], [])
        except OSError as error:
            raise ConnectorError(f"cannot read `{name}`: {os.strerror(error.errno or 0)}") from error


class WholeLines:
    """Pieces that end where a line does. What stands behind the last newline is the last one."""

    def __init__(self, descriptor: int, name: str, max_line: int) -> None:
        self._descriptor, self._name, self._max_line = descriptor, name, max_line
        self._rest = b""

    def read(self, size: int) -> bytes:
        """About so many bytes, or nothing at the end. Of a line that is too long, its beginning is a piece, too."""
        text, is_end = self._rest, False
        while not is_end:
            chunk = self._read(size)
            text += chunk
            is_end = len(chunk) < size
            end = text.rfind(b"\n") + 1
            if end or len(text) > self._max_line:
                break
        if not end or len(text) - end > self._max_line:
            end = len(text)
        self._rest = text[end:]
        return text[:end]

    def _read(self, size: int) -> bytes:
        """So many bytes, or fewer at the end."""
        chunks: list[bytes] = []
        while size > 0 and (chunk := read_piece(self._descriptor, self._name, size)):
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)
