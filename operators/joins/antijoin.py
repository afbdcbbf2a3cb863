"""Anti-join: stratified negation, as far as it is known what does not hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final

from tidelog.operators.operator import Operator, matched, whole_row
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.by_time import ByTime
from tidelog.operators.stores.coverage import Coverage, overlapping, subtract
from tidelog.operators.stores.presuming import presumed
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

POSITIVE: Final = 0
NEGATIVE: Final = 1


class AntiJoin(Operator):
    """`M' ← M ∧ not N`.

    Intervals: M's, less N's, up to N's frontier: behind it, N can no longer come to hold. Port 0 is M, port 1 is N. `key`
    takes from a row of M what the negated atom mentions; `match` takes the same from a row of N, or None where its
    constants differ. State: M beyond N's frontier, N beyond M's. Final: as far as both ports.

    A fact of M that has begun and goes on **stands**: it is told by notices where it begins, and where it ends
    (`operators/stores/notices.py`); in between nothing is done about it.

    Of the facts that are to begin next a few are looked at with each that comes, and let go if N holds already for as long
    as they do. So when they begin, which they do together, there are only those left that may hold.

    >>> op = AntiJoin(key=lambda row: row, match=lambda row: row)
    >>> from tidelog.operators.stores.pieces import Pieces
    >>> op.pieces = Pieces()
    >>> op.receive(0, [(("a",), 1, 9)], 9), op.receive(1, [(("a",), 3, 4)], 5)
    ([], [(('a',), 1, 2), (('a',), 5, 5)])
    """

    __slots__ = (
        "_begin_ahead",
        "_count",
        "_ends",
        "_key",
        "_looked_at",
        "_match",
        "_opened",
        "_taken",
        "announced",
        "negative",
        "waiting",
    )

    settles_by_port = False

    def __init__(self, key: Callable[[Row], Row], match: Callable[[Row], Row | None]) -> None:
        super().__init__(2)
        self._key = key
        self._match = match
        self._count = 0  # rows need not be comparable
        self.waiting: ByTime[Fact] = ByTime()  # not begun, by begin
        self._taken = 0  # so many have come since some of those were looked at
        self._begin_ahead, self._looked_at = POS, 0  # the begin of those that are looked at, and how many have been
        self.announced: dict[Row, list[tuple[Row, int, int, bool]]] = {}  # begun; announced, or kept from holding, by key
        self._opened = 0
        self._ends: list[tuple[int, int, Row]] = []
        self.negative = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == NEGATIVE:
            negated = matched(self._match, facts)
            self.negative.insert(negated)
            if self.announced:
                for row, lo, _ in negated:
                    if row in self.announced:
                        self._count += 1
                        heappush(self._ends, (lo, self._count, row))
            return []
        out: list[Fact] = []
        known, waiting = self.frontiers[NEGATIVE], self.waiting
        at, begun = waiting.at, list[Fact]()
        whole: Sequence[Any] = facts  # as in `Coverage.insert`
        for fact in whole:
            taken: Fact = fact
            _, lo, hi = taken
            if hi <= known or NEG < known >= lo:
                begun.append(fact)
            elif lo in at:
                at[lo].append(fact)
            else:
                waiting.add(lo, fact)
        if begun:
            self._decide(begun, out)
        self._taken += len(facts)
        if self._taken >= LIMITS.ahead and (begin := waiting.first()) is not None:
            self._look_ahead(begin)
        return out

    def _look_ahead(self, begin: int) -> None:
        """Let go of some of the facts that begin then, if they are kept from holding altogether by what is known of N."""
        if begin != self._begin_ahead:
            self._begin_ahead, self._looked_at = begin, 0
        facts, first, rows, key_of = self.waiting.at[begin], self._looked_at, self.negative.rows, self._key
        some = facts[first : first + 2 * self._taken]
        self._taken = 0
        if not some:
            return
        left: list[Fact] = []
        for fact in some:
            row, lo, hi = fact
            bounds = rows.get(key_of(row))
            if not bounds or bounds[-2] > lo or hi > bounds[-1]:
                left.append(fact)
        facts[first : first + len(some)] = left
        self._looked_at += len(left)

    def _decide(self, facts: Sequence[Fact], out: list[Fact]) -> None:
        """Send the part that is decided of positive facts that have begun, and keep the rest."""
        known, key_of, rows = self.frontiers[NEGATIVE], self._key, self.negative.rows
        is_own_key = key_of is whole_row
        whole: Sequence[Any] = facts
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            if hi > known:
                self._announce(fact, None, out)
                continue
            bounds = rows.get(row if is_own_key else key_of(row))
            if not bounds or bounds[-1] < lo:
                out.append(fact)
                continue
            if bounds[-2] <= lo and hi <= bounds[-1]:  # as mostly
                continue
            at = bisect_left(bounds, lo) & ~1  # the first range that ends at or after its begin
            if bounds[at] > hi:
                out.append(fact)
            elif bounds[at] > lo or bounds[at + 1] < hi:
                self._subtract(row, lo, hi, out)
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def _announce(self, fact: Fact, told: int | None, out: list[Fact]) -> None:
        """Send what is decided of a fact, but announce what goes on; `told` is since when it is announced already."""
        row, lo, hi = fact
        known = self.frontiers[NEGATIVE]
        pieces: list[Fact] = []
        self._subtract(row, lo, min(hi, known), pieces)
        begin = pieces[-1][1] if pieces and pieces[-1][2] == known < hi else None
        if told is None or told != begin:
            pieces = pieces if begin is None else pieces[:-1]
            if told is not None:
                held = bool(pieces) and pieces[0][1] == told
                self.notices.end(row, told, pieces[0][2] if held else told - 1, out)
                pieces = pieces[1:] if held else pieces
            out += pieces
            if begin is not None:
                self.notices.begin(row, begin)
        if hi > known:
            key = self._key(row)
            lo = self._freed(key, known) if begin is None else begin
            if lo <= hi:
                self.announced.setdefault(key, []).append((row, lo, hi, begin is not None))
                self._opened += 1
                self._schedule(key, lo, hi, is_open=begin is not None)

    def _freed(self, key: Row, known: int) -> int:
        """From when on what is kept from holding may hold: what keeps it is forgotten before it is looked at again."""
        bounds = self.negative.rows.get(key)
        if not bounds:
            return known + 1
        return max([known, *(bounds[i + 1] for i in overlapping(bounds, known, known))]) + 1

    def _schedule(self, key: Row, lo: int, hi: int, *, is_open: bool) -> None:
        """Look at the facts of a key again when something happens to them; entries that are void do not pile up.

        What is kept from holding is looked at where what keeps it was to end by what was known when it was looked at last,
        though that may have been lengthened since: further back it is forgotten what has kept it.
        """
        due = self._next(key, hi) if is_open else lo
        if due < POS:
            self._count += 1
            heappush(self._ends, (due, self._count, key))
        if len(self._ends) > 2 * self._opened + LIMITS.spare:
            dues = [
                (self._next(key, hi) if is_open else lo, key)
                for key, facts in self.announced.items()
                for _, lo, hi, is_open in facts
            ]
            self._ends = [(due, self._count + i, key) for i, (due, key) in enumerate(dues) if due < POS]
            self._count += len(dues)
            heapify(self._ends)

    def _next(self, key: Row, hi: int) -> int:
        """When an open fact that holds until `hi` ends, or the negated atom begins to hold behind its frontier."""
        bounds = self.negative.rows.get(key, [])
        return next((bounds[i] for i in overlapping(bounds, self.frontiers[NEGATIVE] + 1, hi)), hi)

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
                    self._schedule(key, lo, hi, is_open=is_open)

    def _subtract(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        bounds = self.negative.rows.get(self._key(row))
        if bounds:
            subtract(bounds, row, lo, hi, out)
        else:
            out.append((row, lo, hi))
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        positive, known = self.frontiers
        if known >= POS or (self._ends and self._ends[0][0] <= known):
            self._tell_announced(known, out)  # what ends comes before what goes on where it ended
        if known > NEG and (begun := self.waiting.reached(known)):
            self._decide(begun, out)
        self.frontier = min(positive, known)
        return out

    def tidy(self) -> None:
        self.negative.forget(self.frontier)

    def presume(self, until: int) -> None:
        """What of N is known to hold behind its frontier does so without a gap, up to `until`."""
        self.negative.insert(presumed(self.negative, self.frontiers[NEGATIVE], until))

    def known(self) -> int:
        return self.frontiers[NEGATIVE]

    def deadline(self) -> tuple[int, int] | None:
        begin = self.waiting.first()
        due = POS if begin is None else begin
        due = min(due, self._ends[0][0]) if self._ends else due
        if self.pieces is not None and self.pieces.standing:
            due = min(due, self.frontiers[NEGATIVE] + 1)
        return (NEGATIVE, due) if due < POS else None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [(row, lo) for facts in self.announced.values() for row, lo, _, is_open in facts if is_open]

    def entries(self) -> int:
        return len(self.waiting) + self._opened + self.negative.entries()

    def state(self) -> dict[str, Any]:
        return {
            "waiting": [_plain(fact) for _, facts in self.waiting.in_order() for fact in facts],
            "negative": self.negative.snapshot(),
            "announced": [
                [list(row), lo, hi, is_open] for facts in self.announced.values() for row, lo, hi, is_open in facts
            ],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.waiting.clear()
        for row, lo, hi in state["waiting"]:
            self.waiting.add(lo, (tuple(row), lo, hi))
        self._opened, self._ends = 0, []
        self.negative.restore(state["negative"])
        self.announced.clear()
        for row, lo, hi, is_open in state["announced"]:
            key = self._key(tuple(row))
            self.announced.setdefault(key, []).append((tuple(row), lo, hi, is_open))
            self._opened += 1
            self._schedule(key, lo, hi, is_open=is_open)


def _plain(fact: Fact) -> list[Any]:
    row, lo, hi = fact
    return [list(row), lo, hi]
