"""The lock of a directory's writer: a file that the writer holds, and in which it notes how many commits are stored.

SQLite takes a write-ahead log that is damaged in its middle for one that ends there: what was committed behind is gone, and
nothing says so. The note is written after each commit, so what it tells is stored, or was. It has two places, which are
written in turn: where one was cut off in its middle, the other tells the commit before.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress

from tidelog.connectors.store.syncing import make_folder, sync_name
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.diagnostics.systems import need_posix

with suppress(ImportError):  # on Windows, where `need_posix` refuses what needs it
    import fcntl

_NUMBER, _CHECKSUM = 8, 4
_NOTE = _NUMBER + _CHECKSUM


class WriterLock:
    """Held until closed; the system gives it back when the process dies. Makes the directory, with `mode`, if need be.

    SpecError where it cannot be made, or another process holds the lock.
    """

    def __init__(self, folder: str, what: str, mode: int = 0o777) -> None:
        need_posix(f"cannot write the {what} `{folder}`")
        self._what, self._file = f"{what} `{folder}`", lock_of(what)
        self._path = os.path.join(folder, self._file)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise SpecError(f"cannot write the {self._what}: that is a file, and a folder is wanted")
        try:
            make_folder(folder, mode)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            sync_name(self._path)
        except OSError as error:
            raise SpecError(f"cannot write the {self._what}: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise SpecError(f"another process writes the {self._what}: there is one writer at a time") from None

    def note(self, commits: int) -> None:
        """So many commits are stored."""
        number = commits.to_bytes(_NUMBER)
        try:
            os.pwrite(self._descriptor, number + zlib.crc32(number).to_bytes(_CHECKSUM), commits % 2 * _NOTE)
        except OSError as error:
            raise ConnectorError(f"{self._what}: cannot write `{self._file}`: {error.strerror}") from error

    def check(self) -> None:
        """ConnectorError where the file has gone: then another process may hold a lock of its own."""
        if identity(self._path) != identity(self._descriptor):
            raise ConnectorError(f"{self._what}: `{self._file}` was removed while it was in use")

    def close(self) -> None:
        os.close(self._descriptor)


def lock_of(what: str) -> str:
    """What the lock is called, in the folder of an `outbox`, say."""
    return f"{what}.lock"


def commits_noted(folder: str, what: str) -> int:
    """How many commits there are at least; ConnectorError where the note is damaged."""
    name = lock_of(what)
    try:
        with open(os.path.join(folder, name), "rb") as file:
            noted = file.read(2 * _NOTE + 1)
    except FileNotFoundError:
        return 0
    except NotADirectoryError:
        raise SpecError(f"cannot read the {what} `{folder}`: that is a file, and a folder is wanted") from None
    except OSError as error:
        raise ConnectorError(f"{what} `{folder}`: cannot read `{name}`: {error.strerror}") from error
    numbers = [_read_note(noted[at : at + _NOTE]) for at in (0, _NOTE)]
    known = [number for number in numbers if number is not None]
    if not known or len(noted) > 2 * _NOTE:
        raise ConnectorError(f"{what} `{folder}` is damaged: `{name}` is not what was written")
    return max(known) + (None in numbers)  # what was cut off is the note of the next one, which is stored


def _read_note(noted: bytes) -> int | None:
    """The number in one place, 0 where nothing was noted; None for anything else."""
    number = noted[:_NUMBER]
    if not noted.strip(b"\0"):
        return 0
    return int.from_bytes(number) if noted[_NUMBER:] == zlib.crc32(number).to_bytes(_CHECKSUM) else None


def identity(file: str | int) -> tuple[int, int] | None:
    """The device and the inode of a file, given by path or descriptor; None where there is no such file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
