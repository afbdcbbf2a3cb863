"""Anti-join: stratified negation, as far as it is known what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.coverage import Coverage, overlapping
from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.operator import Operator
from tidelog.operators.room import NoRoomError
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG, POS

POSITIVE, NEGATIVE = 0, 1
PROMPT = 16
"""So many open rows are told anew at each frontier, however patient the reader is."""
_SPARE = 64
"""So many entries of what is due may be void, beside as many as there are open rows."""


class AntiJoin(Operator):
    """`M' ← M ∧ not N`.

    Intervals: M's, less N's, up to N's frontier: behind it, N can no longer come to hold. Port 0 is M, port 1 is N. `key`
    takes from a row of M what the negated atom mentions; `match` takes the same from a row of N, or None where its
    constants differ. State: M beyond N's frontier, N beyond M's. Final: as far as both ports, and as all has been told.

    A fact of M that has begun and goes on is **open**: it holds until further notice. Its begin and its end are told at
    once; how far it has come in between, at each frontier, or, if the reader is `patient`, only when about as many facts
    have come as are open: then what nothing happens to costs nothing at each time. The frontier waits for what is untold.
    Where the operator `announces`, nothing is told in between, and the frontier does not wait (`operators/open_rows.py`).

    >>> op = AntiJoin(key=lambda row: row, match=lambda row: row)
    >>> op.receive(0, [(("a",), 1, 9)], 9), op.receive(1, [(("a",), 3, 4)], 5)
    ([], [(('a',), 1, 2), (('a',), 5, 5)])
    """

    __slots__ = (
        "_count",
        "_credit",
        "_ends",
        "_key",
        "_match",
        "_opened",
        "_told",
        "_touched",
        "announced",
        "negative",
        "open",
        "waiting",
    )

    def __init__(self, key: Callable[[Row], Row], match: Callable[[Row], Row | None]) -> None:
        super().__init__(2)
        self._key = key
        self._match = match
        self._count = 0  # facts that begin or end together leave in order of arrival; rows need not be comparable
        self.waiting: list[tuple[int, int, Fact]] = []  # not begun, by begin
        self.open: dict[Row, list[Fact]] = {}  # begun, told so far, by key
        self.announced: dict[Row, list[tuple[Row, int, int, bool]]] = {}  # begun; announced, or kept from holding, by key
        self._opened = 0
        self._ends: list[tuple[int, int, Row]] = []
        self._touched: dict[Row, None] = {}
        self._credit = 0
        self._told = NEG  # all that is open has been told up to here
        self.negative = Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self._credit += len(facts)
        if port == NEGATIVE:
            matched = [(row, lo, hi) for raw, lo, hi in facts if (row := self._match(raw)) is not None]
            self.negative.insert(matched)
            if self.announces:
                for row, lo, _ in matched:
                    if row in self.announced:
                        self._count += 1
                        heappush(self._ends, (lo, self._count, row))
                return []
            self._touched.update((row, None) for row, _, _ in matched if row in self.open)
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
        elif self.announces:
            self._announce(fact, None, out)
        else:
            self._subtract(row, lo, known, out)
            self._leave_open((row, known + 1, hi))

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
            self.announced.setdefault(key, []).append((row, known + 1 if begin is None else begin, hi, begin is not None))
            self._opened += 1
            self._schedule(key, hi)

    def _schedule(self, key: Row, hi: int) -> None:
        """Look at the facts of a key again when something happens to them; entries that are void do not pile up."""
        due = self._next(key, hi)
        if due < POS:
            self._count += 1
            heappush(self._ends, (due, self._count, key))
        if len(self._ends) > 2 * self._opened + _SPARE:
            dues = [(self._next(key, hi), key) for key, facts in self.announced.items() for _, _, hi, _ in facts]
            self._ends = [(due, self._count + i, key) for i, (due, key) in enumerate(dues) if due < POS]
            self._count += len(dues)
            heapify(self._ends)

    def _next(self, key: Row, hi: int) -> int:
        """When the negated atom begins or ends to hold behind its frontier, or a fact that holds until `hi` ends."""
        known, bounds = self.frontiers[NEGATIVE], self.negative.rows.get(key, [])
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
                    self._schedule(key, hi)

    def _leave_open(self, fact: Fact) -> None:
        key, hi = self._key(fact[0]), fact[2]
        self.open.setdefault(key, []).append(fact)
        self._opened += 1
        if self.patient and hi < POS:
            self._count += 1
            heappush(self._ends, (hi, self._count, key))

    def _subtract(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        bounds = self.negative.rows.get(self._key(row), [])
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
        if port == NEGATIVE:
            known = self.frontiers[NEGATIVE]
            if self.announces:  # what ends comes before what goes on where it ended
                self._tell_announced(known, out)
            while self.waiting and self.waiting[0][0] <= known:
                self._decide(heappop(self.waiting)[2], out)
            if not self.announces:
                self._tell(known, out)
        self.frontier = min(self.frontiers) if not self.open else min(*self.frontiers, self._told)
        self.negative.forget(self.frontier)
        return out

    def _tell(self, known: int, out: list[Fact]) -> None:
        """Tell of open facts: all of them when it is their turn, else those to which something has happened."""
        self._credit += PROMPT
        if not self.patient or self._credit >= self._opened or known >= POS:
            keys: Iterable[Row] = tuple(self.open)
            self._credit, self._told = 0, known
            self._ends = []
        else:
            while self._ends and self._ends[0][0] <= known:
                self._touched[heappop(self._ends)[2]] = None
            keys = tuple(self._touched)
        self._touched.clear()
        for key in keys:
            facts = self.open.pop(key, [])
            self._opened -= len(facts)
            for fact in facts:
                if fact[1] <= known:
                    self._decide(fact, out)
                else:
                    self._leave_open(fact)

    def deadline(self) -> tuple[int, int] | None:
        due = self.waiting[0][0] if self.waiting else POS
        if self.announces:
            due = min(due, self._ends[0][0]) if self._ends else due
        elif self._touched:
            due = NEG
        elif self.open and (not self.patient or self._opened <= PROMPT):
            due = min(due, self.frontiers[NEGATIVE] + 1)
        elif self.open and self._ends:
            due = min(due, self._ends[0][0])
        return (NEGATIVE, due) if due < POS else None

    def rest(self) -> list[Fact]:
        out: list[Fact] = []
        if self.announces:
            return out
        self._credit = self._opened
        self._tell(self.frontiers[NEGATIVE], out)
        self.sent += len(out)
        return out

    def entries(self) -> int:
        return len(self.waiting) + self._opened + self.negative.entries()

    def state(self) -> dict[str, Any]:
        return {
            "waiting": [_plain(fact) for _, _, fact in sorted(self.waiting)],
            "open": [[list(key), [_plain(fact) for fact in facts]] for key, facts in self.open.items()],
            "touched": [list(key) for key in self._touched],
            "credit": self._credit,
            "told": self._told,
            "negative": self.negative.snapshot(),
            "announced": [
                [list(row), lo, hi, is_open] for facts in self.announced.values() for row, lo, hi, is_open in facts
            ],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.waiting = [(lo, i, (tuple(row), lo, hi)) for i, (row, lo, hi) in enumerate(state["waiting"])]
        self.open = {tuple(key): [(tuple(row), lo, hi) for row, lo, hi in facts] for key, facts in state["open"]}
        ends = [(hi, key) for key, facts in self.open.items() for _, _, hi in facts if hi < POS]
        self._count = len(self.waiting) + len(ends)
        self._ends = [(hi, len(self.waiting) + i, key) for i, (hi, key) in enumerate(sorted(ends, key=itemgetter(0)))]
        self._opened = sum(map(len, self.open.values()))
        self._touched = {tuple(key): None for key in state["touched"]}
        self._credit, self._told = state["credit"], state["told"]
        self.negative.restore(state["negative"])
        self.announced.clear()
        for row, lo, hi, is_open in state["announced"]:
            key = self._key(tuple(row))
            self.announced.setdefault(key, []).append((tuple(row), lo, hi, is_open))
            self._opened += 1
            self._schedule(key, hi)


def _plain(fact: Fact) -> list[Any]:
    row, lo, hi = fact
    return [list(row), lo, hi]
