"""Processes that tests start: each ends with its test, however that ends, and is waited for with an end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

WAIT = 300
"""How many seconds a test waits for what takes moments on an idle machine."""


def hear_signals() -> None:
    """Let processes that are started from here hear SIGINT, which a shell makes its background jobs ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process for the length of a `with` block: behind it, it is waited for; if the block fails, it is killed."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
            process.wait(WAIT)
        finally:
            if process.poll() is None:
                process.kill()
