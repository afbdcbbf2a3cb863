"""Snapshots of sessions as Spark keeps them: large ones compressed, since a batch writes all of a bucket's, and a restart
reads again what the last batches wrote."""

from __future__ import annotations

import struct

import pyarrow as pa

_LARGE = 4096
"""From how many bytes on a snapshot is compressed: a smaller one costs more to compress than to store."""
_MARK = b"\x00zstd"
"""What begins a compressed one, before its length. A snapshot is a map in MessagePack, which begins with no 0."""
_CODEC = pa.Codec("zstd", compression_level=1)
_length = struct.Struct(">Q")
_BEGIN = len(_MARK) + _length.size


def pack_state(state: bytes) -> bytes:
    """What is stored of a snapshot."""
    if len(state) < _LARGE:
        return state
    return _MARK + _length.pack(len(state)) + bytes(_CODEC.compress(state, asbytes=True))


def unpack_state(stored: bytes) -> bytes:
    """The snapshot that was stored. What is damaged is given as it is: its reader tells.

    >>> len(pack_state(b"x" * 10_000)) < 100
    True
    >>> unpack_state(pack_state(b"x" * 10_000)) == b"x" * 10_000
    True
    """
    if not stored.startswith(_MARK) or len(stored) < _BEGIN:
        return stored
    (length,) = _length.unpack_from(stored, len(_MARK))
    try:
        return bytes(_CODEC.decompress(stored[_BEGIN:], decompressed_size=length, asbytes=True))
    except (OSError, OverflowError, MemoryError):
        return stored
