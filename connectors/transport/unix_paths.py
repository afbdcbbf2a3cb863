"""The paths of Unix-domain sockets: whose a path is, and who may remove it."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix

with suppress(ImportError):  # on Windows, where `need_posix` refuses what needs it
    import fcntl

_LOCK_SECONDS, _LOCK_INTERVAL = 5.0, 0.01
"""How long another process may be about to listen in the same directory, and how often it is asked."""


class BoundPath:
    """The path of a socket, once it is bound. Calling it removes the path, if it still is that of this socket."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity: tuple[int, int, int] | None = None

    def note(self) -> None:
        """The socket at the path is ours from now on. Raises OSError."""
        self._identity = _identity(self._path)

    def __call__(self) -> None:
        with suppress(OSError):
            if self._identity is not None and _identity(self._path) == self._identity:
                os.unlink(self._path)


@asynccontextmanager
async def bind_path(path: str) -> AsyncIterator[BoundPath]:
    """While a socket is bound to this path and begins to listen: one on which nobody listens is out of its way.

    OSError (EADDRINUSE) where somebody listens, SpecError where there is something that is no socket. Two processes that
    begin at once do so one after the other.
    """
    need_posix(f"cannot listen at `unix://{path}`")
    bound = BoundPath(path)
    async with _directory_locked(os.path.dirname(path) or "."):
        _make_way(path)
        yield bound
        bound.note()


def _make_way(path: str) -> None:
    """Remove a socket that was left behind."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SpecError(f"cannot listen at `{path}`: there is something that is no socket")
    if _is_alive(path):
        raise OSError(errno.EADDRINUSE, f"another process listens at `{path}`")
    os.unlink(path)


def _is_alive(path: str) -> bool:
    """Whether somebody listens at this path; also where that cannot be found out."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # its queue is full, it is another's, or of another kind
            return True
    return True


@asynccontextmanager
async def _directory_locked(folder: str) -> AsyncIterator[None]:
    """Hold the lock of a directory, which the system gives back when the process dies."""
    with _opened(folder) as descriptor:
        deadline = anyio.current_time() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if anyio.current_time() > deadline:
                    raise OSError(errno.EADDRINUSE, f"another process holds the lock of `{folder}`") from None
            await anyio.sleep(_LOCK_INTERVAL)
        yield


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _identity(path: str) -> tuple[int, int, int]:
    """What tells one socket's path from another's: numbers of files are used again, times are not."""
    found = os.lstat(path)
    return found.st_dev, found.st_ino, found.st_mtime_ns
