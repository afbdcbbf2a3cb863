"""What is read to its end, a file or standard input, in pieces of bytes."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Protocol

from tidelog.connectors.formats.endings import compression_of
from tidelog.connectors.spec import Spec
from tidelog.connectors.transport.compressed import CompressedFile
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.diagnostics.systems import BINARY


def name_of(spec: Spec) -> str:
    """What it is called in places and messages."""
    return spec.path or "stdin"


class Pieces(Protocol):
    """What bytes are read from."""

    @property
    def position(self) -> int:
        """How many bytes of the file have been read, which may be compressed."""
        ...

    def read(self, size: int) -> bytes:
        """What comes next, or nothing at the end."""
        ...


@contextmanager
def opened(spec: Spec) -> Iterator[Pieces]:
    """What to read from."""
    if not spec.path:
        yield _Descriptor(0, name_of(spec))
        return
    compression = compression_of(spec.path)
    try:
        if compression is not None:
            with closing(CompressedFile(spec.path, compression)) as file:
                yield file
            return
        descriptor = os.open(spec.path, os.O_RDONLY | BINARY)
    except OSError as error:
        raise SpecError(f"cannot read `{spec.path}`: {os.strerror(error.errno or 0)}") from None
    try:
        yield _Descriptor(descriptor, name_of(spec))
    finally:
        os.close(descriptor)


class _Descriptor:
    """A descriptor of what is not compressed."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self._name = descriptor, name
        self.position = 0

    def read(self, size: int) -> bytes:
        while True:
            try:
                piece = os.read(self._descriptor, size)
            except BlockingIOError:  # a terminal or a pipe that another process has set not to wait
                select.select([self._descriptor], [], [])
            except OSError as error:
                raise ConnectorError(f"cannot read `{self._name}`: {os.strerror(error.errno or 0)}") from error
            else:
                self.position += len(piece)
                return piece


class WholeLines:
    """Pieces that end where a line does. What stands behind the last newline is the last one."""

    def __init__(self, pieces: Pieces, max_line: int) -> None:
        self._pieces, self._max_line = pieces, max_line
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
        while size > 0 and (chunk := self._pieces.read(size)):
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)
