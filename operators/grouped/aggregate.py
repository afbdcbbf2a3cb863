"""Aggregate: a function of all (row, time point) pairs in a window, for each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.grouped.counting.accounts import NUMERIC
from tidelog.operators.grouped.counting.extremes import Distinct, Extreme, First, Last
from tidelog.operators.grouped.counting.quantiles import Quantile
from tidelog.operators.grouped.counting.sums import Count, Deviation, Mean, Sum
from tidelog.operators.grouped.counting.tally import Flow, Tally
from tidelog.operators.grouped.counting.window import FlowWindow, TallyWindow, Window
from tidelog.operators.grouped.grouped import Failures, Grouped
from tidelog.operators.standing.spells import Spells, earlier
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import AggregateShape
from tidelog.plans.tree.syntax import Value


class Aggregate(Grouped[Window]):
    """`M'(G, A) ← A = f(V) over M in [n step d] by G`.

    Intervals: at the end e of a window (each tick, or each multiple of d, up to the next one) A is f over V of the rows of M
    that hold at a time point in [e−n, e], each as often as it does. It is known as far as the frontier. Maximal ranges are
    told, as far as they are known. State: for each group, facts that have not begun, and those in the window; a group goes
    when it has none. Final: as far as the port (with d: until the next multiple).

    Where the port takes notices, `spells` has what comes, and the rows that go on. Such a row is counted from its
    begin on, and its group is looked at when it ends; in between nothing is done, but while a window fills with it, where
    that changes the value.

    A row whose V is a text has no part where f takes numbers; such rows are counted (`failed_evaluations`), and so are
    values beyond what a number can be. OverflowError for more than `MOST_RANGES` ranges from one message.

    >>> op = Aggregate(AggregateShape("avg", 10, 1, (0,), 1), lambda row: row[:1])
    >>> from tidelog.operators.stores.pieces import Pieces
    >>> op.pieces = Pieces()
    >>> op.receive(0, [(("a", 2), 1, 1), (("a", 4), 5, 5)], 5), op.receive(0, [], 13)
    ([(('a', 2), 1, 4), (('a', 3), 5, 5)], [(('a', 3), 6, 11), (('a', 4), 12, 13)])

    >>> op = Aggregate(AggregateShape("count", 0, 1, (), None), lambda row: (), Spells())
    >>> op.receive(0, [], 9, Notices([(("a",), 3), (("b",), 5)])), op.told_notices().begun
    ([((1,), 3, 4)], {(2,): 5})
    >>> op.deadline(), op.receive(0, [], 12, Notices([], [(("b",), 5, 11)])), op.told_notices().ended
    (None, [((1,), 12, 12)], [((2,), 5, 11)])
    """

    __slots__ = ("_failures", "_place", "_shape", "spells")

    def __init__(self, shape: AggregateShape, key: Callable[[Row], Row], spells: Spells | None = None) -> None:
        super().__init__(key)
        self.spells = spells
        self._shape = shape
        self._place = shape.value
        self._failures = Failures()

    def make(self, key: Row) -> Window:
        shape = self._shape
        function = _function(shape)
        if isinstance(function, Flow):
            return FlowWindow(key, shape.size, shape.step, self._failures, function)
        return TallyWindow(key, shape.size, shape.step, self._failures, function)

    def reach(self, known: int) -> int:
        step = self._shape.step
        return known if step == 1 or known >= POS or known <= NEG else known - known % step + step - 1

    def value_of(self, row: Row) -> Value | None:
        """V of a row; None where the function takes none."""
        return None if self._place is None else row[self._place]

    def takes(self, value: Value | None) -> bool:
        """Whether the function takes a value; it is counted where it does not."""
        if value.__class__ is str and self._shape.function in NUMERIC:
            self._failures.count += 1
            return False
        return True

    def first_end(self, time: int) -> int:
        """The first end of a window that is told, at or behind a time."""
        return time if time <= NEG else time + -time % self._shape.step

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if self.spells is None:
            self._weigh(facts)
        else:
            self.spells.take(facts)
        return []

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for row, hi in [] if self.spells is None else self.spells.hear(notices):
            group = self.groups.get(self._key(row))
            if group is not None:
                group.close(row, hi)
                if hi < POS:
                    self.note(group, self.first_end(hi + 1))
        return self.feed(port, facts) if facts else []

    def settle(self, port: int) -> list[Fact]:
        if self.spells is not None:
            self.enter(*self.spells.begun(self.frontiers[0]))
        return super().settle(port)

    def enter(self, begun: Sequence[Fact], going: Sequence[tuple[Row, int]]) -> None:
        """Let groups know what has begun, where the port takes notices: facts, and rows that go on."""
        for row, lo in going:
            self._open(row, lo)
        self._weigh(begun)

    def _open(self, row: Row, lo: int) -> None:
        value = self.value_of(row)
        if self.takes(value):
            group = self.group(self._key(row))
            group.open(row, lo, value)
            self.note(group, self.first_end(lo))

    def _weigh(self, facts: Sequence[Fact]) -> None:
        take, place, step, groups = self._key, self._place, self._shape.step, self.groups
        numeric = self._shape.function in NUMERIC
        for row, lo, hi in facts:
            value = None if place is None else row[place]
            if numeric and value.__class__ is str:
                self._failures.count += 1
                continue
            key = take(row)
            group = groups.get(key) or self.group(key)
            group.add(lo, hi, value)
            time = lo if step == 1 or lo <= NEG else lo + -lo % step
            if time < group.fresh:
                self.note(group, time)

    def stand_behind(self, time: int) -> None:
        """Others have told all up to a time: what goes on then stands from behind it on."""
        for group in self.groups.values():
            group.stand_behind(time)

    def deadline(self) -> tuple[int, int] | None:
        due = super().deadline()
        return due if self.spells is None else earlier(due, self.spells.deadline())

    def entries(self) -> int:
        return super().entries() + (0 if self.spells is None else self.spells.entries())

    def failed_evaluations(self) -> int:
        return self._failures.count

    def state(self) -> dict[str, Any]:
        state = {**super().state(), "failed": self._failures.count}
        return state if self.spells is None else {**state, "spells": self.spells.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._failures.count = state["failed"]
        if self.spells is not None:
            self.spells.load(state["spells"])


def _function(shape: AggregateShape) -> Flow | Tally:
    match shape.function:
        case "count":
            return Count()
        case "sum":
            return Sum()
        case "avg":
            return Mean()
        case "stddev":
            return Deviation()
        case "quantile" if shape.fraction is not None:
            return Quantile(shape.fraction)
        case _:
            return _tally(shape)


def _tally(shape: AggregateShape) -> Tally:
    match shape.function:
        case "min" | "max":
            return Extreme(shape.size, shape.function == "max")
        case "first":
            return First(shape.size)
        case "last":
            return Last(shape.size)
        case _:
            return Distinct()
