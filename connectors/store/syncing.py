"""What is on the disk for certain: files, and the names of new ones in their folders.

Where the system could not bring something to the disk, it says so once, and the next attempt succeeds, though what was to be
written is gone. So nobody tries again here: whoever called writes anew, or stops.
"""

from __future__ import annotations

import os
from contextlib import suppress

from tidelog.plans.diagnostics.systems import BINARY, is_windows

Path = str | os.PathLike[str]


def sync(path: Path) -> None:
    """What a file holds is there after a power failure, and of a folder the names in it. Raises OSError."""
    if is_windows() and os.path.isdir(path):
        return  # Windows lets nobody bring a folder to the disk; what has to be there after a power failure is refused
    descriptor = os.open(path, os.O_RDONLY | BINARY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_name(path: Path) -> None:
    """A file or a folder that was created, renamed or removed is so after a power failure, too. Raises OSError."""
    sync(os.path.dirname(os.path.abspath(path)))


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it that are missing, each with this mode, on the disk. Raises OSError."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(os.path.abspath(folder))
    make_folder(above, mode)
    with suppress(FileExistsError):
        os.mkdir(folder, mode)
    sync(above)


def replace_file(path: Path, text: str) -> None:
    """Let a file have this text: whoever reads it finds the old one or this, also after a power failure. Raises OSError."""
    folder, name = os.path.split(os.path.abspath(path))
    new = os.path.join(folder, f".{name}.new")
    with open(new, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    sync(folder)
