"""Progress on standard error: how far files have been read, where a person is looking."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import anyio

from tidelog.connectors.sources.file_source import FileSource
from tidelog.runtime.ports.interfaces import Listener, Source

_FIRST, _INTERVAL = 0.02, 0.25
_WIDTH = 30


async def show_progress(sources: Sequence[Source | Listener]) -> None:
    """Draw a bar until cancelled; nothing where standard error is no terminal, or the input is no file of known size."""
    files = [source for source in sources if isinstance(source, FileSource)]
    if not files or len(files) < len(sources) or not sys.stderr.isatty():
        return
    drawn = False
    try:
        await anyio.sleep(_FIRST)
        while True:
            size = sum(file.size or 0 for file in files)
            if size:
                drawn = True
                sys.stderr.write("\r" + bar(sum(file.position for file in files), size))
                sys.stderr.flush()
            await anyio.sleep(_INTERVAL)
    finally:
        if drawn:
            sys.stderr.write("\r" + " " * (_WIDTH + 8) + "\r")
            sys.stderr.flush()


def bar(done: int, size: int) -> str:
    """A bar with its percentage.

    >>> bar(1, 4)
    '[#######                       ]  25%'
    """
    part = min(1.0, done / size)
    return f"[{'#' * int(part * _WIDTH):<{_WIDTH}}] {part:>4.0%}"
