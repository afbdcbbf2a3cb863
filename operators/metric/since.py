"""Since: the right side held, and from then on the left side has held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.metric.pairing import PairingOperator, Range, RowPairing, dilated
from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Bounds, merge, overlapping
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import Metric


class Since(PairingOperator):
    """`M' ← M1 Sϱ M2`.

    Intervals: a maximal run of M1 with the closure C and M2 over ϱ₂ give ((ϱ₂ ∩ C) + ϱ) ∩ C; where 0 is in ϱ (on
    integers also 1), M2 alone is enough, since nothing lies between. Port 0 is M1, port 1 is M2. State: M1's runs that may
    still grow or be met, M2 where M1 may still reach it, and for each run the times to come that are *armed*: those at
    which the result holds if only the run goes on. So a tick costs what it changes, not ϱ's length. Final: as far
    as M1, and ϱ⁻ beyond M2.

    >>> same = RowPairing(key_of_left=tuple, key_of_right=tuple, combine=lambda left, right: right)
    >>> since = Since(Metric(0, 6), touch=0, pairing=same)
    >>> since.receive(1, [(("a",), 2, 2)], 2), since.receive(0, [(("a",), 2, 5)], 5)
    ([(('a',), 2, 2)], [(('a',), 3, 6)])
    """

    __slots__ = ("_armed_ranges", "_most_armed", "_round", "armed")

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing) -> None:
        super().__init__(metric, touch, pairing)
        # left row → begin of its run → right row → what holds if the run goes on
        self.armed: dict[Row, dict[int, dict[Row, Bounds]]] = {}
        self._armed_ranges = self._most_armed = 0
        self._round = LIMITS.round

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self._most_armed = self._armed_ranges + self.room.rows
        return super().feed(port, facts)

    def take_right(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        lefts = self.pairing.lefts_of(row)
        self.right.extend([(row, lo, hi)])
        if self.alone is not None:
            out.append((row, *dilated(self.alone, lo, hi)))
        for left in lefts:
            for begin, (_, run_hi), met in self.runs_at(left, lo, hi):
                self._hold((left, row), begin, run_hi, dilated(self.metric, *met), out)

    def _hold(self, pair: tuple[Row, Row], begin: int, run_hi: int, held: Range, out: list[Fact]) -> None:
        """Send the part of `held` that the run reaches, and arm the rest."""
        lo, hi = held
        left, right = pair
        if lo <= run_hi:
            out.append((self.pairing.combine(left, right), lo, min(hi, run_hi)))
        if hi > run_hi:
            bounds = self.armed.setdefault(left, {}).setdefault(begin, {}).setdefault(right, [])
            before = len(bounds)
            merge(bounds, max(lo, run_hi + 1), hi, 1, right, [])
            self._armed_ranges += (len(bounds) - before) >> 1
            if self._armed_ranges > self._most_armed:
                raise NoRoomError(self._armed_ranges)

    def take_left(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        rights = self.pairing.rights_of(row)
        before = self._runs_touching(row, lo, hi)
        self.left.extend([(row, lo, hi)])
        begin, end = min([lo, *(run[0] for run in before)]), max([hi, *(run[1] for run in before)])
        run_lo, run_hi = self.closure(begin, end)
        for old, _ in before:
            for right, bounds in self.armed.get(row, {}).pop(old, {}).items():
                self._armed_ranges -= len(bounds) >> 1
                for i in range(0, len(bounds), 2):
                    self._hold((row, right), begin, run_hi, (bounds[i], bounds[i + 1]), out)
        reached = _gaps((run_lo, run_hi), [self.closure(*run) for run in before])
        for right in rights:
            for met in self._met(right, reached):
                self._hold((row, right), begin, run_hi, dilated(self.metric, *met), out)

    def _runs_touching(self, row: Row, lo: int, hi: int) -> list[Range]:
        """The runs stored that new coverage will become one with."""
        bounds = self.left.rows.get(row, [])
        return [(bounds[i], bounds[i + 1]) for i in overlapping(bounds, lo - 1, hi + 1)]

    def _met(self, right: Row, reached: list[Range]) -> list[Range]:
        """Where a right row holds within the ranges that a run's closure has newly reached."""
        bounds = self.right.rows.get(right, [])
        return [(max(bounds[i], lo), min(bounds[i + 1], hi)) for lo, hi in reached for i in overlapping(bounds, lo, hi)]

    def promised(self) -> int:
        left, right = self.frontiers
        return min(left, shift(right, self.metric.a))

    def settle(self, port: int) -> list[Fact]:
        out = super().settle(port)
        if self._armed_ranges > self._round:
            self._disarm(shift(min(self.frontiers), -1))
        return out

    def _disarm(self, bound: int) -> None:
        """Let go of what is armed for runs that have ended for good."""
        for left in list(self.armed):
            bounds = self.left.rows.get(left, [])
            alive = {bounds[i] for i in range(0, len(bounds), 2) if bounds[i + 1] > bound}
            self.armed[left] = {begin: rows for begin, rows in self.armed[left].items() if begin in alive}
            if not self.armed[left]:
                del self.armed[left]
        self._armed_ranges = self._count_armed()
        self._round = max(LIMITS.round, 2 * self._armed_ranges)

    def _count_armed(self) -> int:
        return sum(len(bounds) >> 1 for runs in self.armed.values() for rows in runs.values() for bounds in rows.values())

    def entries(self) -> int:
        return super().entries() + self._armed_ranges

    def state(self) -> dict[str, Any]:
        armed = [
            [list(left), begin, list(right), list(bounds)]
            for left, runs in self.armed.items()
            for begin, rows in runs.items()
            for right, bounds in rows.items()
        ]
        return {**super().state(), "armed": armed}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.armed.clear()
        for left, begin, right, bounds in state["armed"]:
            self.armed.setdefault(tuple(left), {}).setdefault(begin, {})[tuple(right)] = list(bounds)
        self._armed_ranges = self._count_armed()


def _gaps(whole: Range, known: list[Range]) -> list[Range]:
    """What of a range lies outside the ranges known (in order).

    >>> _gaps((0, 9), [(2, 3), (5, 9)])
    [(0, 1), (4, 4)]
    """
    lo, end = whole
    gaps = []
    for begin, hi in known:
        if lo < begin:
            gaps.append((lo, begin - 1))
        lo = max(lo, hi + 1)
    if lo <= end:
        gaps.append((lo, end))
    return gaps
