"""Since, where its left side announces what goes on holding, and the result does so, too."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.coverage import overlapping
from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.pairing import LEFT, RIGHT, RowPairing
from tidelog.operators.since import Since
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import NEG, POS, Metric


class OpenSince(Since):
    """`M' ← M1 S[a,∞) M2`, with announcements (`operators/open_rows.py`) at port 0 and in what it sends.

    Once M1 is open and has met M2, the result is open from a time on, until M1 is shut. It is announced when it is certain
    for that time. Nothing is done in between: a fact of M2 that lies ahead of M1's frontier is looked at once when that
    comes near. State, beyond that of `Since`: the open rows of M1, each with the rows of M2 that it has met, and since when
    the result is open, or from when on it will be.
    """

    __slots__ = ("_coming", "_count", "_due", "_untold", "met")

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing) -> None:
        super().__init__(metric, touch, pairing)
        self.met: dict[Row, tuple[int, dict[Row, int]]] = {}  # open left row → since when; right row → since when open
        self._due: list[tuple[int, int, Row, Row, int]] = []  # left frontier, number, left, right, where they meet
        self._coming: list[tuple[int, int, Row, Row]] = []  # left frontier, number, left and right row to be announced
        self._untold: dict[tuple[Row, Row], int] = {}  # the same, and when the result begins
        self._count = 0  # rows need not be comparable

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if port == RIGHT:
            out: list[Fact] = []
            told = super().feed(port, facts)
            for row, lo, hi in facts:
                for left in self.pairing.lefts_of(row):
                    if left in self.met:
                        self._meet(left, row, lo, hi, out)
            return told + out
        return self._take_announced(facts)

    def _take_announced(self, facts: Sequence[Fact]) -> list[Fact]:
        before: list[Fact] = []
        closing: list[tuple[Row, int, dict[Row, int]]] = []
        for row, _, kind in facts:
            if kind == SHUT:
                since, rights = self.met.pop(row)
                closing.append((row, since, rights))
                for right, begin in rights.items():
                    self._take_back(row, right, begin, before)
        told = super().feed(LEFT, [fact for fact in facts if fact[2] <= POS])
        behind: list[Fact] = []
        for row, since, rights in closing:
            self._close(row, since, rights, told)
        for row, lo, kind in facts:
            if kind == OPEN:
                self._open(row, lo, behind)
        return [*before, *told, *behind]

    def _close(self, row: Row, since: int, rights: dict[Row, int], out: list[Fact]) -> None:
        """What was announced has come as facts: send what follows from them, and arm what would if the run went on."""
        bounds = self.left.rows.get(row, [])
        i = next(iter(overlapping(bounds, since, since)), None)
        if i is None:
            return  # it was announced ahead of time, and has not begun
        _, run_hi = self.closure(bounds[i], bounds[i + 1])
        for right, begin in rights.items():
            self._hold((row, right), bounds[i], run_hi, (begin, POS), out)

    def _open(self, row: Row, lo: int, out: list[Fact]) -> None:
        met: dict[Row, int] = {}
        self.met[row] = (lo, met)
        for begin, _ in self._runs_touching(row, lo, lo):
            for right, bounds in self.armed.get(row, {}).pop(begin, {}).items():
                self._armed_ranges -= len(bounds) >> 1
                self._announce(row, right, bounds[0], out)
        for right in self.pairing.rights_of(row):
            bounds = self.right.rows.get(right, [])
            for i in overlapping(bounds, lo - 1, POS):
                self._meet(row, right, bounds[i], bounds[i + 1], out)

    def _meet(self, left: Row, right: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """A right row meets an open left one: now, or, where it lies ahead, once the left one has come there."""
        begin, _ = self.closure(self.met[left][0], POS)
        if hi < begin:
            return
        meeting = max(lo, begin)
        due = meeting - 1 if self.touch else meeting - (meeting & 1)
        if due <= self.frontiers[LEFT]:
            self._announce(left, right, meeting + self.metric.a | self.metric.left_open, out)
        else:
            self._count += 1
            heappush(self._due, (due, self._count, left, right, meeting))

    def _announce(self, left: Row, right: Row, begin: int, out: list[Fact]) -> None:
        met = self.met[left][1]
        known = met.get(right)
        if known is not None and known <= begin:
            return
        if known is not None:
            self._take_back(left, right, known, out)
        met[right] = begin
        certain = self._certain(begin)
        if certain <= self.frontiers[LEFT]:
            out.append((self.pairing.combine(left, right), begin, OPEN))
            return
        self._untold[left, right] = begin
        self._count += 1
        heappush(self._coming, (certain, self._count, left, right))

    def _take_back(self, left: Row, right: Row, begin: int, out: list[Fact]) -> None:
        if self._untold.pop((left, right), None) is None:
            out.append((self.pairing.combine(left, right), begin, SHUT))

    def _certain(self, begin: int) -> int:
        """How far M1 has to be known, so that what goes on from there on does hold at its begin."""
        if not self.metric.a and not self.metric.left_open:
            return NEG  # M2 alone, or what M1 has brought before, makes it so
        return begin if begin & 1 and not self.touch else begin - 1

    def settle(self, port: int) -> list[Fact]:
        out = super().settle(port)
        while self._due and self._due[0][0] <= self.frontiers[LEFT]:
            _, _, left, right, meeting = heappop(self._due)
            if left in self.met and self.closure(self.met[left][0], POS)[0] <= meeting:
                self._announce(left, right, meeting + self.metric.a | self.metric.left_open, out)
        while self._coming and self._coming[0][0] <= self.frontiers[LEFT]:
            certain, _, left, right = heappop(self._coming)
            begin = self._untold.get((left, right))
            if begin is not None and self._certain(begin) <= certain:
                del self._untold[left, right]
                out.append((self.pairing.combine(left, right), begin, OPEN))
        return out

    def forget_left(self, rows: list[Row]) -> None:
        super().forget_left([row for row in rows if row not in self.met])

    def deadline(self) -> tuple[int, int] | None:
        due = min(due[0][0] for due in (self._due, self._coming) if due) if self._due or self._coming else None
        return None if due is None else (LEFT, due)

    def announced_rows(self) -> list[tuple[Row, int]]:
        met = [(left, *item) for left, (_, rights) in self.met.items() for item in rights.items()]
        return [
            (self.pairing.combine(left, right), since) for left, right, since in met if (left, right) not in self._untold
        ]

    def entries(self) -> int:
        return (
            super().entries() + len(self._due) + len(self._coming) + sum(1 + len(rights) for _, rights in self.met.values())
        )

    def state(self) -> dict[str, Any]:
        met = [
            [list(left), since, [[list(right), lo] for right, lo in rights.items()]]
            for left, (since, rights) in self.met.items()
        ]
        due = [[due, list(left), list(right), meeting] for due, _, left, right, meeting in sorted(self._due)]
        return {**super().state(), "met": met, "due": due}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.met = {tuple(left): (since, {tuple(right): lo for right, lo in rights}) for left, since, rights in state["met"]}
        for left in self.met:
            self.pairing.rights_of(left)
        self._due = [
            (due, i, tuple(left), tuple(right), meeting) for i, (due, left, right, meeting) in enumerate(state["due"])
        ]
        heapify(self._due)
        known = self.frontiers[LEFT]
        met = [(left, *item) for left, (_, rights) in self.met.items() for item in rights.items()]
        self._untold = {(left, right): begin for left, right, begin in met if self._certain(begin) > known}
        self._coming = [(self._certain(begin), i, *pair) for i, (pair, begin) in enumerate(self._untold.items())]
        heapify(self._coming)
        self._count = len(self._due) + len(self._coming)
