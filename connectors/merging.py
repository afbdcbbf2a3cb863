"""Several batches as one, so that the cost of a hop is shared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import overload

from tidelog.runtime.interfaces import Batch


class JoinedPlaces(Sequence[str]):
    """The places of several batches, one after the other, each still computed only when asked for."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        for part in self._parts:
            if 0 <= index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError("place index out of range")


def merge_batches(batches: Sequence[Batch]) -> Batch:
    """One batch with all that these hold, in their order; they make no promise of a watermark."""
    if len(batches) == 1:
        return batches[0]
    records = list(chain.from_iterable(batch.records for batch in batches))
    rejected = list(chain.from_iterable(batch.rejected for batch in batches))
    places = [batch.places if batch.places is not None else [""] * len(batch.records) for batch in batches]
    return Batch(records, rejected, places=JoinedPlaces(places))
