"""What is written where a person may be looking: a terminal gets what is visible, a file or a pipe the very bytes."""

from __future__ import annotations

import os
import select

from tidelog.plans.diagnostics.visible import visible_lines


def write_all(fd: int, data: bytes, *, is_ours: bool = False) -> None:
    """Write all of some bytes, and wait where the other side is not ready.

    A terminal is sent what `for_terminal` makes of them, but for bytes of which nothing comes from outside (`is_ours`).
    Raises OSError.
    """
    view = memoryview(data if is_ours or not os.isatty(fd) else for_terminal(data))
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # a terminal or a pipe that another process has set not to wait
            select.select([], [fd], [])


def for_terminal(data: bytes) -> bytes:
    """Lines of UTF-8 with the escapes of `visible`: data must not steer the terminal. They must be whole lines."""
    return visible_lines(data.decode("utf-8", "backslashreplace")).encode()
