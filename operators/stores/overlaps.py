"""How many facts hold at a time: the timeline cut where that changes, each stretch with its number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from tidelog.plans.data.timeline import NEG, POS


class Overlaps:
    """The stretches of one group; each begins where a fact begins, or behind the end of one.

    >>> overlaps = Overlaps(2)
    >>> overlaps.add(1, 9, 1), overlaps.add(4, 12, 1), overlaps.add(8, 8, 1)
    ([], [(4, 9)], [])
    """

    __slots__ = ("_begins", "_counts", "_least")

    def __init__(self, least: int) -> None:
        self._least = least
        self._begins: list[int] = [NEG]
        self._counts: list[int] = [0]

    def add(self, lo: int, hi: int, _weight: object) -> list[tuple[int, int]]:
        """Take a fact in; returns ranges at which there is enough since then."""
        first = self._cut(lo)
        after = self._cut(hi + 1) if hi < POS else len(self._begins)
        begins, counts, least = self._begins, self._counts, self._least
        found: list[tuple[int, int]] = []
        for i in range(first, after):
            counts[i] += 1
            if counts[i] == least:
                last = begins[i + 1] - 1 if i + 1 < len(begins) else POS
                if found and found[-1][1] == begins[i] - 1:
                    found[-1] = (found[-1][0], last)
                else:
                    found.append((begins[i], last))
        return found

    def _cut(self, time: int) -> int:
        """The stretch that begins at a time; it is cut off the one that holds the time where none does."""
        place = bisect_left(self._begins, time)
        if place == len(self._begins) or self._begins[place] != time:
            self._begins.insert(place, time)
            self._counts.insert(place, self._counts[place - 1])
        return place

    def forget(self, bound: int) -> None:
        """Let go of what ends at or before a time: nothing will come there any more."""
        place = bisect_right(self._begins, bound) - 1
        if place > 0:
            del self._begins[:place], self._counts[:place]
            self._begins[0] = NEG

    def entries(self) -> int:
        """How many stretches are stored, besides one that has nothing."""
        return len(self._begins) - (not self._counts[-1])

    def state(self) -> list[Any]:
        """All of it as plain data."""
        return [[begin, count] for begin, count in zip(self._begins, self._counts, strict=True)]

    def load(self, stretches: list[Any]) -> None:
        """Take over what `state` gave."""
        self._begins = [begin for begin, _ in stretches]
        self._counts = [count for _, count in stretches]
