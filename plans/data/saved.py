"""Stored state: plain data, checked as a whole before anything of it is believed.

Small states are read by their types (`read_saved`). What is large, and made of many parts, is sealed: a checksum over all of
it tells that it is what was written, with every part as it was, whatever has carried it since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import msgspec

from tidelog.plans.diagnostics.errors import SnapshotError

T = TypeVar("T")

Natural = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things, or of a place among them."""


_SEAL = "checksum"
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a run's stored state: every field has a type, and unknown fields are refused."""


def read_saved(data: Any, kind: type[T]) -> T:
    """The state in plain data, as it comes from JSON or MessagePack; SnapshotError where it is not of this kind.

    >>> read_saved([1, 2], list[int])
    [1, 2]
    """
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from error


def seal(data: dict[str, Any]) -> dict[str, Any]:
    """The same data with a checksum, which is one of its values: it stays the same through JSON and MessagePack."""
    return {**data, _SEAL: _checksum(data)}


def unseal(data: Any) -> dict[str, Any]:
    """What was sealed; SnapshotError where it is anything else.

    >>> unseal(seal({"rows": [["a", 1]], "frontier": 5}))
    {'rows': [['a', 1]], 'frontier': 5}
    """
    if not isinstance(data, Mapping) or _SEAL not in data:
        raise SnapshotError("it has no checksum: it is no snapshot, is damaged, or was taken by an older version")
    content = {name: value for name, value in data.items() if name != _SEAL}
    try:
        found = _checksum(content)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from error
    if found != data[_SEAL]:
        raise SnapshotError("the snapshot is damaged: it is not what was written")
    return content


@contextmanager
def taking() -> Iterator[None]:
    """What fails inside, however it does, fails since a state does not fit: SnapshotError. Fresh objects take it alone."""
    try:
        yield
    except SnapshotError:
        raise
    except Exception as error:
        raise SnapshotError(f"the snapshot is damaged: {error!r}") from error


def _checksum(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(_encode(data)).hexdigest()
