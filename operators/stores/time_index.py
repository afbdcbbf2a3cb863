"""Rows by key and time: what of the stored coverage meets a range, without looking at the rest.

A join looks rows up by the columns that it knows. Where those do not name one row, several may share the key. A few pieces
of coverage under one key are a tuple of facts, which is looked through. Where they are many, they are kept by length class
(the powers of two), each class sorted by begin: what meets `lo … hi` begins within one class length before `lo`, and binary
searches find it. Coverage that goes on where a row's latest piece ends lengthens that piece, so what is stored does not
depend on how finely time was cut.

Pieces are forgotten by when they end (`buckets`), a few at a call. Facts and tuples of them hold no circles, and Python's
garbage collector leaves them alone once it has seen them; so for a key with few pieces there is no other container.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.buckets import Buckets
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import POS

Piece = Sequence[Any]
"""A stretch of one row's coverage, `row, lo, hi`: a fact, or a list where it may be lengthened in place."""

_BEGIN = itemgetter(1)


class TimeIndex:
    """Pieces of coverage by key, for one port of a join; `positions` are the columns that make up the key.

    The key of one column is its value, of several (or none) their tuple. Generated code reads `groups` by itself: a group
    is a tuple of pieces, or a `Crowd`, whose `near` gives them.

    >>> index = TimeIndex((0,))
    >>> index.add([(("a", 1), 0, 9), (("a", 2), 20, 20), (("b", 1), 5, 5)])
    >>> index.groups["a"]
    ((('a', 1), 0, 9), (('a', 2), 20, 20))
    """

    __slots__ = ("_buckets", "_fresh", "_key_of", "groups")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._key_of: Callable[[Row], Hashable] = itemgetter(*positions) if positions else _no_column
        self.groups: dict[Hashable, tuple[Fact, ...] | Crowd] = {}
        self._fresh: list[Fact] = []
        self._buckets: Buckets[Fact] = Buckets()

    def add(self, facts: Sequence[Fact]) -> None:
        """Enter new coverage."""
        groups, key_of, fresh = self.groups, self._key_of, self._fresh
        whole: Sequence[Any] = facts  # what is stored is the fact itself, in compiled code, too: no tuple of the same parts
        for fact in whole:
            key = key_of(fact[0])
            group = groups.get(key)
            if group is None:
                groups[key] = (fact,)
            else:
                before = len(group)
                groups[key] = group = _joined(group, fact) if isinstance(group, tuple) else group.add(fact)
                if len(group) == before:
                    continue  # it has lengthened a piece, which is known
            fresh.append(fact)

    def forget(self, bound: int) -> None:
        """Let go of what ends at or before `bound`, a portion at a time."""
        if bound >= POS:
            self._clear()
            return
        if len(self._fresh) > LIMITS.round:
            effort = LIMITS.effort * len(self._fresh)
            self._file(bound, self._fresh)
            self._fresh = []
        elif self._buckets.due <= bound and self._buckets.size > LIMITS.round >> 2:
            effort = LIMITS.round
        else:
            return
        kept: list[Fact] = []
        while effort >= 0 and (due := self._buckets.take(bound)):
            self._sweep(due, bound, kept)
            effort -= len(due)
        if kept:
            self._file(bound, kept)

    def _file(self, bound: int, pieces: list[Fact]) -> None:
        """Note when pieces end; what has no end stays."""
        self._buckets.file(bound, [piece[2] for piece in pieces], pieces)

    def _sweep(self, due: Iterable[Fact], bound: int, kept: list[Fact]) -> None:
        groups, key_of = self.groups, self._key_of
        for fact in due:
            row, lo, _ = fact
            key = key_of(row)
            group = groups.pop(key, None)
            if group is None:
                continue
            left: tuple[Fact, ...] | Crowd = ()
            if isinstance(group, Crowd):
                left = group.expire(fact, bound, kept)
            elif len(group) > 1 or group[0][2] > bound:
                left = tuple([piece for piece in group if piece[2] > bound])
                kept += [piece for piece in left if piece[1] == lo and piece[0] == row]
            if left:
                groups[key] = left

    def _clear(self) -> None:
        self.groups.clear()
        self._fresh.clear()
        self._buckets.clear()

    def entries(self) -> int:
        """How many pieces are stored."""
        return sum(map(len, self.groups.values()))

    def snapshot(self) -> list[Any]:
        """The pieces as plain lists."""
        return [[list(row), lo, hi] for group in self.groups.values() for row, lo, hi in group]

    def restore(self, data: list[Any]) -> None:
        """Take over a snapshot's pieces in place of these."""
        self._clear()
        self.add([(tuple(row), lo, hi) for row, lo, hi in data])


