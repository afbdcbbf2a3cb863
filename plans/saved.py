"""Stored state: plain data, checked as a whole before anything of it is believed."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from tidelog.plans.errors import SnapshotError

T = TypeVar("T")

Natural = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things, or of a place among them."""


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """What a part of a run keeps, as it is stored: every field has its type, and there is no other."""


def read_saved(data: Any, kind: type[T]) -> T:
    """The state in plain data, as it comes from JSON or MessagePack; SnapshotError where it is not of this kind.

    >>> read_saved([1, 2], list[int])
    [1, 2]
    """
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from error
