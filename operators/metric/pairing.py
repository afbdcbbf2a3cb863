"""What since and until share: two ports whose rows meet in common variables, and runs with their closure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tidelog.operators.operator import Operator, behind, shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Coverage, overlapping
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Metric

LEFT: Final = 0
RIGHT: Final = 1
Range = tuple[int, int]
Members = tuple[Row, ...] | dict[Row, None]
"""The rows under one key: up to `LIMITS.few` are a tuple, with which garbage collection has nothing to do."""


class RowPairing:
    """Which rows of the left and the right side belong together, and the row that each pair gives."""

    __slots__ = ("combine", "key_of_left", "key_of_right", "left", "left_adds_columns", "right")

    def __init__(
        self,
        key_of_left: Callable[[Row], Row],
        key_of_right: Callable[[Row], Row],
        combine: Callable[[Row, Row], Row],
        left_adds_columns: bool = False,
    ) -> None:
        self.key_of_left = key_of_left
        self.key_of_right = key_of_right
        self.combine = combine
        self.left_adds_columns = left_adds_columns
        self.left: dict[Row, Members] = {}
        self.right: dict[Row, Members] = {}

    def lefts_of(self, right: Row) -> Sequence[Row]:
        """The left rows stored that a right row meets; remembers the right row."""
        key = self.key_of_right(right)
        _enter(self.right, key, right)
        return tuple(self.left.get(key, ()))

    def rights_of(self, left: Row) -> Sequence[Row]:
        """The right rows stored that a left row meets; remembers the left row."""
        key = self.key_of_left(left)
        _enter(self.left, key, left)
        return tuple(self.right.get(key, ()))

    def forget_left(self, rows: list[Row]) -> None:
        _drop(self.left, self.key_of_left, rows)

    def forget_right(self, rows: list[Row]) -> None:
        _drop(self.right, self.key_of_right, rows)


def _enter(index: dict[Row, Members], key: Row, row: Row) -> None:
    members = index.get(key)
    if members is None:
        index[key] = (row,)
    elif isinstance(members, dict):
        members[row] = None
    elif row not in members:
        index[key] = (*members, row) if len(members) < LIMITS.few else dict.fromkeys((*members, row))


def _drop(index: dict[Row, Members], key_of: Callable[[Row], Row], rows: list[Row]) -> None:
    for row in rows:
        key = key_of(row)
        members = index.pop(key, ())
        if isinstance(members, dict):
            members.pop(row, None)
        else:
            members = tuple([member for member in members if member != row])
        if members:
            index[key] = members


class PairingOperator(Operator):
    """The frame of since and until: runs of M1, times of M2, and the coverage that has been sent.

    `touch` is 1 on integer timelines: there a run of M1 serves one time beyond either end, since only the times strictly
    between the two matter; on rationals a run's closure adds its end points.
    """

    __slots__ = ("alone", "left", "metric", "pairing", "right", "sent_coverage", "touch")

    settles_by_port = False

    def __init__(self, metric: Metric, touch: int, pairing: RowPairing) -> None:
        super().__init__(2)
        self.metric = metric
        self.touch = touch
        self.pairing = pairing
        self.alone = None if pairing.left_adds_columns else without_left(metric, touch)
        self.left, self.right, self.sent_coverage = Coverage(), Coverage(), Coverage()

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        out: list[Fact] = []
        take = self.take_left if port == LEFT else self.take_right
        most = self.room.rows
        for row, lo, hi in facts:
            take(row, lo, hi, out)
            if len(out) > most:
                raise NoRoomError(len(out))
        return self._untold(out)

    def _untold(self, facts: list[Fact]) -> list[Fact]:
        """What of some coverage has not been sent. A run's closure reaches back to what was, and may have been forgotten."""
        return self.sent_coverage.insert(behind(self.frontier, facts)) if facts else facts

    @abstractmethod
    def take_left(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """New coverage of M1."""

    @abstractmethod
    def take_right(self, row: Row, lo: int, hi: int, out: list[Fact]) -> None:
        """New coverage of M2."""

    @abstractmethod
    def promised(self) -> int:
        """The frontier that follows from those of the ports."""

    def closure(self, lo: int, hi: int) -> Range:
        """A run with its ends: to the points that bound it (rationals), or one time further (integers)."""
        if self.touch:
            return lo - 1 if lo > NEG else NEG, hi + 1 if hi < POS else POS
        return lo - (lo & 1), hi + (hi & 1)

    def runs_at(self, left: Row, lo: int, hi: int) -> Iterator[tuple[int, Range, Range]]:
        """The runs of a left row whose closure meets `lo … hi`: begin, closure, and the part that meets."""
        bounds = self.left.rows.get(left, [])
        for i in overlapping(bounds, lo - 1, hi + 1):
            run_lo, run_hi = self.closure(bounds[i], bounds[i + 1])
            if max(lo, run_lo) <= min(hi, run_hi):
                yield bounds[i], (run_lo, run_hi), (max(lo, run_lo), min(hi, run_hi))

    def settle(self, port: int) -> list[Fact]:
        self.frontier = self.promised()
        return []

    def tidy(self) -> None:
        left, right = self.frontiers
        self.sent_coverage.forget(self.frontier)
        # new coverage of M1 begins behind its frontier, so its closure reaches the frontier at the earliest
        if rights := self.right.forget(shift(left, -1)):
            self.pairing.forget_right(rights)
        if lefts := self.left.forget(shift(min(left, right), -1)):
            self.forget_left(lefts)

    def forget_left(self, rows: list[Row]) -> None:
        """These rows of M1 are not stored any more."""
        self.pairing.forget_left(rows)

    def entries(self) -> int:
        return self.left.entries() + self.right.entries() + self.sent_coverage.entries()

    def state(self) -> dict[str, Any]:
        stores = {"left": self.left, "right": self.right, "sent": self.sent_coverage}
        return {name: store.snapshot() for name, store in stores.items()}

    def load(self, state: dict[str, Any]) -> None:
        self.left.restore(state["left"])
        self.right.restore(state["right"])
        self.sent_coverage.restore(state["sent"])
        self.pairing.left.clear()
        self.pairing.right.clear()
        for row in self.left.rows:
            self.pairing.rights_of(row)
        for row in self.right.rows:
            self.pairing.lefts_of(row)


def without_left(metric: Metric, touch: int) -> Metric | None:
    """The distances at which nothing lies between the two times, so that M1 is not needed: 0, on integers also 1."""
    if metric.a > touch or metric.left_open:
        return None
    return Metric(metric.a, min(metric.b, touch))


def dilated(metric: Metric, lo: int, hi: int) -> Range:
    """ϱ₁ + ϱ."""
    high = hi + metric.b if hi < POS and metric.b < POS else POS
    if metric.right_open and high < POS:
        high = high - 1 | 1
    return (lo + metric.a | metric.left_open if lo > NEG else NEG), high


def dilated_back(metric: Metric, lo: int, hi: int) -> Range:
    """ϱ₁ − ϱ."""
    high = hi - metric.a if hi < POS else POS
    if metric.left_open and high < POS:
        high = high - 1 | 1
    return (lo - metric.b | metric.right_open if lo > NEG and metric.b < POS else NEG), high
