"""NumPy and pyarrow themselves, or one clear line where they are missing."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from tidelog.plans.diagnostics.errors import ConnectorError

try:
    import numpy as np
    import pyarrow as pa
except ImportError as error:
    raise ConnectorError(
        "histories in columns need NumPy and pyarrow, which are not installed: pip install 'tidelog[frames]'"
    ) from error

__all__ = ["Array", "coded", "dense", "is_number", "np", "packs", "radix_order", "ranges", "ranks", "stable_order"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""A column: of float64 where it holds numbers, of int32 where it holds codes of a `Pool`; or times, keys, places (int64).

Said to be a type, so that modules are compiled where NumPy is missing, too.
"""
_SHORT, _MOST = (1 << 31) - 1, (1 << 63) - 1
_FEWER = 4


def is_number(column: Array) -> bool:
    """Whether a column of arguments holds numbers themselves, rather than codes."""
    return column.dtype == np.float64


def dense(values: Array) -> tuple[Array, int]:
    """Numbers from 0 on for the different values of an array of int64, in the order in which they come; and how many.

    >>> dense(np.array([7, 5, 7, 6]))[0].tolist()
    [0, 1, 0, 2]
    """
    places, found = coded(values)
    return places.astype(np.int64), len(found)


def coded(values: Array) -> tuple[Array, Array]:
    """The place of each value among the different ones (int32), and these (int64), in the order in which they come."""
    if not len(values):
        return np.empty(0, np.int32), np.empty(0, np.int64)
    # `pa.array` and `to_numpy` would load pandas, where that is installed
    buffer = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    encoded = pa.Array.from_buffers(pa.int64(), len(values), [None, buffer]).dictionary_encode()
    found = encoded.dictionary
    return (
        np.frombuffer(encoded.indices.buffers()[1], np.int32, len(values)),
        np.frombuffer(found.buffers()[1], np.int64, len(found)),
    )


def packs(count: int, size: int) -> bool:
    """Whether so many numbers in `range(size)` can be sorted with their places."""
    return size << count.bit_length() <= _MOST


def radix_order(keys: Array, size: int) -> Array:
    """The stable order of keys in `range(size)`.

    A key and its place are sorted as one number, in 32 bits where they fit: NumPy sorts plain numbers several times as fast
    as it finds an order.

    >>> radix_order(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    bits = len(keys).bit_length()
    if not packs(len(keys), size):
        return np.argsort(keys, kind="stable")
    kind = np.int32 if size << bits <= _SHORT else np.int64
    packed: Array = np.left_shift(keys.astype(kind), bits) | np.arange(len(keys), dtype=kind)
    packed.sort()
    order: Array = (packed & (1 << bits) - 1).astype(np.int64, copy=False)
    return order


def stable_order(numbers: Array) -> Array:
    """The stable order of any int64.

    >>> stable_order(np.array([7, -5, 7, 6])).tolist()
    [1, 3, 0, 2]
    """
    if not len(numbers):
        return np.empty(0, np.int64)
    first = int(numbers.min())
    span = int(numbers.max()) - first + 1
    return radix_order(numbers - first, span) if packs(len(numbers), span) else np.argsort(numbers, kind="stable")


def ranks(ordered: Array, queries: Array, side: Literal["left", "right"]) -> Array:
    """`np.searchsorted` for queries that are in order, too: the fewer are looked for among the more.

    >>> ranks(np.array([3]), np.array([1, 3, 3, 4, 5]), "right").tolist()
    [0, 1, 1, 1, 1]
    """
    if _FEWER * len(ordered) > len(queries):
        return np.searchsorted(ordered, queries, side)
    first = np.searchsorted(queries, ordered, "left" if side == "right" else "right")  # from here on each of them counts
    return np.repeat(np.arange(len(ordered) + 1), np.diff(first, prepend=0, append=len(queries)))


def ranges(begins: Array, counts: Array) -> Array:
    """The numbers `begin`, `begin + 1`, … of each range, `count` of them, one range behind the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: Array = np.arange(total, dtype=np.int64) + np.repeat(begins - (ends - counts), counts)
    return found
