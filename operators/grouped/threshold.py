"""Threshold: enough pairs in a window, told as soon as they are there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tidelog.operators.grouped.levels import Levels
from tidelog.operators.grouped.weighing import Range, Weight, ranges_over
from tidelog.operators.operator import Operator, behind
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.overlaps import Overlaps
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ThresholdShape


class Threshold(Operator):
    """`M'(G) ← count() over M in [n] by G >= k`, and `sum(V) … >= c` where V is not below 0.

    Intervals: at e, if the pairs of the window [e−n, e] weigh enough: each 1, or V. More facts only add to that, so what
    follows from a fact is told at once: from the last of so many neighbours to n behind the first. State: for each group,
    the facts that a later window may still have, and the coverage sent beyond the frontier. Final: as far as the port.

    Where the port takes notices, `levels` follows what the windows weigh, as far as the port is known; what goes on to be
    enough is told to stand. What facts beyond that add is told at once there, too, together with what stands so far.

    >>> op = Threshold(ThresholdShape(10, (0,), None, Fraction(2)), lambda row: row[:1])
    >>> op.receive(0, [(("a", 1), 1, 1), (("a", 2), 5, 5)], 5), op.receive(0, [(("a", 3), 20, 21)], 21)
    ([(('a',), 5, 11)], [(('a',), 21, 30)])

    >>> shape = ThresholdShape(2, (), None, Fraction(4))
    >>> op = Threshold(shape, lambda row: (), Levels(shape, lambda row: ()))
    >>> op.receive(0, [], 9, Notices([(("a",), 3), (("b",), 4)])), op.told_notices().begun, op.deadline()
    ([], {(): 5}, None)
    >>> op.receive(0, [], 11, Notices([], [(("b",), 4, 11)])), op.receive(0, [], 14), op.told_notices().ended
    ([], [], [((), 5, 13)])
    """

    __slots__ = ("_failed", "_grown", "_key", "_levels", "_round", "_shape", "coverage", "groups")

    def __init__(self, shape: ThresholdShape, key: Callable[[Row], Row], levels: Levels | None = None) -> None:
        super().__init__(1)
        self._shape = shape
        self._key = key
        self._levels = levels
        self.groups: dict[Row, Neighbours | Overlaps] = {}
        self.coverage = Coverage()
        self._failed = 0
        self._grown, self._round = 0, LIMITS.round

    def _make(self, key: Row) -> Neighbours | Overlaps:
        shape = self._shape
        is_overlap = shape.size == 0 and shape.value is None
        group = self.groups[key] = Overlaps(int(shape.least)) if is_overlap else Neighbours(shape)
        return group

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if self._levels is not None:
            self._levels.feed(port, facts)
            facts = self._levels.coming.fresh
        return self._tell(self._found(facts))

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        if self._levels is None:
            return super().hear(port, facts, notices)
        self._levels.hear(port, (), notices)
        out = self._tell(self._found(self._levels.coming.fresh))
        return out + self.feed(port, facts) if facts else out

    def _tell(self, found: list[Fact]) -> list[Fact]:
        """What was not told of it."""
        return self.coverage.insert(behind(self.frontiers[0], found)) if found else found

    def _found(self, facts: Sequence[Fact]) -> list[Fact]:
        """Where there is enough with some facts, with all that may be new."""
        place, take = self._shape.value, self._key
        out: list[Fact] = []
        for row, lo, hi in facts:
            weight: Weight = 1
            if place is not None:
                value = row[place]
                if isinstance(value, str):
                    self._failed += 1
                    continue
                weight = value if isinstance(value, int) else Fraction(value)
                if weight <= 0:
                    continue
            key = take(row)
            group = self.groups.get(key) or self._make(key)
            out += [(key, first, last) for first, last in group.add(lo, hi, weight)]
            if len(out) > self.room.rows:
                raise NoRoomError(len(out))
        self._grown += len(facts)
        return out

    def settle(self, port: int) -> list[Fact]:
        known = self.frontiers[0]
        out = [] if self._levels is None else self._follow(self._levels, known)
        self.frontier = known
        self.coverage.forget(known)
        if self._grown > self._round and known > NEG:
            self._forget(known - self._shape.size if known < POS else POS)
        return out

    def _follow(self, levels: Levels, known: int) -> list[Fact]:
        """What is known by the frontier, less what was told ahead; and what facts beyond it add to that."""
        levels.room = self.room
        out = self.coverage.insert(levels.receive(0, (), known))
        notices = levels.told_notices()
        if notices is not None:
            self.notices.follow_with(notices, out)
        come = levels.come(known)
        ahead: list[Fact] = []
        for (key, lo, hi), weight in come.items():
            group = self.groups.get(key) or self._make(key)
            ahead += [(key, first, last) for first, last in group.add(lo, hi, weight)]
        self._grown += len(come)
        return out + self._tell(ahead) if ahead else out

    def _forget(self, bound: int) -> None:
        """Let go of what ends at or before a time: all of it at once, when as much has come as was left the last time."""
        kept = 0
        for key, group in list(self.groups.items()):
            group.forget(bound)
            kept += group.entries()
            if not group.entries():
                del self.groups[key]
        self._grown, self._round = 0, max(LIMITS.round, kept)

    def deadline(self) -> tuple[int, int] | None:
        return None if self._levels is None else self._levels.deadline()

    def waits(self) -> bool:
        return self._levels is not None

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [] if self._levels is None else self._levels.standing_rows()

    def entries(self) -> int:
        stored = self.coverage.entries() + sum(group.entries() for group in self.groups.values())
        return stored if self._levels is None else stored + self._levels.entries()

    def failed_evaluations(self) -> int:
        return self._failed if self._levels is None else self._levels.failed_evaluations()

    def state(self) -> dict[str, Any]:
        state = {
            "groups": [[list(key), group.state()] for key, group in self.groups.items()],
            "coverage": self.coverage.snapshot(),
            "failed": self._failed,
            "forgetting": [self._grown, self._round],
        }
        return state if self._levels is None else {**state, "levels": self._levels.snapshot()}

    def load(self, state: dict[str, Any]) -> None:
        self.groups = {}
        for key, facts in state["groups"]:
            self._make(tuple(key)).load(facts)
        self.coverage.restore(state["coverage"])
        self._failed = state["failed"]
        self._grown, self._round = state["forgetting"]
        if self._levels is not None:
            self._levels.restore(state["levels"])


class Neighbours:
    """The facts of one group: those at one time in order, with the sums of their weights; and the others."""

    __slots__ = ("_least", "_long", "_size", "_strict", "_sums", "_times")

    def __init__(self, shape: ThresholdShape) -> None:
        self._size, self._strict = shape.size, shape.is_strict
        self._least: Weight = int(shape.least) if shape.least.denominator == 1 else shape.least
        self._times: list[int] = []
        self._sums: list[Weight] = [0]  # of the weights before each
        self._long: list[Range] = []

    def add(self, lo: int, hi: int, weight: Weight) -> list[tuple[int, int]]:
        """Take a fact in; returns ranges at which there is enough now, with all that may be new."""
        if lo != hi:
            self._long.append((lo, hi, weight))
            return self._over(lo, hi)
        place = self._insert(lo, weight)
        return self._over(lo, hi) if self._long else self._around(place, lo)

    def _insert(self, time: int, weight: Weight) -> int:
        times, sums = self._times, self._sums
        place = bisect_right(times, time)
        times.insert(place, time)
        sums.insert(place + 1, sums[place] + weight)
        for i in range(place + 2, len(sums)):
            sums[i] += weight
        return place

    def _around(self, place: int, time: int) -> list[tuple[int, int]]:
        """For each end of a window from this time on, how far back it has to reach to have enough."""
        times, sums, size = self._times, self._sums, self._size
        found: list[tuple[int, int]] = []
        for last in range(place, len(times)):
            if times[last] > time + size:
                break
            before = sums[last + 1] - self._least
            first = bisect_right(sums, before) - 1
            if self._strict and first >= 0 and sums[first] == before:
                first -= 1
            if first > place:
                break  # there has been enough without the new one
            if first >= 0 and times[first] + size >= times[last]:
                found.append((times[last], times[first] + size))
        return found

    def _over(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """Where there is enough, among the windows that a fact over a range is part of."""
        size, times, sums = self._size, self._times, self._sums
        first = lo - size if lo > NEG else NEG
        last = hi + size if hi < POS else POS
        near = range(bisect_right(times, first - 1), bisect_right(times, last))
        facts = [(times[i], times[i], sums[i + 1] - sums[i]) for i in near]
        facts += [fact for fact in self._long if fact[1] >= first and fact[0] <= last]
        found = ranges_over(facts, size, self._least, strict=self._strict)
        return [(max(begin, lo), end) for begin, end in found if end >= lo]  # before it nothing has changed

    def forget(self, bound: int) -> None:
        """Let go of what ends at or before a time."""
        gone = bisect_right(self._times, bound)
        del self._times[:gone]
        base = self._sums[gone]
        self._sums = [total - base for total in self._sums[gone:]]
        self._long = [fact for fact in self._long if fact[1] > bound]

    def entries(self) -> int:
        """How many facts are stored."""
        return len(self._times) + len(self._long)

    def state(self) -> list[Any]:
        """All facts, their weights as text where they are no integers."""
        sums = self._sums
        facts = [(time, time, sums[i + 1] - sums[i]) for i, time in enumerate(self._times)]
        return [[lo, hi, weight if isinstance(weight, int) else str(weight)] for lo, hi, weight in (*facts, *self._long)]

    def load(self, facts: list[Any]) -> None:
        """Take over what `state` gave."""
        for lo, hi, told in facts:
            weight = told if isinstance(told, int) else Fraction(told)
            if lo == hi:
                self._insert(lo, weight)
            else:
                self._long.append((lo, hi, weight))
