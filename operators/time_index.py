"""Rows by key and time: what of the stored coverage meets a range, without looking at the rest.

A join looks rows up by the columns that it knows. Where those do not name one row, many rows may share the key, most of them
at other times. So under each key pieces of coverage are kept by length class (the powers of two), each class sorted by
begin: what meets `lo … hi` begins within one class length before `lo`, and two binary searches find it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import POS

Piece = tuple[int, int, Row]

_SMALLEST_ROUND = 256
_FEW = 4
_AFTER_ALL = POS + 1


class TimeIndex:
    """Pieces of coverage by key, for one port of a join; `positions` are the columns that make up the key.

    >>> index = TimeIndex((0,))
    >>> index.add([(("a", 1), 0, 9), (("a", 2), 20, 20), (("b", 1), 5, 5)])
    >>> index.meeting(("a",), 5, 30)
    [(('a', 1), 5, 9), (('a', 2), 20, 20)]
    """

    __slots__ = ("_grown", "_keys", "_positions", "_round")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._positions = positions
        self._keys: dict[Row, dict[int, list[Piece]]] = {}
        self._grown = 0
        self._round = _SMALLEST_ROUND

    def add(self, facts: Sequence[Fact]) -> None:
        """Enter new coverage."""
        keys, positions = self._keys, self._positions
        for row, lo, hi in facts:
            key = tuple([row[i] for i in positions])
            classes = keys.get(key)
            if classes is None:
                classes = keys[key] = {}
            size = (hi - lo).bit_length()
            pieces = classes.get(size)
            if pieces is None:
                classes[size] = [(lo, hi, row)]
            elif pieces[-1][0] <= lo:
                pieces.append((lo, hi, row))
            else:
                pieces.insert(bisect_right(pieces, (lo, _AFTER_ALL)), (lo, hi, row))
        self._grown += len(facts)

    def meeting(self, key: Row, lo: int, hi: int) -> list[Fact]:
        """The pieces under a key that meet `lo … hi`, cut to it."""
        classes = self._keys.get(key)
        if classes is None:
            return []
        found: list[Fact] = []
        for size, pieces in classes.items():
            if len(pieces) > _FEW:
                first = bisect_left(pieces, (lo - (1 << size),))
                pieces = pieces[first : bisect_right(pieces, (hi, _AFTER_ALL))]
            found += [
                (row, begin if begin > lo else lo, end if end < hi else hi)
                for begin, end, row in pieces
                if begin <= hi and end >= lo
            ]
        return found

    def forget(self, bound: int) -> None:
        """Let go of what ends at or before `bound`, once as much has come in as was left the last time."""
        if self._grown <= self._round:
            return
        left = 0
        for key, classes in list(self._keys.items()):
            for size, pieces in list(classes.items()):
                # all before this begin end at or before the bound; a few behind it may as well, and wait
                del pieces[: bisect_left(pieces, (bound - (1 << size) + 1,))]
                left += len(pieces)
                if not pieces:
                    del classes[size]
            if not classes:
                del self._keys[key]
        self._grown, self._round = 0, max(_SMALLEST_ROUND, left)

    def entries(self) -> int:
        """How many pieces are stored."""
        return sum(len(pieces) for classes in self._keys.values() for pieces in classes.values())

    def snapshot(self) -> list[Any]:
        """The pieces as plain lists."""
        every = (piece for classes in self._keys.values() for pieces in classes.values() for piece in pieces)
        return [[list(row), lo, hi] for lo, hi, row in every]

    def restore(self, data: list[Any]) -> None:
        """Take over a snapshot's pieces in place of these."""
        self._keys.clear()
        self._grown, self._round = 0, _SMALLEST_ROUND
        self.add([(tuple(row), lo, hi) for row, lo, hi in data])
