"""Until: the right side will hold, and up to then the left side holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.metric.pairing import LEFT, PairingOperator, RowPairing, dilated_back
from tidelog.operators.operator import shift
from tidelog.operators.stores.coverage import overlapping
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.pieces import Pieces
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import Metric


class Until(PairingOperator):
    """`M' ← M1 Uϱ M2`.

    Intervals: a maximal run of M1 with the closure C and M2 over ϱ₂ give ((ϱ₂ ∩ C) − ϱ) ∩ C; where 0 is in ϱ (on
    integers also 1), M2 alone is enough. Port 0 is M1, port 1 is M2. M1 may stand (`operators/stores/notices.py`):
    a standing row is told here as far as it is known when M2 comes, and then as long as M2 lies ahead of that; so one that
    M2 does not meet costs nothing. State: M1's runs that may still grow or be met, M2 where M1 may still reach it, what has
    been sent beyond the frontier; the standing rows, how far each was told, and when its run begins. Final: ϱ⁺ behind both
    ports; so ϱ must be bounded in a stream.

    >>> from tidelog.operators.metric.pairing import RowPairing
    >>> from tidelog.plans.data.timeline import Metric
    >>> same = RowPairing(key_of_left=tuple, key_of_right=tuple, combine=lambda left, right: right)
    >>> until = Until(Metric(0, 6), touch=0, pairing=same)
    >>> until.receive(0, [(("a",), 2, 5)], 5), until.receive(1, [(("a",), 6, 6)], 6)
    ([], [(('a',), 6, 6), (('a',), 2, 5)])
    """

    __slots__ = ("_ahead", "_begins", "_standing")

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing) -> None:
        super().__init__(metric, touch, pairing)
        self._standing = Pieces()
        self._begins: dict[Row, int] = {}  # of the runs of standing rows, which may be forgotten up to where they were told
        self._ahead: dict[Row, int] = {}  # how far M2 lies ahead of what is known of standing rows

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        return self._take_beside(facts, None) if port == LEFT and self._begins else super().feed(port, facts)

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        return self._take_beside(facts, notices)

    def _take_beside(self, facts: Sequence[Fact], notices: Notices | None) -> list[Fact]:
        """Take what comes for M1 beside, or of, rows that stand."""
        ended = [] if notices is None else [row for row, _, _ in notices.ended]
        for row in ended:
            self._remember(row)
            del self._begins[row]
            self._ahead.pop(row, None)
        plain = self._standing.take(facts, notices)
        out = super().feed(LEFT, plain)
        found: list[Fact] = []
        for row in self._standing.fresh:
            self._begins[row] = self._standing.standing[row][0]
            self._meet(row, found)
        for row, _, _ in plain:
            self._reach_back(row)
        self.pairing.forget_left([row for row in ended if row not in self._begins and row not in self.left.rows])
        return out + self._untold(found)

    def _meet(self, row: Row, out: list[Fact]) -> None:
        """A row stands: tell of it if M2 is there already."""
        self._reach_back(row)
        begin = self._begins[row]
        ends = [bounds[-1] for right in self.pairing.rights_of(row) if (bounds := self.right.rows.get(right))]
        if ends and max(ends) >= begin - 1:
            self._follow(row, max(ends), out)

    def _follow(self, row: Row, end: int, out: list[Fact]) -> None:
        """Tell of a standing row, as far as it is known; M2 holds there up to `end`."""
        known = self.frontiers[LEFT]
        self._remember(row)
        for _, lo, hi in list(self._standing.tell([row], known)):
            self.take_left(row, lo, hi, out)
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))
        if end > known:
            self._ahead[row] = max(end, self._ahead.get(row, end))

    def _remember(self, row: Row) -> None:
        """Store again what has been told of a standing row, if it is forgotten: its run goes on."""
        begin, (_, told) = self._begins[row], self._standing.standing[row]
        if told >= begin and not [*overlapping(self.left.rows.get(row, []), told, told)]:
            self.left.extend([(row, begin, told)])

    def _reach_back(self, row: Row) -> None:
        """What is stored of a standing row may begin earlier."""
        begin = self._begins.get(row)
        if begin is not None:
            bounds = self.left.rows.get(row, [])
            self._begins[row] = min([begin, *(bounds[i] for i in overlapping(bounds, begin - 1, begin))])

    def take_right(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        lefts = self.pairing.lefts_of(row)
        for left in lefts:
            if left in self._begins:
                self._follow(left, hi, out)
        self.right.extend([(row, lo, hi)])
        if self.alone is not None:
            out.append((row, *dilated_back(self.alone, lo, hi)))
        for left in lefts:
            for _, (run_lo, _), met in self.runs_at(left, lo, hi):
                self._hold(left, row, run_lo, met, out)

    def take_left(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        rights = self.pairing.rights_of(row)
        self.left.extend([(row, lo, hi)])
        bounds = self.left.rows[row]
        run = next(overlapping(bounds, lo, hi))
        run_lo, run_hi = self.closure(bounds[run], bounds[run + 1])
        for right in rights:
            # what lies before the new coverage does not look across it
            times = self.right.rows.get(right, [])
            for i in overlapping(times, max(lo - 1, run_lo), run_hi):
                self._hold(row, right, run_lo, (max(times[i], run_lo), min(times[i + 1], run_hi)), out)

    def _hold(self, left: Row, right: Row, run_lo: int, met: tuple[int, int], out: list[Fact]) -> None:
        lo, hi = dilated_back(self.metric, *met)
        lo = max(lo, run_lo)
        if lo <= hi:
            out.append((self.pairing.combine(left, right), lo, hi))

    def promised(self) -> int:
        return shift(min(self.frontiers), -self.metric.b)

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        ahead, self._ahead = self._ahead, {}
        for row, end in ahead.items():
            self._follow(row, end, out)
        out = self._untold(out)
        return out + super().settle(port)

    def forget_left(self, rows: list[Row]) -> None:
        self.pairing.forget_left([row for row in rows if row not in self._begins])

    def deadline(self) -> tuple[int, int] | None:
        return (LEFT, self.frontiers[LEFT] + 1) if self._ahead else None

    def entries(self) -> int:
        return super().entries() + len(self._begins)

    def state(self) -> dict[str, Any]:
        begins = [[list(row), lo] for row, lo in self._begins.items()]
        ahead = [[list(row), end] for row, end in self._ahead.items()]
        return {**super().state(), "open": self._standing.state(), "begins": begins, "ahead": ahead}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._standing.load(state["open"])
        self._begins = {tuple(row): lo for row, lo in state["begins"]}
        self._ahead = {tuple(row): end for row, end in state["ahead"]}
        for row in self._begins:
            self.pairing.rights_of(row)
