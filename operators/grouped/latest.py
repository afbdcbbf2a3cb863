"""Latest: a value is held until the next one of its group comes, or until it is too old."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.grouped.grouped import Group, Grouped
from tidelog.operators.standing.spells import Spells, earlier
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.passing import Passing
from tidelog.operators.stores.pieces import without
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

_OWN, _HELD = 0, 1
"""What is announced of M itself, and where it is held."""


class Latest(Grouped["HeldValue"]):
    """`M' ← latest M by G in [n]`.

    Intervals: M's own at once; and what held where M of this group held last, from there on, for n at most, until M of this
    group holds again. That is known as far as the frontier, since M may still hold before. State: for each group, facts that
    have not begun, and the last end with the rows that had it; a group goes when that is older than n. Final: as far as the
    port.

    >>> op = Latest(lambda row: row[:1], 10)
    >>> from tidelog.operators.stores.pieces import Pieces
    >>> op.pieces = Pieces()
    >>> op.receive(0, [(("a", 1), 2, 2), (("a", 2), 6, 6)], 7), op.receive(0, [], 20)
    ([(('a', 1), 2, 2), (('a', 2), 6, 6), (('a', 1), 3, 5), (('a', 2), 7, 7)], [(('a', 2), 8, 16)])

    >>> op = Latest(lambda row: row[:1], 10, Spells())
    >>> op.receive(0, [], 5, Notices([(("a", 1), 3)])), op.told_notices().begun
    ([], {('a', 1): 3})
    >>> op.receive(0, [], 8, Notices([], [(("a", 1), 3, 7)])), op.notices.ended, op.notices.begun
    ([], [(('a', 1), 3, 7)], {('a', 1): 8})
    """

    __slots__ = ("_size", "_spells", "_told")

    def __init__(self, key: Callable[[Row], Row], size: int, spells: Spells | None = None) -> None:
        super().__init__(key)
        self._size = size
        self._spells = spells
        self._told = Passing(self.image)  # M's rows, and those that are held beyond their end, where M announces its own

    def make(self, key: Row) -> HeldValue:
        return HeldValue(key, self._size)

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if self._spells is None:
            self._hold(facts)
            return list(facts)
        self._spells.take(facts)
        return list(facts)

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for row, hi in self._spells.hear(notices) if self._spells is not None else ():
            group = self.groups[self._key(row)]
            group.close(row, hi)
            if hi < POS:
                self.note(group, hi + 1)
        out = self._told_of(_OWN, notices, [])
        return out + self.feed(port, facts) if facts else out

    def settle(self, port: int) -> list[Fact]:
        if self._spells is None:
            return super().settle(port)
        begun, going = self._spells.begun(self.frontiers[0])
        self._hold(begun)
        for row, lo in going:
            group = self.group(self._key(row))
            group.open(row, lo)
            self.note(group, lo)
        before, self.notices = self.notices, Notices()
        out = super().settle(port)
        held, self.notices = self.notices, before
        return self._told_of(_HELD, held, out)

    def _told_of(self, port: int, notices: Notices, out: list[Fact]) -> list[Fact]:
        """Tell what stands of M's own, or is held, as one."""
        facts: list[Fact] = []
        told = self._told.take(port, notices, self.notices, facts)
        return out + facts + without(notices.ranges(), told)

    def standing_rows(self) -> list[tuple[Row, int]]:
        return super().standing_rows() if self._spells is None else self._told.standing()

    def _hold(self, facts: Sequence[Fact]) -> None:
        take, groups = self._key, self.groups
        for fact in facts:
            key = take(fact[0])
            group = groups.get(key) or self.group(key)
            group.add(fact)
            if fact[1] < group.fresh:
                self.note(group, fact[1])

    def deadline(self) -> tuple[int, int] | None:
        due = super().deadline()
        return due if self._spells is None else earlier(due, self._spells.deadline())

    def entries(self) -> int:
        return super().entries() + (0 if self._spells is None else self._spells.entries() + self._told.entries())

    def state(self) -> dict[str, Any]:
        if self._spells is None:
            return super().state()
        return {**super().state(), "spells": self._spells.state(), "told": self._told.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        if self._spells is not None:
            self._spells.load(state["spells"])
            self._told.load(state["told"])


class HeldValue(Group):
    """One group of `latest`: its coverage so far ends at `end`, where `rows` held.

    That they are held has been told before `since`; from there on it is `announced`, or nothing has been told of it. While
    there are rows that go on holding, `opened`, nothing is held beyond its end.
    """

    __slots__ = ("_announced", "_count", "_opened", "_since", "_size", "_waiting", "end", "rows")

    def __init__(self, key: Row, size: int) -> None:
        super().__init__(key)
        self._size = size
        self._waiting: list[tuple[int, int, Row, int | None]] | None = None  # not begun, by begin; without an end, it stands
        self._count = 0  # facts that begin together come in order of arrival; rows need not be comparable
        self.end = self._since = NEG
        self.rows: list[Row] = []
        self._announced = False
        self._opened: list[Row] | None = None

    def add(self, fact: Fact) -> None:
        """Take a fact that begins behind the frontier."""
        row, lo, hi = fact
        self._wait(row, lo, hi)

    def open(self, row: Row, lo: int) -> None:
        """Take a row that begins to stand behind the frontier."""
        self._wait(row, lo, None)

    def _wait(self, row: Row, lo: int, hi: int | None) -> None:
        self._count += 1
        if self._waiting is None:
            self._waiting = [(lo, self._count, row, hi)]
        else:
            heappush(self._waiting, (lo, self._count, row, hi))

    def close(self, row: Row, hi: int) -> None:
        """A row that has gone on as far as the frontier ends at `hi`."""
        opened = self._opened or []
        opened.remove(row)
        self._opened = opened or None
        self._enter(row, hi)

    def _enter(self, row: Row, hi: int) -> None:
        if hi > self.end or not self.rows:
            self.end, self.rows, self._since = hi, [row], hi + 1
        elif hi == self.end:
            self.rows.append(row)

    def _last(self) -> int:
        """Until when the rows are held, if nothing comes."""
        if not self.rows:
            return NEG
        return POS if self._size >= POS or self.end >= POS else self.end + self._size

    def look(self, known: int, until: int, out: list[Fact], notices: Notices) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= known:
            lo, _, row, hi = heappop(waiting)
            if (hi is None or hi > self.end or not self.rows) and not self._opened:
                self._tell(min(self._last(), lo - 1), out, notices)
            if hi is not None:
                self._enter(row, hi)
            elif self._opened is None:
                self._opened = [row]
            else:
                self._opened.append(row)
        if not waiting:
            self._waiting = None
        if self._opened:
            return
        last = self._last()
        if known >= min(last, POS):
            self._tell(last, out, notices)
        elif self.end < known and not self._announced:
            self._announced = True
            for row in self.rows:
                notices.begin(row, self._since)

    def _tell(self, until: int, out: list[Fact], notices: Notices) -> None:
        """Tell what is held as far as `until`: it has ended to stand there, or is a fact."""
        since = self._since
        if self._announced:
            for row in self.rows:
                notices.end(row, since, until, out)
            self._announced = False
        elif since <= until:
            out += [(row, since, until) for row in self.rows]
        self._since = max(since, until + 1)

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [(row, self._since) for row in self.rows] if self._announced else []

    def following(self, known: int) -> int:
        begin = self._waiting[0][0] if self._waiting else POS
        last = self._last()
        if last > known and self.end < POS and not self._opened:
            begin = min(begin, last if known > self.end else self.end + 1)
        return begin

    def is_empty(self, known: int) -> bool:
        return not self._waiting and not self._opened and self._last() <= known

    def entries(self) -> int:
        return len(self._waiting or ()) + len(self._opened or ()) + len(self.rows)

    def state(self) -> list[Any]:
        waiting = [[list(row), lo, hi] for lo, _, row, hi in sorted(self._waiting or (), key=itemgetter(0, 1))]
        opened = [list(row) for row in self._opened or ()]
        return [self.end, self._since, self._announced, [list(row) for row in self.rows], opened, waiting]

    def load(self, state: list[Any]) -> None:
        self.end, self._since, self._announced, rows, opened, waiting = state
        self._opened = [tuple(row) for row in opened] or None
        self.rows = [tuple(row) for row in rows]
        for row, lo, hi in waiting:
            self._wait(tuple(row), lo, hi)
