"""Latest: a value is held until the next one of its group comes, or until it is too old."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.grouped import Grouped
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG, POS


class Latest(Grouped["HeldValue"]):
    """`M' ← latest M by G in [n]`.

    Intervals: M's own at once; and what held where M of this group held last, from there on, for n at most, until M of this
    group holds again. That is known as far as the frontier, since M may still hold before. State: for each group, facts that
    have not begun, and the last end with the rows that had it; a group goes when that is older than n. Final: as far as the
    port.

    >>> op = Latest(lambda row: row[:1], 10)
    >>> from tidelog.operators.open_rows import Pieces
    >>> op.pieces = Pieces()
    >>> op.receive(0, [(("a", 1), 2, 2), (("a", 2), 6, 6)], 7), op.receive(0, [], 20)
    ([(('a', 1), 2, 2), (('a', 2), 6, 6), (('a', 1), 3, 5), (('a', 2), 7, 7)], [(('a', 2), 8, 16)])
    """

    __slots__ = ("_size",)

    def __init__(self, key: Callable[[Row], Row], size: int) -> None:
        super().__init__(key)
        self._size = size

    def make(self, key: Row) -> HeldValue:
        return HeldValue(self._size)

    def revive(self, key: Row, state: list[Any]) -> HeldValue:
        group = HeldValue(self._size)
        group.load(*state)
        return group

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        take = self._key
        for fact in facts:
            key = take(fact[0])
            self.group(key).add(fact)
            self.note(key, fact[1])
        return list(facts)


class HeldValue:
    """One group of `latest`: its coverage so far ends at `end`, where `rows` held."""

    __slots__ = ("_count", "_size", "_told", "_waiting", "end", "rows")

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: list[tuple[int, int, Fact]] = []  # not begun, by begin
        self._count = 0  # facts that begin together come in order of arrival; rows need not be comparable
        self.end = self._told = NEG
        self.rows: list[Row] = []

    def add(self, fact: Fact) -> None:
        """Take a fact that begins behind the frontier."""
        self._count += 1
        heappush(self._waiting, (fact[1], self._count, fact))

    def _last(self) -> int:
        """Until when the rows are held, if nothing comes."""
        if not self.rows:
            return NEG
        return POS if self._size >= POS or self.end >= POS else self.end + self._size

    def advance(self, known: int, out: list[Fact]) -> None:
        while self._waiting and self._waiting[0][0] <= known:
            row, lo, hi = heappop(self._waiting)[2]
            self.tell(lo - 1, out)
            if hi > self.end or not self.rows:
                self.end, self.rows, self._told = hi, [row], max(self._told, hi)
            elif hi == self.end:
                self.rows.append(row)

    def tell(self, until: int, out: list[Fact]) -> None:
        lo, hi = max(self._told, self.end) + 1, min(self._last(), until)
        if lo <= hi:
            out += [(row, lo, hi) for row in self.rows]
            self._told = hi

    def following(self, known: int) -> int:
        begin = self._waiting[0][0] if self._waiting else POS
        last = self._last()
        if last > known and self.end < POS:
            begin = min(begin, last if known > self.end else self.end + 1)
        return begin

    def is_open(self, known: int) -> bool:
        return self.end < known < self._last()

    def is_empty(self, known: int) -> bool:
        return not self._waiting and self._last() <= known

    def entries(self) -> int:
        return len(self._waiting) + len(self.rows)

    def state(self) -> list[Any]:
        waiting = [[list(row), lo, hi] for _, _, (row, lo, hi) in sorted(self._waiting)]
        return [self.end, self._told, [list(row) for row in self.rows], waiting]

    def load(self, end: int, told: int, rows: list[Any], waiting: list[Any]) -> None:
        """Take over what `state` gave."""
        self.end, self._told = end, told
        self.rows = [tuple(row) for row in rows]
        self._waiting = [(lo, i, (tuple(row), lo, hi)) for i, (row, lo, hi) in enumerate(waiting, 1)]
        heapify(self._waiting)
        self._count = len(waiting)
