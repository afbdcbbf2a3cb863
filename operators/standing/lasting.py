"""Lasting: rows of a result that hold as long as what stands goes on, told where they begin and where they end."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, cut, merge
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS


class Lasting:
    """When each row holds beyond what is `known`, as far as that is to be expected.

    What is over when it is first known is told as a fact. What goes on then begins to stand, and ends where it does, or
    where it is `cut`. State: the ranges of each row that are not over, and since when it is told to stand.

    >>> lasting, notices, facts = Lasting(), Notices(), []
    >>> lasting.expect(("a",), 3, POS), lasting.expect(("b",), 2, 4), lasting.go_on(9, notices, facts)
    (None, None, None)
    >>> notices.begun, facts, lasting.cut(("a",), 12), lasting.deadline()
    ({('a',): 3}, [(('b',), 2, 4)], [13, 4611686018427387902], 13)
    >>> lasting.go_on(13, notices, facts), facts
    (None, [(('b',), 2, 4), (('a',), 3, 12)])
    """

    __slots__ = ("_count", "_since", "_turns", "known", "made", "rows")

    def __init__(self) -> None:
        self.known = NEG
        self.made = 0  # how many ranges have ever been expected
        self.rows: dict[Row, Bounds] = {}
        self._since: dict[Row, int] = {}
        self._turns: list[tuple[int, int, Row]] = []  # when a row begins or ends
        self._count = 0  # rows need not be comparable

    def expect(self, row: Row, lo: int, hi: int) -> None:
        """A row holds over a range, if what stands goes on."""
        if lo <= self.known > NEG:
            lo = self.known + 1
        if lo > hi:
            return
        self.made += 1
        bounds = self.rows.get(row)
        if bounds is None:
            self.rows[row] = [lo, hi]
            self._look_at(row, lo)
        elif merge(bounds, lo, hi, 1, row, [])[0] >= lo:  # else it lengthens a range, which is looked at anyway
            self._look_at(row, lo)

    def cut(self, row: Row, upto: int) -> Bounds:
        """A row does not hold behind a time; returns where it would have."""
        bounds = self.rows.get(row)
        if bounds is None:
            return []
        beyond = cut(bounds, upto)
        if beyond:
            self._look_at(row, max(upto, self.known) + 1)
        return beyond

    def _look_at(self, row: Row, time: int) -> None:
        self._count += 1
        heappush(self._turns, (time, self._count, row))
        if len(self._turns) > 2 * len(self.rows) + LIMITS.spare:
            self._look_at_all()

    def _look_at_all(self) -> None:
        """Forget turns that are void: of rows that are over, or were cut."""
        turns = [(self._turn_of(row, bounds), self._count + i, row) for i, (row, bounds) in enumerate(self.rows.items(), 1)]
        self._count += len(turns)
        self._turns[:] = [turn for turn in turns if turn[0] < POS]  # in place: `go_on` goes through them
        heapify(self._turns)

    def _turn_of(self, row: Row, bounds: Bounds) -> int:
        """When a row begins or ends next; a row of which all was cut ends at once."""
        if not bounds:
            return self.known + 1
        if row in self._since:
            return max(bounds[1], self.known) + 1 if bounds[1] < POS else POS
        return max(bounds[0], self.known + 1)

    def go_on(self, known: int, notices: Notices, out: list[Fact]) -> None:
        """Tell what begins and ends up to a time; at the end of the stream, all that stands has done so for ever."""
        turns = self._turns
        while turns and turns[0][0] <= known:
            row = heappop(turns)[2]
            if row in self.rows:
                self._pass(row, known, notices, out)
        if known >= POS:
            for row, since in self._since.items():
                notices.end(row, since, POS, out)
            self._since.clear()
            self.rows.clear()
        self.known = max(self.known, known)

    def _pass(self, row: Row, known: int, notices: Notices, out: list[Fact]) -> None:
        bounds, gone = self.rows[row], 0
        since = self._since.pop(row, None)
        while gone < len(bounds):
            lo, hi = bounds[gone], bounds[gone + 1]
            if hi >= POS or hi > known or (hi == known and since is not None):  # it may be lengthened yet
                break
            if since is None:
                out.append((row, lo, hi))
            else:
                notices.end(row, since, hi, out)
                since = None
            gone += 2
        del bounds[:gone]
        if since is not None and (not bounds or bounds[0] > known):  # all of it was cut: it held nowhere
            notices.end(row, since, since - 1, out)
            since = None
        if not bounds:
            del self.rows[row]
            return
        lo, hi = bounds[0], bounds[1]
        if lo > known:
            self._look_at(row, lo)
            return
        if since is None:
            since = lo
            notices.begin(row, lo)
        self._since[row] = since
        if hi < POS:
            self._look_at(row, hi + 1)

    def deadline(self) -> int | None:
        """When the next row is to be looked at; None if none is."""
        return self._turns[0][0] if self._turns else None

    def standing(self) -> list[tuple[Row, int]]:
        """The rows that are told to stand, and since when."""
        return list(self._since.items())

    def entries(self) -> int:
        """How many ranges are stored."""
        return sum(len(bounds) >> 1 for bounds in self.rows.values()) + len(self._turns)

    def state(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "known": self.known,
            "rows": [[list(row), list(bounds)] for row, bounds in self.rows.items()],
            "since": [[list(row), since] for row, since in self._since.items()],
            "turns": [[time, list(row)] for time, _, row in sorted(self._turns, key=itemgetter(0, 1))],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self.known = state["known"]
        self.rows = {tuple(row): list(bounds) for row, bounds in state["rows"]}
        self._since = {tuple(row): since for row, since in state["since"]}
        self._turns = [(time, i, tuple(row)) for i, (time, row) in enumerate(state["turns"])]
        heapify(self._turns)
        self._count = len(self._turns)
