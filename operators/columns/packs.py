"""A batch as bytes, for another process: with the values of its own rows, so that a reader needs no pool but its own."""

from __future__ import annotations

import msgspec

from tidelog.operators.columns.arrays import Array, coded, is_number, np
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool

_NUMBER, _CODE, _TIME = "<f8", "<i4", "<i8"
_Column = bytes | tuple[list[str | int | float], bytes]
"""Numbers; or the different values, and for each row the place of its own among them."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[list[_Column], bytes, bytes]).decode


def packed(batch: Batch, pool: Pool) -> bytes:
    """The rows of a batch; an end that is the begin takes no room."""
    columns = [_column(column, pool) for column in batch.columns]
    hi = b"" if batch.hi is batch.lo or np.array_equal(batch.lo, batch.hi) else _bytes(batch.hi, _TIME)
    return _encode((columns, _bytes(batch.lo, _TIME), hi))


def unpacked(data: bytes, pool: Pool) -> Batch:
    """The batch that was packed, with codes of this pool."""
    columns, begins, ends = _decode(data)
    lo = _array(begins, _TIME, np.int64)
    hi = _array(ends, _TIME, np.int64) if ends else lo
    return Batch(tuple(_read(column, pool) for column in columns), lo, hi)


def _column(column: Array, pool: Pool) -> _Column:
    if is_number(column):
        return _bytes(column, _NUMBER)
    places, codes = coded(column)
    return pool.listed(codes), _bytes(places, _CODE)


def _read(column: _Column, pool: Pool) -> Array:
    if isinstance(column, bytes):
        return _array(column, _NUMBER, np.float64)
    values, places = column
    found: Array = pool.codes(values)[_array(places, _CODE, np.int32)]
    return found


def _bytes(column: Array, kind: str) -> bytes:
    return column.astype(kind, copy=False).tobytes()


def _array(data: bytes, kind: str, own: type) -> Array:
    found: Array = np.frombuffer(data, kind).astype(own, copy=False)
    return found
