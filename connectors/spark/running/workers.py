"""What is the same in all of Spark's Python workers, whatever they run."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from zipimport import zipimporter

from tidelog.runtime.ports import collecting

_DEATH_SIGNAL = 1
"""What `prctl` calls the signal that a process gets when its parent has ended."""
_DAEMON = b"daemon"
"""What the name of the process has that forks workers: only then has a worker one parent as long as it lives."""


def begin_task() -> None:
    """Set up the worker. It runs many tasks: what it has loaded is put aside from garbage collection with the first."""
    keep_archives()
    if not collecting.collects_seldom():
        collecting.collect_seldom()
        end_with_daemon()


def keep_archives() -> None:
    """See to it that an archive from which modules are imported is listed again only if it has changed.

    Spark has every worker invalidate its importers before each task. In Python 3.11 each of them, one for every package
    in PySpark's own archive, then lists the whole archive, which takes longer than most tasks.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if type(finder) is zipimporter:
            sys.path_importer_cache[path] = _KeptArchive(path)


class _KeptArchive(zipimporter):
    """What imports from an archive."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._listed = self._state()

    def invalidate_caches(self) -> None:
        """Something may have changed."""
        state = self._state()
        if state != self._listed:
            super().invalidate_caches()
            self._listed = state

    def _state(self) -> tuple[int, int] | None:
        with suppress(OSError):
            found = os.stat(self.archive)
            return found.st_mtime_ns, found.st_size
        return None


def end_with_daemon() -> None:
    """End with the process that has forked this worker, also while it computes: nobody would take what it tells.

    Otherwise a worker would notice that Spark is gone only when it reads or writes the next time.
    """
    parent = os.getppid()
    if sys.platform != "linux" or not _is_daemon(parent):
        return
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended meanwhile
        os.kill(os.getpid(), signal.SIGKILL)


def _is_daemon(process: int) -> bool:
    with suppress(OSError):
        return _DAEMON in Path(f"/proc/{process}/cmdline").read_bytes()
    return False
