"""Threshold, where its input announces what goes on holding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.counting.enough import Enough, weight_of
from tidelog.operators.grouped.counting.window import FlowWindow, Spell
from tidelog.operators.grouped.threshold import Threshold
from tidelog.operators.operator import behind, shift
from tidelog.operators.standing.spells import Spells
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.open_rows import OPEN, SHUT
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AggregateShape, ThresholdShape
from tidelog.plans.tree.syntax import Value


class OpenThreshold(Threshold):
    """`M'(G) ← count() over M in [n] by G >= k`, and `sum(V)`, with announcements at the port and in what it sends.

    Intervals: those of `Threshold`. As far as the port is known it is followed what the windows weigh, and announced where
    that goes on to be enough. What facts beyond that add is told at once, together with what is open so far. State: that of
    `Threshold`, for facts; the open rows; and that of an `Aggregate`, with a window for each group that has an open row.
    Final: as far as the port.

    >>> from fractions import Fraction
    >>> op = OpenThreshold(ThresholdShape(2, (), None, Fraction(4)), lambda row: ())
    >>> op.receive(0, [(("a",), 3, OPEN), (("b",), 4, OPEN)], 9), op.deadline()
    ([((), 5, 4611686018427387905)], None)
    >>> op.receive(0, [(("b",), 4, SHUT), (("b",), 4, 11)], 11), op.receive(0, [], 14)
    ([], [((), 5, 4611686018427387906), ((), 5, 13)])
    """

    __slots__ = ("_levels", "_opened", "_rows", "_size", "_touched")

    def __init__(self, shape: ThresholdShape, key: Callable[[Row], Row]) -> None:
        super().__init__(shape, key)
        self._size = shape.size
        self._levels = _Levels(shape, key)
        self._opened: dict[Row, _Opened] = {}
        self._touched: dict[Row, int] = {}  # the groups to which facts have come since the frontier moved, and their ends

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self._levels.feed(port, facts)
        if self._size:  # else no later window has what is open now
            for row, lo, hi in facts:
                if hi > POS:
                    self._note_open(row, lo, hi)
                elif self._opened and (key := self._key(row)) in self._opened:
                    self._touched[key] = max(hi, self._touched.get(key, NEG))
        return self._tell_ahead(self._levels.coming.fresh)

    def _note_open(self, row: Row, lo: int, kind: int) -> None:
        key = self._key(row)
        group = self._opened.setdefault(key, _Opened())
        if kind == OPEN:
            group.rows[row] = lo
            group.known = min(group.known, lo - 1)
            return
        group.rows.pop(row, None)
        if not group.rows:
            del self._opened[key]

    def _tell_ahead(self, new: list[Fact]) -> list[Fact]:
        """What follows beyond the frontier from what is new, and was not told."""
        return self.coverage.insert(behind(self.frontiers[0], self.found(new))) if new else []

    def settle(self, port: int) -> list[Fact]:
        known = self.frontiers[0]
        out = self._exact(known)
        pieces = [piece for key, end in self._touched.items() if end > known for piece in self._come(key, known)]
        self._touched.clear()
        if pieces:
            out += self.coverage.insert(behind(known, self._weigh(self._levels.coming.insert(pieces))))
        return out + super().settle(port)

    def _exact(self, known: int) -> list[Fact]:
        """What is known by the frontier, less what was told ahead; but whole where something is taken back."""
        self._levels.room = self.room
        told = self._levels.receive(0, (), known)
        shut = {row for row, _, hi in told if hi == SHUT}
        out: list[Fact] = []
        for fact in told:
            out += [fact] if fact[2] > POS or fact[0] in shut else self.coverage.insert([fact])
        return out

    def _come(self, key: Row, known: int) -> Iterator[Fact]:
        """How far the open rows of a group have come."""
        group = self._opened.get(key)
        if group is not None and group.known < known:
            since, group.known = group.known, known
            for row, lo in group.rows.items():
                if lo <= known:
                    yield row, max(lo, since + 1), known

    def _weigh(self, pieces: list[Fact]) -> list[Fact]:
        """Where there is enough with what open rows have come by; those that have come by the same weigh as one."""
        sums: dict[tuple[Row, int, int], int | Fraction] = {}
        for row, lo, hi in pieces:
            value = self._levels.value_of(row)
            if not isinstance(value, str):
                place = self._key(row), lo, hi
                sums[place] = sums.get(place, 0) + weight_of(value)
        out: list[Fact] = []
        for (key, lo, hi), weight in sums.items():
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = self._make()
            out += [(key, first, last) for first, last in group.add(lo, hi, weight)]
        self._grown += len(sums)
        return out

    def deadline(self) -> tuple[int, int] | None:
        if self._touched:
            return 0, self.frontiers[0] + 1
        return self._levels.deadline()

    def announced_rows(self) -> list[tuple[Row, int]]:
        return self._levels.announced_rows()

    def entries(self) -> int:
        return super().entries() + self._levels.entries()

    def failed_evaluations(self) -> int:
        return self._levels.failed_evaluations()

    def state(self) -> dict[str, Any]:
        opened = [[list(row), lo] for group in self._opened.values() for row, lo in group.rows.items()]
        touched = [[list(key), end] for key, end in self._touched.items()]
        return {**super().state(), "levels": self._levels.snapshot(), "opened": opened, "touched": touched}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._levels.restore(state["levels"])
        self._opened.clear()
        for row, lo in state["opened"]:
            self._note_open(tuple(row), lo, OPEN)
        self._touched = {tuple(key): end for key, end in state["touched"]}


class _Opened:
    """The open rows of a group, and how far it has been weighed that they hold: again from there on costs nothing."""

    __slots__ = ("known", "rows")

    def __init__(self) -> None:
        self.rows: dict[Row, int] = {}
        self.known = POS


class _Levels(Aggregate):
    """Where the windows of each group weigh enough, from the begin of its first open row on.

    What facts alone make enough is told at once, so until then they are kept and nothing is done about them.
    """

    __slots__ = ("_idle", "_kept", "_stored", "_threshold", "coming")

    def __init__(self, shape: ThresholdShape, key: Callable[[Row], Row]) -> None:
        function: Any = "count" if shape.value is None else "sum"
        spells = Spells(shape.size)
        super().__init__(AggregateShape(function, shape.size, 1, shape.by, shape.value), key, spells)
        self.coming = spells
        self._threshold = shape
        self._idle: dict[Row, list[Spell]] = {}  # the facts of groups without a window
        self._stored = self._kept = 0  # how many of these have come since some were let go of, and were left then

    def make(self, key: Row) -> _Level:
        shape = self._threshold
        return _Level(key, shape.size, 1, self._failures, Enough(shape.least, shape.is_strict))

    def enter(self, begun: Sequence[Fact]) -> None:
        for row, lo, hi in begun:
            value = self.value_of(row)
            if not self.takes(value):
                continue
            key = self._key(row)
            group = self.groups.get(key)
            if group is None and hi != OPEN:
                self._idle.setdefault(key, []).append((lo, hi, value))
                self._stored += 1
                continue
            if group is None:
                group = self._wake(key, lo)
            if hi == OPEN:
                group.open(row, lo, value)
            else:
                group.add(lo, hi, value)
            self.note(group, lo)
        if self._stored > 2 * self._kept + LIMITS.spare:
            self._forget(shift(self.frontiers[0], -self._threshold.size))

    def _wake(self, key: Row, time: int) -> _Level:
        group = self.groups[key] = self.make(key)
        stored = self._idle.pop(key, [])
        group.go_on(time - 1, [fact for fact in stored if fact[0] < time <= fact[1] + self._threshold.size])
        for fact in stored:
            if fact[0] >= time:
                group.add(*fact)
        return group

    def _forget(self, bound: int) -> None:
        """Let go of what ended before a time."""
        left = {key: kept for key, facts in self._idle.items() if (kept := [fact for fact in facts if fact[1] >= bound])}
        self._idle = left
        self._stored = self._kept = sum(map(len, left.values()))

    def deadline(self) -> tuple[int, int] | None:
        return super().deadline() if self.groups or self.coming.has_open() else None

    def entries(self) -> int:
        return super().entries() + sum(map(len, self._idle.values()))

    def state(self) -> dict[str, Any]:
        idle = [[list(key), [list(fact) for fact in facts]] for key, facts in self._idle.items()]
        return {**super().state(), "idle": idle}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._idle = {tuple(key): [tuple(fact) for fact in facts] for key, facts in state["idle"]}
        self._stored = self._kept = sum(map(len, self._idle.values()))


class _Level(FlowWindow):
    """One group: its rows have no column for the value."""

    __slots__ = ()

    def row_of(self, value: Value) -> Row:
        return self.key

    def go_on(self, time: int, facts: list[Spell]) -> None:
        """Begin behind a time, up to which all has been told, with the facts that the window has then."""
        if facts:
            self.load(time, False, [None, NEG, False], [list(fact) for fact in facts], [])
            self._value, self._since = self._told(), time + 1
            self._row = () if self._value is None else self.key