def _no_column(row: Row) -> Row:
    return ()


def _joined(group: tuple[Fact, ...], fact: Any) -> tuple[Fact, ...] | Crowd:
    """A group with one fact more: with a longer piece, if one of the same row ends where it begins."""
    taken: Fact = fact
    row, lo, hi = taken
    before = lo - 1
    for piece in group:
        if piece[2] == before and piece[0] == row:
            at = group.index(piece)
            return (*group[:at], (row, piece[1], hi), *group[at + 1 :])
    return (*group, fact) if len(group) < LIMITS.few else Crowd((*group, fact))


class Crowd:
    """Many pieces under one key, by length class; what meets a time begins within a class's length before it, or at it.

    Pieces are lists, for they are lengthened in place. When half of them have ended, these go; a crowd that has become
    small is a tuple again.

    >>> crowd = Crowd([(("a",), 1, 2), (("b",), 3, 9)]).add((("a",), 3, 5))
    >>> crowd.near(4, 6)
    [[('a',), 1, 5], [('b',), 3, 9]]
    """

    __slots__ = ("_classes", "_count", "_ended", "_latest")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._classes: dict[int, list[list[Any]]] = {}
        self._latest: dict[Row, list[Any]] = {}
        self._count = self._ended = 0
        for piece in pieces:
            self.add(piece)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Piece]:
        return (piece for pieces in self._classes.values() for piece in pieces)

    def add(self, fact: Piece) -> Crowd:
        """Enter a fact: as a piece, or as more of its row's latest one."""
        row, lo, hi = fact
        latest = self._latest.get(row)
        if latest is not None and latest[2] + 1 == lo:
            self._lengthen(latest, hi)
            return self
        piece = [row, lo, hi]
        if latest is None or hi > latest[2]:
            self._latest[row] = piece
        self._count += 1
        self._enter(piece)
        return self

    def _enter(self, piece: list[Any]) -> None:
        _, lo, hi = piece
        pieces = self._classes.setdefault((hi - lo).bit_length(), [])
        if not pieces or pieces[-1][1] <= lo:
            pieces.append(piece)
        else:
            pieces.insert(bisect_right(pieces, lo, key=_BEGIN), piece)

    def _lengthen(self, piece: list[Any], hi: int) -> None:
        """Let a piece end later; it changes its class only when it has doubled."""
        _, lo, end = piece
        before = (end - lo).bit_length()
        if (hi - lo).bit_length() == before:
            piece[2] = hi
            return
        pieces = self._classes[before]
        at = bisect_left(pieces, lo, key=_BEGIN)
        while pieces[at] is not piece:
            at += 1
        del pieces[at]
        if not pieces:
            del self._classes[before]
        piece[2] = hi
        self._enter(piece)

    def near(self, lo: int, hi: int) -> list[list[Any]]:
        """All pieces that meet `lo … hi`, and a few others."""
        found: list[list[Any]] = []
        for size, pieces in self._classes.items():
            if len(pieces) > LIMITS.few:
                first = bisect_left(pieces, lo - (1 << size), key=_BEGIN)
                found += pieces[first : bisect_right(pieces, hi, key=_BEGIN)]
            else:
                found += pieces
        return found

    def expire(self, fact: Fact, bound: int, kept: list[Fact]) -> Crowd | tuple[Fact, ...]:
        """What is left when a piece, as it was entered, has ended; if it has been lengthened beyond, it goes to `kept`."""
        row, lo, _ = fact
        latest = self._latest.get(row)
        if latest is not None and latest[1] == lo and latest[2] > bound:
            kept.append((row, lo, latest[2]))
            return self
        self._ended += 1
        if 2 * self._ended < self._count:
            return self
        alive = [piece for piece in self if piece[2] > bound]
        return Crowd(alive) if len(alive) > LIMITS.few else tuple([(row, lo, hi) for row, lo, hi in alive])
