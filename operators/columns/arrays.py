"""NumPy and pyarrow themselves, or one clear line where they are missing."""

from __future__ import annotations

from typing import Any

from tidelog.plans.diagnostics.errors import ConnectorError

try:
    import numpy as np
    import pyarrow as pa
except ImportError as error:
    raise ConnectorError(
        "histories in columns need NumPy and pyarrow, which are not installed: pip install 'tidelog[frames]'"
    ) from error

__all__ = ["Array", "dense", "is_number", "np", "radix_order", "ranges"]

Array = np.ndarray[Any, np.dtype[Any]]
"""A column: of float64 where it holds numbers, of int32 where it holds codes of a `Pool`; or times, keys, places (int64)."""
_DIGITS = 16


def is_number(column: Array) -> bool:
    """Whether a column of arguments holds numbers themselves, rather than codes."""
    return column.dtype == np.float64


def dense(values: Array) -> tuple[Array, int]:
    """Numbers from 0 on for the different values of an array of int64, and how many there are."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def radix_order(keys: Array, size: int) -> Array:
    """The stable order of keys in `range(size)`: digit by digit, each by counting.

    >>> radix_order(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    order: Array = np.argsort(keys.astype(np.uint16), kind="stable")
    done = _DIGITS
    while size >> done:
        digits = (keys >> done).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
        done += _DIGITS
    return order


def ranges(begins: Array, counts: Array) -> Array:
    """The numbers `begin`, `begin + 1`, … of each range, `count` of them, one range behind the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: Array = np.arange(total, dtype=np.int64) + np.repeat(begins - (ends - counts), counts)
    return found
