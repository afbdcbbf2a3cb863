"""What this system lacks is refused by name where it is asked for: Windows has no locks, signals and sockets of POSIX."""

from __future__ import annotations

import os
from importlib.util import find_spec

from tidelog.plans.diagnostics.errors import SpecError

BINARY: int = getattr(os, "O_BINARY", 0)
"""How bytes are opened as they are: Windows would change ends of lines."""
AT_ONCE: int = getattr(os, "O_NONBLOCK", 0)
"""How a pipe with a name is opened without waiting for the other side; Windows has none among its files."""


def is_windows() -> bool:
    return os.name == "nt"


def has_posix() -> bool:
    """Whether this system has the locks of POSIX, and so the rest of it."""
    return find_spec("fcntl") is not None


def need_posix(what: str) -> None:
    """SpecError, which names `what` needs it, on a system without POSIX.

    >>> need_posix("`--state`")
    """
    if not has_posix():
        raise SpecError(f"{what}: this needs Linux or macOS, and is not there on Windows; WSL (Linux within Windows) has it")
