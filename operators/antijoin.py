"""Anti-join: stratified negation, as far as it is known what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.operator import Operator
from tidelog.operators.room import NoRoomError
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG, POS

POSITIVE, NEGATIVE = 0, 1
_SPARE = 64
"""So many entries of what is due may be void, beside as many as there are open rows."""


class AntiJoin(Operator):
    """`M' ← M ∧ not N`.

    Intervals: M's, less N's, up to N's frontier: behind it, N can no longer come to hold. Port 0 is M, port 1 is N. `key`
    takes from a row of M what the negated atom mentions; `match` takes the same from a row of N, or None where its
    constants differ. State: M beyond N's frontier, N beyond M's. Final: as far as both ports.

    A fact of M that has begun and goes on is **open**: it holds until further notice. It is announced where it begins, and
    where it ends (`operators/open_rows.py`); in between nothing is done about it.

    >>> op = AntiJoin(key=lambda row: row, match=lambda row: row)
    >>> from tidelog.operators.open_rows import Pieces
    >>> op.pieces = Pieces()
    >>> op.receive(0, [(("a",), 1, 9)], 9), op.receive(1, [(("a",), 3, 4)], 5)
    ([], [(('a',), 1, 2), (('a',), 5, 5)])
    """

    __slots__ = ("_count", "_ends", "_key", "_match", "_opened", "announced", "negative", "waiting")

    settles_by_port = False

    def __init__(self, key: Callable[[Row], Row], match: Callable[[Row], Row | None]) -> None:
        super().__init__(2)
        self._key = key
        self._match = match
        self._count = 0  # facts that begin or end together leave in order of arrival; rows need not be comparable
        self.waiting: list[tuple[int, int, Fact]] = []  # not begun, by begin
        self.announced: dict[Row, list[tuple[Row, int, int, bool]]] = {}  # begun; announced, or kept from holding, by key
        self._opened = 0
        self._ends: list[tuple[int, int, Row]] = []
        self.negative = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == NEGATIVE:
            matched = [(row, lo, hi) for raw, lo, hi in facts if (row := self._match(raw)) is not None]
            self.negative.insert(matched)
            for row, lo, _ in matched:
                if row in self.announced:
                    self._count += 1
                    heappush(self._ends, (lo, self._count, row))
            return []
        out: list[Fact] = []
        for fact in facts:
            self._decide(fact, out)
        return out

    def _decide(self, fact: Fact, out: list[Fact]) -> None:
        """Send the part of a positive fact that is decided, and keep the rest."""
        row, lo, hi = fact
        known = self.frontiers[NEGATIVE]
        if hi <= known:
            self._subtract(row, lo, hi, out)
        elif lo > known or known <= NEG:
            self._count += 1
            heappush(self.waiting, (lo, self._count, fact))
        else:
            self._announce(fact, None, out)

    def _announce(self, fact: Fact, told: int | None, out: list[Fact]) -> None:
        """Send what is decided of a fact, but announce what goes on; `told` is since when it is announced already."""
        row, lo, hi = fact
        known = self.frontiers[NEGATIVE]
        pieces: list[Fact] = []
        self._subtract(row, lo, min(hi, known), pieces)
        begin = pieces[-1][1] if pieces and pieces[-1][2] == known < hi else None
        if told is None or told != begin:
            if told is not None:
                out.append((row, told, SHUT))
            out += pieces if begin is None else pieces[:-1]
            if begin is not None:
                out.append((row, begin, OPEN))
        if hi > known:
            key = self._key(row)
            lo = self._freed(key, known) if begin is None else begin
            if lo <= hi:
                self.announced.setdefault(key, []).append((row, lo, hi, begin is not None))
                self._opened += 1
                self._schedule(key, hi, begin is not None)

    def _freed(self, key: Row, known: int) -> int:
        """From when on what is kept from holding may hold: what keeps it is forgotten before it is looked at again."""
        bounds = self.negative.rows.get(key)
        if not bounds:
            return known + 1
        return max([known, *(bounds[i + 1] for i in overlapping(bounds, known, known))]) + 1

    def _schedule(self, key: Row, hi: int, is_open: bool) -> None:
        """Look at the facts of a key again when something happens to them; entries that are void do not pile up."""
        due = self._next(key, hi, is_open)
        if due < POS:
            self._count += 1
            heappush(self._ends, (due, self._count, key))
        if len(self._ends) > 2 * self._opened + _SPARE:
            dues = [
                (self._next(key, hi, is_open), key) for key, facts in self.announced.items() for _, _, hi, is_open in facts
            ]
            self._ends = [(due, self._count + i, key) for i, (due, key) in enumerate(dues) if due < POS]
            self._count += len(dues)
            heapify(self._ends)

    def _next(self, key: Row, hi: int, is_open: bool) -> int:
        """When the negated atom begins or ends to hold behind its frontier, or a fact that holds until `hi` ends."""
        known, bounds = self.frontiers[NEGATIVE], self.negative.rows.get(key)
        if not bounds:
            return hi if is_open else known + 1
        if not is_open and next(overlapping(bounds, known, known), None) is None:
            return known + 1  # what has kept it from holding has ended, and is forgotten
        for i in overlapping(bounds, known, POS):
            if bounds[i] > known:
                return min(hi, bounds[i])
            hi = min(hi, bounds[i + 1] + 1)
        return hi

    def _tell_announced(self, known: int, out: list[Fact]) -> None:
        """Look at the facts at which something happens by now."""
        keys: dict[Row, None] = {}
        while self._ends and self._ends[0][0] <= known:
            keys[heappop(self._ends)[2]] = None
        for key in tuple(self.announced) if known >= POS else keys:
            facts = self.announced.pop(key, [])
            self._opened -= len(facts)
            for row, lo, hi, is_open in facts:
                if lo <= known:
                    self._announce((row, lo, hi), lo if is_open else None, out)
                else:
                    self.announced.setdefault(key, []).append((row, lo, hi, is_open))
                    self._opened += 1
                    self._schedule(key, hi, is_open)

    def _subtract(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        bounds = self.negative.rows.get(self._key(row))
        if bounds:
            for i in overlapping(bounds, lo, hi):
                if bounds[i] > lo:
                    out.append((row, lo, bounds[i] - 1))
                lo = bounds[i + 1] + 1
        if lo <= hi:
            out.append((row, lo, hi))
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        positive, known = self.frontiers
        if known >= POS or (self._ends and self._ends[0][0] <= known):
            self._tell_announced(known, out)  # what ends comes before what goes on where it ended
        while self.waiting and self.waiting[0][0] <= known > NEG:
            self._decide(heappop(self.waiting)[2], out)
        self.frontier = min(positive, known)
        self.negative.forget(self.frontier)
        return out

    def known(self) -> int:
        return self.frontiers[NEGATIVE]

    def deadline(self) -> tuple[int, int] | None:
        due = self.waiting[0][0] if self.waiting else POS
        due = min(due, self._ends[0][0]) if self._ends else due
        if self.pieces is not None and self.pieces.open:
            due = min(due, self.frontiers[NEGATIVE] + 1)
        return (NEGATIVE, due) if due < POS else None

    def entries(self) -> int:
        return len(self.waiting) + self._opened + self.negative.entries()

    def state(self) -> dict[str, Any]:
        return {
            "waiting": [_plain(fact) for _, _, fact in sorted(self.waiting)],
            "negative": self.negative.snapshot(),
            "announced": [
                [list(row), lo, hi, is_open] for facts in self.announced.values() for row, lo, hi, is_open in facts
            ],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.waiting = [(lo, i, (tuple(row), lo, hi)) for i, (row, lo, hi) in enumerate(state["waiting"])]
        self._count = len(self.waiting)
        self._opened, self._ends = 0, []
        self.negative.restore(state["negative"])
        self.announced.clear()
        for row, lo, hi, is_open in state["announced"]:
            key = self._key(tuple(row))
            self.announced.setdefault(key, []).append((tuple(row), lo, hi, is_open))
            self._opened += 1
            self._schedule(key, hi, is_open)


def _plain(fact: Fact) -> list[Any]:
    row, lo, hi = fact
    return [list(row), lo, hi]
