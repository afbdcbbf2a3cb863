"""Snapshots of sessions as Spark keeps them: large ones compressed, since a batch writes all of a bucket's, and a restart
reads again what the last batches wrote."""

from __future__ import annotations

import zlib

_LARGE = 4096
"""From how many bytes on a snapshot is compressed: a smaller one costs more to compress than to store."""
_MARK = b"\x00z1"
"""What begins a compressed one. A snapshot is a map in MessagePack, which begins with no 0."""
_FASTEST = 1


def pack_state(state: bytes) -> bytes:
    """What is stored of a snapshot."""
    return state if len(state) < _LARGE else _MARK + zlib.compress(state, _FASTEST)


def unpack_state(stored: bytes) -> bytes:
    """The snapshot that was stored. What is damaged is given as it is: its reader tells.

    >>> unpack_state(pack_state(b"x" * 10_000)) == b"x" * 10_000
    True
    """
    if not stored.startswith(_MARK):
        return stored
    try:
        return zlib.decompress(stored[len(_MARK) :])
    except zlib.error:
        return stored
