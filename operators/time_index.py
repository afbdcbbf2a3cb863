"""Rows by key and time: what of the stored coverage meets a range, without looking at the rest.

A join looks rows up by the columns that it knows. Where those do not name one row, many rows may share the key, most of them
at other times. So under each key pieces of coverage are kept by length class (the powers of two), each class sorted by
begin: what meets `lo … hi` begins within one class length before `lo`, and two binary searches find it. Coverage that goes
on where a row's latest piece ends lengthens that piece, so what is stored does not depend on how finely time was cut.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from tidelog.plans.facts import Fact, Row


@dataclass(slots=True)
class Piece:
    """A stretch of one row's coverage."""

    lo: int
    hi: int
    row: Row


_SMALLEST_ROUND = 256
_FEW = 4
_BEGIN = attrgetter("lo")


class TimeIndex:
    """Pieces of coverage by key, for one port of a join; `positions` are the columns that make up the key.

    >>> index = TimeIndex((0,))
    >>> index.add([(("a", 1), 0, 9), (("a", 2), 20, 20), (("b", 1), 5, 5)])
    >>> index.meeting(("a",), 5, 30)
    [(('a', 1), 5, 9), (('a', 2), 20, 20)]
    """

    __slots__ = ("_grown", "_keys", "_latest", "_positions", "_round")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._positions = positions
        self._keys: dict[Row, dict[int, list[Piece]]] = {}
        self._latest: dict[Row, Piece] = {}
        self._grown = 0
        self._round = _SMALLEST_ROUND

    def add(self, facts: Sequence[Fact]) -> None:
        """Enter new coverage."""
        latest = self._latest
        for row, lo, hi in facts:
            piece = latest.get(row)
            if piece is not None and lo == piece.hi + 1:
                self._lengthen(piece, hi)
                continue
            new = Piece(lo, hi, row)
            if piece is None or hi > piece.hi:
                latest[row] = new
            self._enter(new)
            self._grown += 1

    def _classes(self, row: Row) -> dict[int, list[Piece]]:
        return self._keys.setdefault(tuple([row[i] for i in self._positions]), {})

    def _enter(self, piece: Piece) -> None:
        pieces = self._classes(piece.row).setdefault((piece.hi - piece.lo).bit_length(), [])
        if not pieces or pieces[-1].lo <= piece.lo:
            pieces.append(piece)
        else:
            pieces.insert(bisect_right(pieces, piece.lo, key=_BEGIN), piece)

    def _lengthen(self, piece: Piece, hi: int) -> None:
        """Let a piece end later; it changes its class only when it has doubled."""
        before = (piece.hi - piece.lo).bit_length()
        if (hi - piece.lo).bit_length() == before:
            piece.hi = hi
            return
        classes = self._classes(piece.row)
        at = bisect_left(classes[before], piece.lo, key=_BEGIN)
        while classes[before][at] is not piece:
            at += 1
        del classes[before][at]
        if not classes[before]:
            del classes[before]
        piece.hi = hi
        self._enter(piece)

    def meeting(self, key: Row, lo: int, hi: int) -> list[Fact]:
        """The pieces under a key that meet `lo … hi`, cut to it."""
        classes = self._keys.get(key)
        if classes is None:
            return []
        found: list[Fact] = []
        for size, pieces in classes.items():
            if len(pieces) > _FEW:
                first = bisect_left(pieces, lo - (1 << size), key=_BEGIN)
                pieces = pieces[first : bisect_right(pieces, hi, key=_BEGIN)]
            for piece in pieces:
                begin, end = piece.lo, piece.hi
                if begin <= hi and end >= lo:
                    found.append((piece.row, begin if begin > lo else lo, end if end < hi else hi))
        return found

    def forget(self, bound: int) -> None:
        """Let go of what ends at or before `bound`, once as much has come in as was left the last time."""
        if self._grown <= self._round:
            return
        left = 0
        for key, classes in list(self._keys.items()):
            for size, pieces in list(classes.items()):
                # all before this begin end at or before the bound; a few behind it may as well, and wait
                dead = bisect_left(pieces, bound - (1 << size) + 1, key=_BEGIN)
                for piece in pieces[:dead]:
                    if self._latest.get(piece.row) is piece:
                        del self._latest[piece.row]
                del pieces[:dead]
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
        return [[list(piece.row), piece.lo, piece.hi] for piece in every]

    def restore(self, data: list[Any]) -> None:
        """Take over a snapshot's pieces in place of these."""
        self._keys.clear()
        self._latest.clear()
        self._grown, self._round = 0, _SMALLEST_ROUND
        self.add([(tuple(row), lo, hi) for row, lo, hi in data])
