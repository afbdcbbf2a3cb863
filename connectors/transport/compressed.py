"""Compressed files, read piece by piece: no more is unpacked at once than is asked for."""

from __future__ import annotations

import gzip
import os
import zlib
from io import BufferedReader
from typing import Any, Literal

from tidelog.plans.diagnostics.errors import ConnectorError


class CompressedFile:
    """What a file holds that gzip or Zstandard has compressed. OSError where it cannot be opened, ConnectorError where it
    is damaged, and where Zstandard needs pyarrow, which is not installed."""

    def __init__(self, path: str, compression: Literal["gz", "zst"]) -> None:
        self._path = path
        self._raw: BufferedReader = open(path, "rb")  # noqa: SIM115 - it is closed by `close`
        try:
            self._file: Any = gzip.GzipFile(fileobj=self._raw) if compression == "gz" else self._of_zstandard()
        except BaseException:
            self._raw.close()
            raise

    @property
    def position(self) -> int:
        """How many bytes of the file have been read."""
        return self._raw.tell()

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return os.fstat(self._raw.fileno()).st_size

    def read(self, size: int) -> bytes:
        """So many of the unpacked bytes, or fewer; none at the end."""
        try:
            return bytes(self._file.read(size))
        except (OSError, EOFError, zlib.error, ValueError) as error:
            reason = (str(error).splitlines() or ["damaged"])[0]
            raise ConnectorError(f"cannot read `{self._path}`: {reason[:1].lower()}{reason[1:]}") from error

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    def _of_zstandard(self) -> Any:
        try:
            import pyarrow as pa  # noqa: PLC0415 - only who has such files needs it
        except ImportError as error:
            told = "Zstandard needs pyarrow, which is not installed: pip install 'tidelog[frames]'"
            raise ConnectorError(f"cannot read `{self._path}`: {told}") from error
        return pa.CompressedInputStream(self._raw, "zstd")
