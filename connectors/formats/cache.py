"""A dict that computes what it lacks, bounded: the memory of decoders and encoders for what repeats on a stream."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_ENTRIES = 16_384
"""A cache that has grown to this many entries is emptied: what still repeats is back at once. All of them are some 5 MB."""
MAX_TIMES = 4_096
"""As many, where the keys are times: those of one moment repeat, and others hardly."""
MAX_SIZE = 256
"""What is larger than this (bytes or characters) is computed each time, so that long texts cannot fill the memory."""


class BoundedCache(dict[K, V]):
    """`cache[key]` is a plain dict look-up where the key is known, otherwise `compute(key)`, remembered.

    `size` tells how large an entry is; an exception from `compute` passes through and leaves nothing behind. `missed` counts
    what was computed.

    >>> squares = BoundedCache(lambda n: n * n, lambda n, square: 1)
    >>> squares[7], len(squares)
    (49, 1)
    """

    __slots__ = ("_compute", "_limit", "_size", "missed")

    def __init__(self, compute: Callable[[K], V], size: Callable[[K, V], int], limit: int = MAX_ENTRIES) -> None:
        super().__init__()
        self._compute = compute
        self._size = size
        self._limit = limit
        self.missed = 0

    def __missing__(self, key: K) -> V:
        self.missed += 1
        value = self._compute(key)
        if self._size(key, value) <= MAX_SIZE:
            if len(self) >= self._limit:
                self.clear()
            self[key] = value
        return value


def key_length(key: Sized, _: object) -> int:
    """The size of an entry that is about as large as its key."""
    return len(key)
