"""What is the same in all of Spark's Python workers, whatever they run."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from tidelog.runtime import collecting

_DEATH_SIGNAL = 1
"""What `prctl` calls the signal that a process gets when its parent has ended."""
_DAEMON = b"daemon"
"""What the name of the process has that forks workers: only then has a worker one parent as long as it lives."""


def collect_seldom() -> None:
    """Collect garbage seldom. A worker runs many tasks: what it has loaded is put aside with the first."""
    if not collecting.collects_seldom():
        collecting.collect_seldom()
        end_with_daemon()


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
