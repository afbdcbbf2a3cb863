"""Waiting in tests: for what is awaited and no longer, and never for a number of seconds that is thought to be enough."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from children import WAIT

INTERVAL = 0.01
"""How many seconds lie between two looks."""

_Found = TypeVar("_Found")


class Polled(Protocol):
    """A process that is asked whether it has ended."""

    def poll(self) -> int | None: ...


def eventually(condition: Callable[[], _Found], within: float = WAIT, *, process: Polled | None = None) -> _Found:
    """What `condition` gives once that is true; asked again and again, for so many seconds at most.

    An AssertionError says that it has not become true, or that `process`, without which it cannot, has ended before.
    """
    until = time.monotonic() + within
    while not (found := condition()):
        assert process is None or process.poll() is None, f"the process has ended with {process.poll()}"
        assert time.monotonic() < until, f"not so after {within} seconds"
        time.sleep(INTERVAL)
    return found


def computed(process: subprocess.Popen[Any]) -> float:
    """How many seconds a process has computed, which a busy machine does not change. It still runs, or is a zombie."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
