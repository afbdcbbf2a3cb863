"""Since, where what goes on holding at either side is announced, and what follows from it, too."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.metric.pairing import LEFT, RIGHT, Range, RowPairing, dilated, without_left
from tidelog.operators.metric.since import Since
from tidelog.operators.operator import shift
from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, Coverage, cut, merge, overlapping
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric

_NOW: Bounds = []
_PAIR, _ALONE = 0, 1
"""Two ways to a row of the result: both sides, or the right side alone."""


class OpenSince(Sweeping):
    """`M' ← M1 Sϱ M2`, with announcements at its ports and in what it sends.

    Intervals: those of `Since`, which takes what is open as if it never ended. What follows is gone through in the order of
    time, as far as both sides are known; of a row that is shut, what would have followed behind its end is withdrawn, and
    armed, in case the run goes on after all. What of it is certain when a fact comes is told at once. State: that of `Since`
    and of `Sweeping`; the open rows, and what is known of these by facts. Final: as `Since`; what is announced is known
    `beyond` that.

    >>> same = RowPairing(key_of_left=tuple, key_of_right=tuple, combine=lambda left, right: right)
    >>> since = OpenSince(Metric(2, 6), 0, same, slowest=0)
    >>> since.receive(0, [(("a",), 2, OPEN)], 5), since.receive(1, [(("a",), 4, 4)], 5), since.receive(0, [], 6)
    ([], [(('a',), 6, 6)], [(('a',), 6, 4611686018427387905)])
    >>> since.receive(0, [], 20)
    []
    >>> since.receive(1, [], 20)
    [(('a',), 6, 4611686018427387906), (('a',), 6, 10)]
    """

    __slots__ = ("_alone", "_beyond", "_coming", "_count", "_metric", "_pairs", "_to_open", "_under")

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing, slowest: int, beyond: int = 0) -> None:
        super().__init__(2, slowest)
        self._metric = metric
        self._beyond = beyond
        self._alone = None if pairing.left_adds_columns else without_left(metric, touch)
        self._pairs = _Pairs(metric, touch, pairing, self.frontiers)
        self._under: list[dict[Row, Bounds]] = [{}, {}]  # of open rows what facts tell, where they may still end before
        self._to_open: list[dict[Row, int]] = [{}, {}]  # rows that are announced, and may be taken back before they begin
        self._coming: list[list[tuple[int, int, Row]]] = [[], []]  # when they begin
        self._count = 0  # rows need not be comparable

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0]

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        way, row = place
        self.holding[way][row] = _NOW
        self.gain(row, held)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        way, row = place
        del self.holding[way][row]
        self.lose(row, held)

    # --- what comes in --------------------------------------------------------------------------------------------------

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        pairs = self._pairs
        if self._known >= POS:
            return []  # what was open has held to the end
        pairs.begin(self.room)
        shut: dict[Row, list[Range]] = {row: [] for row, _, hi in facts if hi == SHUT}
        for row, lo, hi in facts:
            if row in shut and hi <= POS:
                shut[row].append((lo, hi))
        for row, lo, hi in facts:
            if hi == SHUT:
                self._shut(port, row, lo, shut[row])
            elif hi == OPEN:
                self._announced(port, row, lo)
            elif row not in shut:
                self._take_fact(port, row, lo, hi)
        return self._ahead_of_time()

    def _ahead_of_time(self) -> list[Fact]:
        """Note what is held, and tell what of it is certain."""
        for fact in self._pairs.held:
            self._note(_PAIR, fact)
        return self.tell_ahead(self._pairs.certain)

    def _announced(self, port: int, row: Row, lo: int) -> None:
        if lo <= self.frontiers[port]:
            self._open(port, row, lo)
            return
        self._to_open[port][row] = lo
        self._count += 1
        heappush(self._coming[port], (lo, self._count, row))

    def _shut(self, port: int, row: Row, lo: int, told: list[Range]) -> None:
        if self._to_open[port].pop(row, None) is None:
            self._withdraw(port, row, lo, told)
            return
        for begin, end in told:
            self._take_fact(port, row, begin, end)

    def _take_fact(self, port: int, row: Row, lo: int, hi: int) -> None:
        since = self._pairs.opened[port].get(row)
        if since is not None and hi >= since:
            self._keep(port, row, lo, hi)
            hi = since - 1
        if lo <= hi:
            self._pass_to_pairs(port, row, lo, hi)

    def _keep(self, port: int, row: Row, lo: int, hi: int) -> None:
        """Keep what a fact tells of an open row, as long as that may have ended before."""
        bounds = self._under[port].setdefault(row, [])
        merge(bounds, lo, hi, 1, row, [])
        gone = 0
        while gone < len(bounds) and bounds[gone + 1] <= self.frontiers[port]:
            gone += 2
        del bounds[:gone]

    def _open(self, port: int, row: Row, lo: int) -> None:
        bounds = self._pairs.side(port).rows.get(row, [])
        for i in overlapping(bounds, lo, POS):
            self._keep(port, row, bounds[i], bounds[i + 1])
        self._pairs.opened[port][row] = lo
        self._pass_to_pairs(port, row, lo, POS)

    def _pass_to_pairs(self, port: int, row: Row, lo: int, hi: int) -> None:
        self._pairs.take(port, row, lo, hi)
        if port == RIGHT and self._alone is not None:
            begin, end = dilated(self._alone, lo, hi)
            self._note(_ALONE, (row, begin, end))
            if row in self._pairs.opened[RIGHT]:
                known = self.frontiers[RIGHT]
                end = min(end, dilated(self._alone, known, known)[1]) if known > NEG else NEG
            if begin <= end > NEG:
                self._pairs.certain.append((row, begin, end))

    def _note(self, way: int, fact: Fact) -> None:
        row, lo, hi = fact
        self._take((way, row), row, lo, hi)

    # --- what ends ------------------------------------------------------------------------------------------------------

    def _withdraw(self, port: int, row: Row, lo: int, told: list[Range]) -> None:
        """A row is open no longer: it has held as far as it was known, and as facts tell; no more follows."""
        pairs = self._pairs
        del pairs.opened[port][row]
        known = self._under[port].pop(row, [])
        merge(known, lo, max(lo, self.frontiers[port]), 1, row, [])
        for begin, end in told:
            merge(known, begin, end, 1, row, [])
        end = known[next(overlapping(known, lo, lo)) + 1]
        begin = pairs.cut(port, row, end)
        if port == LEFT:
            self._withdraw_left(row, begin, end)
        else:
            self._withdraw_right(row, begin, end)
        for i in range(0, len(known), 2):
            if known[i] < begin:  # it is known to begin earlier
                self._pass_to_pairs(port, row, known[i], min(known[i + 1], begin - 1))
            elif known[i] > end:
                self._pass_to_pairs(port, row, known[i], known[i + 1])

    def _withdraw_left(self, row: Row, begin: int, end: int) -> None:
        pairs = self._pairs
        upto = pairs.closure(begin, end)[1]
        rights = pairs.met.pop(row, {})
        pairs.meetings -= len(rights)
        for right in rights:
            beyond = self._cut(_PAIR, pairs.pairing.combine(row, right), upto)
            if beyond:
                pairs.arm(row, begin, right, beyond)

    def _withdraw_right(self, row: Row, begin: int, end: int) -> None:
        pairs = self._pairs
        for left in pairs.pairing.lefts_of(row):
            upto = dilated(self._metric, begin, end)[1]
            pairs.disarm(left, row, end, upto)
            self._cut(_PAIR, pairs.pairing.combine(left, row), pairs.last_reached(left, end, upto))
        if self._alone is not None:
            self._cut(_ALONE, row, dilated(self._alone, begin, end)[1])

    def _cut(self, way: int, row: Row, upto: int) -> Bounds:
        """Take back that a row of the result holds behind a time; returns what has been taken back."""
        spell = self._spells[way].get(row)
        if spell is None:
            return []
        beyond = cut(spell.bounds, upto)
        if beyond:
            self._look_at((way, row), max(upto, self._known) + 1)
        return beyond

    # --- time -----------------------------------------------------------------------------------------------------------

    def settle(self, port: int) -> list[Fact]:
        self._pairs.begin(self.room)
        for at, coming in enumerate(self._coming):
            while coming and coming[0][0] <= self.frontiers[at]:
                lo, _, row = heappop(coming)
                if self._to_open[at].get(row) == lo:
                    del self._to_open[at][row]
                    self._open(at, row, lo)
        out = self._ahead_of_time()
        self._pairs.settle(port)
        self._forget_met()
        return out + self.untold(super().settle(port))

    def _forget_met(self) -> None:
        """Let go of pairs of which nothing is to come, once they may be half of all."""
        pairs, alive = self._pairs, self._spells[_PAIR]
        if pairs.meetings <= 2 * len(alive) + LIMITS.spare:
            return
        combine = pairs.pairing.combine
        for left, rights in pairs.met.items():
            pairs.met[left] = {right: None for right in rights if combine(left, right) in alive}
        pairs.meetings = sum(map(len, pairs.met.values()))

    def reached(self) -> int:
        """Behind its frontier, too, nothing will be untrue that follows by now; but more may follow."""
        return min(self.frontiers[LEFT], shift(self._pairs.promised(), self._beyond))

    def promised(self, known: int) -> int:
        return self._pairs.promised()

    def deadline(self) -> tuple[int, int] | None:
        left, right = ([coming[0][0]] if coming else [] for coming in self._coming)
        turns = [turn[0] for turn in self._turns[:1]]
        due = min([*turns, *left, *(shift(lo, self._metric.a) for lo in right)], default=None)
        if due is None or self._slowest == LEFT:
            return None if due is None else (LEFT, due)
        return RIGHT, shift(due, -self._metric.a - self._beyond)

    # --- what is held ---------------------------------------------------------------------------------------------------

    def entries(self) -> int:
        under = sum(len(bounds) >> 1 for rows in self._under for bounds in rows.values())
        return super().entries() + self._pairs.entries() + under + sum(map(len, self._coming))

    def state(self) -> dict[str, Any]:
        under = [[[list(row), list(bounds)] for row, bounds in rows.items()] for rows in self._under]
        to_open = [[[list(row), lo] for row, lo in rows.items()] for rows in self._to_open]
        return {**super().state(), "pairs": self._pairs.state(), "under": under, "to_open": to_open}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._pairs.load(state["pairs"])
        self._under = [{tuple(row): list(bounds) for row, bounds in rows} for rows in state["under"]]
        self._to_open = [{tuple(row): lo for row, lo in rows} for rows in state["to_open"]]
        self._coming = [[(lo, i, row) for i, (row, lo) in enumerate(rows.items())] for rows in self._to_open]
        for coming in self._coming:
            heapify(coming)
        self._count = max(map(len, self._coming))


class _Pairs(Since):
    """`Since` without what the right side makes alone, over what is open as if it never ended.

    `held` is what follows from that, and `certain` what of it follows from what is known.
    """

    __slots__ = ("certain", "held", "meetings", "met", "opened")

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing, frontiers: list[int]) -> None:
        super().__init__(metric, touch, pairing)
        self.alone = None
        self.frontiers = frontiers
        self.opened: tuple[dict[Row, int], dict[Row, int]] = ({}, {})
        self.met: dict[Row, dict[Row, None]] = {}  # open left row → the right rows that it has met, though forgotten since
        self.meetings = 0
        self.held: list[Fact] = []
        self.certain: list[Fact] = []

    def begin(self, room: Room) -> None:
        """A message begins."""
        self.room = room
        self._most_armed = self._armed_ranges + room.rows
        self.held, self.certain = [], []

    def side(self, port: int) -> Coverage:
        """What is stored of a port."""
        return self.left if port == LEFT else self.right

    def take(self, port: int, row: Row, lo: int, hi: int) -> None:
        """New coverage of a port."""
        if port == LEFT:
            self.take_left(row, lo, hi, self.held)
        else:
            self.take_right(row, lo, hi, self.held)
        if len(self.held) > self.room.rows:
            raise NoRoomError(len(self.held))

    def _hold(self, pair: tuple[Row, Row], begin: int, run_hi: int, held: Range, out: list[Fact]) -> None:
        super()._hold(pair, begin, run_hi, held, out)
        left, right = pair
        lo, hi = held
        if run_hi >= POS and left in self.opened[LEFT]:
            rights = self.met.setdefault(left, {})
            if right not in rights:
                rights[right] = None
                self.meetings += 1
            known = self.frontiers[LEFT]
            run_hi = self.closure(begin, max(begin, known))[1] if known > NEG else NEG
        if right in self.opened[RIGHT]:
            met, known = max(self.closure(begin, begin)[0], self.opened[RIGHT][right]), self.frontiers[RIGHT]
            if known <= NEG or met > known:
                return  # they have not met yet
            first, last = dilated(self.metric, met, known)
            lo, hi = max(lo, first), min(hi, last)
        hi = min(hi, run_hi)
        if lo <= hi and hi > NEG:
            self.certain.append((self.pairing.combine(left, right), lo, hi))

    def cut(self, port: int, row: Row, end: int) -> int:
        """The last run of a row, which had no end, has one; returns its begin."""
        bounds = self.side(port).rows[row]
        bounds[-1] = end
        return bounds[-2]

    def arm(self, left: Row, begin: int, right: Row, beyond: Bounds) -> None:
        """What follows from a pair if the run of its left row goes on."""
        bounds = self.armed.setdefault(left, {}).setdefault(begin, {}).setdefault(right, [])
        before = len(bounds)
        for i in range(0, len(beyond), 2):
            merge(bounds, beyond[i], beyond[i + 1], 1, right, [])
        self._armed_ranges += (len(bounds) - before) >> 1

    def last_reached(self, left: Row, end: int, upto: int) -> int:
        """How far a pair holds whose right row has ended, if it would hold `upto` a time in a run that goes on."""
        bounds = self.left.rows.get(left, [])
        reached = end
        for i in range(0, len(bounds), 2):
            run_lo, run_hi = self.closure(bounds[i], bounds[i + 1])
            if run_lo <= end:
                reached = run_hi
        return min(reached, upto)

    def disarm(self, left: Row, right: Row, end: int, upto: int) -> None:
        """A right row has ended: nothing follows behind `upto`, nor in runs that begin behind its end, if they go on."""
        for begin, rows in self.armed.get(left, {}).items():
            bounds = rows.get(right, [])
            before = len(bounds)
            cut(bounds, upto if self.closure(begin, begin)[0] <= end else NEG)
            self._armed_ranges -= (before - len(bounds)) >> 1

    def state(self) -> dict[str, Any]:
        opened = [[[list(row), lo] for row, lo in rows.items()] for rows in self.opened]
        met = [[list(left), [list(right) for right in rights]] for left, rights in self.met.items()]
        return {**super().state(), "opened": opened, "met": met}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        for rows, stored in zip(self.opened, state["opened"], strict=True):
            rows.clear()
            rows.update((tuple(row), lo) for row, lo in stored)
        self.met = {tuple(left): dict.fromkeys(map(tuple, rights)) for left, rights in state["met"]}
        self.meetings = sum(map(len, self.met.values()))
