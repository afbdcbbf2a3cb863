"""Rows as keys: one number for all columns of a row, the same for the same row in several tables."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.operators.columns.arrays import Array, dense, is_number, np
from tidelog.operators.columns.pool import Pool

_MOST = 1 << 40
"""A larger range of keys is made dense before it is combined with another."""


def keys_of(tables: Sequence[Sequence[Array]], lengths: Sequence[int], pool: Pool) -> tuple[list[Array], int]:
    """For each table, a key for each of its rows; and the number below which they all lie, of the order of all rows.

    The columns of the tables correspond. Rows of different tables have the same key where all their values are the same.
    """
    keys, size = np.zeros(sum(lengths), np.int64), 1
    for parts in zip(*tables, strict=True):
        alike = pool.alike(parts)
        column = alike[0] if len(alike) == 1 else np.concatenate(alike)
        numbers, count = _numbered(column)
        if size == 1:
            keys, size = numbers, count
            continue
        if size * count > _MOST:
            keys, size = dense(keys)
        keys, size = keys * count + numbers, size * count
    if size > max(4 * len(keys), 1 << 16):
        keys, size = dense(keys)
    return [keys] if len(lengths) == 1 else np.split(keys, np.cumsum(lengths)[:-1]), size


def _numbered(column: Array) -> tuple[Array, int]:
    """A number from 0 on for each value, and how many there may be."""
    if not len(column):
        return np.empty(0, np.int64), 1
    numbers = np.ascontiguousarray(column).view(np.int64) if is_number(column) else column
    least = int(numbers.min())
    span = int(numbers.max()) - least + 1
    if span > max(4 * len(column), 1 << 16):
        return dense(numbers.astype(np.int64))
    return numbers.astype(np.int64) - least, span
