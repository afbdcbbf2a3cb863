"""Until: the right side will hold, and up to then the left side holds."""

from __future__ import annotations

from tidelog.operators.coverage import overlapping
from tidelog.operators.operator import shift
from tidelog.operators.pairing import PairingOperator, dilated_back
from tidelog.plans.facts import Fact, Row


class Until(PairingOperator):
    """`M' ← M1 Uϱ M2`.

    Intervals: a maximal run of M1 with the closure C and M2 over ϱ₂ give ((ϱ₂ ∩ C) − ϱ) ∩ C; where 0 is in ϱ (on
    integers also 1), M2 alone is enough. Port 0 is M1, port 1 is M2. State: M1's runs that may still grow or be met, M2
    where M1 may still reach it, and what has been sent beyond the frontier. Final: ϱ⁺ behind both ports; so ϱ must be
    bounded in a stream.

    >>> from tidelog.operators.pairing import RowPairing
    >>> from tidelog.plans.timeline import Metric
    >>> same = RowPairing(key_of_left=tuple, key_of_right=tuple, combine=lambda left, right: right)
    >>> until = Until(Metric(0, 6), touch=0, pairing=same)
    >>> until.receive(0, [(("a",), 2, 5)], 5), until.receive(1, [(("a",), 6, 6)], 6)
    ([], [(('a',), 6, 6), (('a',), 2, 5)])
    """

    __slots__ = ()

    def take_right(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        lefts = self.pairing.lefts_of(row)
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
