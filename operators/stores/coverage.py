"""The coverage store: for each row, when it holds.

A row's coverage is a flat list of bounds `[lo, hi, lo, hi, …]`: closed ranges of encoded time, sorted, disjoint and not
touching. Its lifecycle is: **insert** (returns only what is new) → **look up** (by the operators, straight from `rows`)
→ **forget** (what ends at or before a bound may go).

Forgetting never changes an answer, only memory: an operator passes a bound behind which nothing can matter any more. Rows
are found by when they end (`buckets`), a few at a call, so the cost follows what is new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.buckets import Buckets
from tidelog.plans.data.facts import Fact, Row, format_atom
from tidelog.plans.data.timeline import POS

Bounds = list[int]


class Coverage:
    """A map from rows to their coverage that answers each insertion with what was not covered before.

    `reach` is the largest distance `next.lo − last.hi` at which two ranges become one: 1 (they touch) for exact coverage;
    larger for the `#`-facts of Wałęga et al. 2023 (section 6), which hold "sufficiently often": the gap is then
    covered too, and reported as new. Where nothing is ever forgotten (`keeps`), it is not noted when rows end. Who puts
    ranges into `rows` by itself adds new rows to `fresh`, and how many ranges they were to `grown`.

    >>> store = Coverage()
    >>> store.insert([(("a",), 1, 4), (("a",), 3, 6)])
    [(('a',), 1, 4), (('a',), 5, 6)]
    >>> store.rows
    {('a',): [1, 6]}
    """

    __slots__ = ("_buckets", "_endless", "_keeps", "fresh", "grown", "reach", "rows")

    def __init__(self, reach: int = 1, *, keeps: bool = False) -> None:
        self.reach = reach
        self.rows: dict[Row, Bounds] = {}
        self.fresh: list[Row] = []
        self.grown = 0
        self._keeps = keeps
        self._buckets: Buckets[Row] = Buckets()
        self._endless: set[Row] = set()  # rows that nobody looks at again, since they do not end

    def insert(self, facts: Iterable[Fact]) -> list[Fact]:
        """Add coverage and return what of it is new, in the order given."""
        rows, reach, fresh = self.rows, self.reach, self.fresh
        new: list[Fact] = []
        whole: Iterable[Any] = facts  # compiled code makes a new tuple of one whose parts it knows: none where it passes on
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            bounds = rows.get(row)
            if bounds is None:
                rows[row] = [lo, hi]
                new.append(fact)
                fresh.append(row)
                continue
            last = bounds[-1]
            if lo > last + reach:
                bounds.append(lo)
                bounds.append(hi)
                new.append(fact)
            elif lo >= bounds[-2]:
                if hi > last:
                    bounds[-1] = hi
                    new.append(fact if lo == last + 1 else (row, last + 1, hi))
            else:
                merge(bounds, lo, hi, reach, row, new)
        self.grown += len(new)
        if self._keeps:
            fresh.clear()
        return new

    def extend(self, facts: Iterable[Fact]) -> list[Row]:
        """Add coverage that is known to be new (a channel's promise) and return the rows not stored so far."""
        rows, fresh = self.rows, self.fresh
        before = len(fresh)
        for row, lo, hi in facts:
            self.grown += 1
            bounds = rows.get(row)
            if bounds is None:
                rows[row] = [lo, hi]
                fresh.append(row)
            elif lo > bounds[-1] + 1:
                bounds.append(lo)
                bounds.append(hi)
            elif lo > bounds[-1]:
                bounds[-1] = hi
            else:
                merge(bounds, lo, hi, 1, row, [])
        return fresh[before:]

    def shorten(self, row: Row, end: int) -> int:
        """Let the last range of a row, which had no end, have one; returns its begin."""
        bounds = self.rows[row]
        bounds[-1] = end
        if row in self._endless:
            self._endless.discard(row)
            self.fresh.append(row)
            self.grown += 1
        return bounds[-2]

    def forget(self, bound: int) -> list[Row]:
        """Let go of what ends at or before `bound`, a portion at a time; returns the rows that are gone."""
        if bound >= POS:
            return self._forget_all()
        if self.grown > LIMITS.round:
            effort = LIMITS.effort * self.grown
            self._file(bound, self.fresh)
            self.fresh = []
            self.grown = 0
        elif self._buckets.due <= bound and self._buckets.size > LIMITS.round >> 2:
            effort = LIMITS.round
        else:
            return []
        gone: list[Row] = []
        kept: list[Row] = []
        while effort >= 0 and (due := self._buckets.take(bound)):
            self._sweep(due, bound, gone, kept)
            effort -= len(due)
        if kept:
            self._file(bound, kept)
        return gone

    def _forget_all(self) -> list[Row]:
        gone = list(self.rows)
        self.grown = 0
        self.rows.clear()
        self.fresh.clear()
        self._buckets.clear()
        self._endless.clear()
        return gone

    def _file(self, bound: int, rows: list[Row]) -> None:
        """Note when to look at rows again: when half of their ranges have ended; those without an end stay."""
        stored = self.rows
        every = [stored[row] for row in rows]
        ends = [bounds[len(bounds) >> 1 | 1] for bounds in every]
        if ends and max(ends) >= POS:
            self._endless.update([row for row, end in zip(rows, ends, strict=True) if end >= POS])
        self._buckets.file(bound, ends, rows)

    def _sweep(self, due: Iterable[Row], bound: int, gone: list[Row], kept: list[Row]) -> None:
        rows = self.rows
        for row in due:
            bounds = rows.pop(row)
            if bounds[-1] <= bound:
                gone.append(row)
                continue
            if bounds[1] <= bound:
                del bounds[: bisect_left(bounds, bound + 1) & ~1]
            rows[row] = bounds
            kept.append(row)

    def bounds(self, row: Row) -> Bounds:
        """When a row holds, which is not to be changed."""
        return self.rows.get(row, [])

    def atoms(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        """Its facts, with the rows as atoms of a predicate, as text."""
        for row, bounds in self.rows.items():
            atom = format_atom(predicate, row)
            for i in range(0, len(bounds), 2):
                yield atom, bounds[i], bounds[i + 1]

    def times(self) -> Iterable[int]:
        """All times at which a range begins or ends, in any order; some may come again."""
        return chain.from_iterable(self.rows.values())

    def entries(self) -> int:
        """How many ranges are stored."""
        return sum(map(len, self.rows.values())) >> 1

    def snapshot(self) -> list[Any]:
        """The coverage as plain lists."""
        return [[list(row), list(bounds)] for row, bounds in self.rows.items()]

    def restore(self, data: list[Any]) -> None:
        """Take over a snapshot's coverage in place of this one's."""
        self.rows.clear()
        self.rows.update((tuple(row), list(bounds)) for row, bounds in data)
        self._buckets.clear()
        self._endless.clear()
        self.fresh[:] = () if self._keeps else self.rows
        self.grown = self.entries()


def merge(bounds: Bounds, lo: int, hi: int, reach: int, row: Row, new: list[Fact]) -> tuple[int, int]:
    """Put `lo … hi` among the ranges of a row, append what is new to `new`, and return the range it became part of.

    >>> bounds, new = [1, 2, 6, 7], []
    >>> merge(bounds, 0, 6, 1, ("a",), new)
    (0, 7)
    >>> bounds, new
    ([0, 7], [(('a',), 0, 0), (('a',), 3, 5)])
    """
    first = bisect_left(bounds, lo - reach) & ~1  # the first range that ends at or after lo − reach
    if first == len(bounds) or bounds[first] > hi + reach:
        new.append((row, lo, hi))
        bounds[first:first] = (lo, hi)
        return lo, hi
    if first + 2 == len(bounds) or bounds[first + 2] > hi + reach:
        return _merge_with_one(bounds, first, lo, hi, row, new)
    end = first
    position = min(lo, bounds[first + 1] + 1)  # a gap within reach is covered too
    while end < len(bounds) and bounds[end] <= hi + reach:
        if position < bounds[end]:
            new.append((row, position, bounds[end] - 1))
        position = max(position, bounds[end + 1] + 1)
        end += 2
    if position <= hi:
        new.append((row, position, hi))
    merged_lo, merged_hi = min(lo, bounds[first]), max(hi, bounds[end - 1])
    bounds[first:end] = (merged_lo, merged_hi)
    return merged_lo, merged_hi


def _merge_with_one(bounds: Bounds, at: int, lo: int, hi: int, row: Row, new: list[Fact]) -> tuple[int, int]:
    """`merge` where the new range meets, or comes within reach of, one range alone."""
    begin, end = bounds[at], bounds[at + 1]
    if lo < begin:
        new.append((row, lo, begin - 1))
        bounds[at] = begin = lo
    if hi > end:
        new.append((row, end + 1, hi))
        bounds[at + 1] = end = hi
    return begin, end


def overlapping(bounds: Bounds, lo: int, hi: int) -> Iterator[int]:
    """The indexes of the ranges that meet `lo … hi`, in order."""
    for i in range(bisect_left(bounds, lo) & ~1, len(bounds), 2):
        if bounds[i] > hi:
            return
        yield i


def subtract(bounds: Bounds, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
    """Append the parts of `lo … hi` that lie outside ranges, as facts of a row.

    >>> out = []
    >>> subtract([1, 4, 6, 9], ("a",), 3, 12, out), out
    (None, [(('a',), 5, 5), (('a',), 10, 12)])
    """
    for i in overlapping(bounds, lo, hi):
        if bounds[i] > lo:
            out.append((row, lo, bounds[i] - 1))
        lo = bounds[i + 1] + 1
    if lo <= hi:
        out.append((row, lo, hi))


def cut(bounds: Bounds, upto: int) -> Bounds:
    """Take off the ranges of a row what lies behind a time, and return that.

    >>> bounds = [1, 4, 6, 9, 12, 15]
    >>> cut(bounds, 7), bounds
    ([8, 9, 12, 15], [1, 4, 6, 7])
    """
    at = bisect_left(bounds, upto + 1) & ~1  # the first range that ends behind it
    beyond = bounds[at:]
    del bounds[at:]
    if beyond and beyond[0] <= upto:
        bounds += (beyond[0], upto)
        beyond[0] = upto + 1
    return beyond
