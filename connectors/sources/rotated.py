"""Files that are rotated between two runs: where what was read before is now, and what has come since.

A file that grows is rotated by renaming it (`temp.csv` to `temp.csv.1`, `temp.csv-20260131` or `temp-20260131.csv`), or by
copying and emptying it. It is known again by its inode, or else by its name, and in any case by the digest of what was read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.diagnostics.systems import AT_ONCE, BINARY

_PIECE = 1 << 20
"""How many bytes are read at once of what was read before."""


class Trace(NamedTuple):
    """The files that are to be read, in order: the first from behind what was read of it, which has this digest."""

    paths: list[str]
    seen: hashlib._Hash


class _Other(NamedTuple):
    """A regular file beside the one that is read."""

    path: str
    inode: int
    changed: int
    is_rotated: bool


def trace(path: str, inode: int | None, size: int, seen: str) -> Trace:
    """Where the first `size` bytes are now that were read of the file at `path`, and what is to be read behind them.

    SnapshotError where neither it nor a file that was rotated begins with them; OSError where it cannot be read.
    """
    has_begun_anew = os.path.lexists(path)  # one that is rotated may not be there again yet
    if has_begun_anew and (digest := digest_of(path, size)).hexdigest() == seen:
        return Trace([path], digest)
    others = sorted(_beside(path), key=lambda other: other.changed)
    for other in sorted(others, key=lambda other: (other.inode != inode, -other.changed)):
        if other.inode != inode and not other.is_rotated:
            continue
        digest = digest_of(other.path, size)
        if digest.hexdigest() == seen:
            since = [later.path for later in others if later.is_rotated and later.changed > other.changed]
            return Trace([other.path, *since, *([path] if has_begun_anew else [])], digest)
    if not has_begun_anew:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    raise SnapshotError(
        f"`{path}` is not what was read before: its first {size} bytes differ, and no rotated file beside it has them"
    )


def digest_of(path: str, size: int) -> hashlib._Hash:
    """The digest of a file's first bytes, or of all that there are."""
    digest = hashlib.sha256()
    fd = os.open(path, os.O_RDONLY | AT_ONCE | BINARY)
    try:
        while size and (piece := os.read(fd, min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    finally:
        os.close(fd)
    return digest


def _beside(path: str) -> Iterator[_Other]:
    """The other regular files of its folder."""
    folder, name = os.path.split(path)
    stem, extension = os.path.splitext(name)
    number = r"[.-]\d[\d.-]*"
    is_rotated = re.compile(f"{re.escape(name)}{number}|{re.escape(stem)}{number}{re.escape(extension)}").fullmatch
    with os.scandir(folder or ".") as entries:
        for entry in entries:
            try:
                found = entry.stat()
            except FileNotFoundError:  # it was rotated again meanwhile
                continue
            if entry.name != name and stat.S_ISREG(found.st_mode):
                place = os.path.join(folder, entry.name)
                yield _Other(place, found.st_ino, found.st_mtime_ns, is_rotated(entry.name) is not None)
