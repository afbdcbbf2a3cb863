"""Levels: where what windows weigh is enough, while rows stand that weigh in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.grouped.counting.enough import Enough, weight_of
from tidelog.operators.grouped.counting.window import FlowWindow, Spell
from tidelog.operators.grouped.grouped import Failures, Grouped
from tidelog.operators.grouped.weighing import Weight
from tidelog.operators.operator import shift
from tidelog.operators.standing.spells import Spells, earlier
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import ThresholdShape
from tidelog.plans.tree.syntax import Value


class _Level(FlowWindow):
    """One group: its rows have no column for the value."""

    __slots__ = ()

    def row_of(self, value: Value) -> Row:
        return self.key

    def go_on(self, time: int, facts: list[Spell]) -> None:
        """Begin behind a time, up to which all has been told, with the facts that the window has then."""
        if facts:
            self.load([time, False, [None, NEG, False], [list(fact) for fact in facts], []])
            self._value, self._since = self._told(), time + 1
            self._row = () if self._value is None else self.key


class Levels(Grouped[_Level]):
    """Where the windows of each group weigh enough, from the begin of its first standing row on.

    What facts alone make enough is told at once, so until then they are kept and nothing is done about them. Where facts
    reach beyond the frontier, `come` tells what weighs beside them. State: for each group with a standing row its window, of
    all others the facts; the rows that stand; and the groups to which facts have come since the frontier moved.
    """

    __slots__ = ("_failures", "_idle", "_kept", "_shape", "_standing", "_stored", "_touched", "coming")

    def __init__(self, shape: ThresholdShape, key: Callable[[Row], Row]) -> None:
        super().__init__(key)
        self._shape = shape
        self._failures = Failures()
        self.coming = Spells(shape.size)
        self._idle: dict[Row, list[Spell]] = {}  # the facts of groups without a window
        self._stored = self._kept = 0  # how many of these have come since some were let go of, and were left then
        self._standing: dict[Row, _Standing] = {}
        self._touched: dict[Row, int] = {}  # the groups to which facts have come since the frontier moved, and their ends

    def make(self, key: Row) -> _Level:
        shape = self._shape
        return _Level(key, shape.size, 1, self._failures, Enough(shape.least, shape.is_strict))

    def _value(self, row: Row) -> Value | None:
        """What is summed of a row; None where rows are counted."""
        return None if self._shape.value is None else row[self._shape.value]

    def _takes(self, value: Value | None) -> bool:
        """Whether a value is a number; it is counted where it is not."""
        if isinstance(value, str):
            self._failures.count += 1
            return False
        return True

    # --- what comes in --------------------------------------------------------------------------------------------------

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        self.coming.take(facts)
        self._touch(facts)
        return []

    def hear(self, port: int, facts: Sequence[Fact], notices: Notices) -> list[Fact]:
        for row, hi in self.coming.hear(notices):
            held = self.groups.get(self._key(row))
            if held is not None:
                held.close(row, hi)
                if hi < POS:
                    self.note(held, hi + 1)
        if self._shape.size:  # else no later window has what stands now
            for row, _, _ in notices.ended:
                key = self._key(row)
                group = self._standing[key]
                del group.rows[row]
                if not group.rows:
                    del self._standing[key]
            for row, lo in notices.begun.items():
                self._note_standing(row, lo)
        self._touch(notices.ranges())
        return self.feed(port, facts) if facts else []

    def _note_standing(self, row: Row, lo: int) -> None:
        group = self._standing.setdefault(self._key(row), _Standing())
        group.rows[row] = lo
        group.known = min(group.known, lo - 1)

    def _touch(self, facts: Sequence[Fact]) -> None:
        if self._standing:
            for row, _, hi in facts:
                key = self._key(row)
                if key in self._standing:
                    self._touched[key] = max(hi, self._touched.get(key, NEG))

    def come(self, known: int) -> dict[tuple[Row, int, int], Weight]:
        """What has come by now of the rows that stand in groups with facts beyond the frontier, and was not asked before.

        By group, begin and end: rows that have come by the same weigh as one.
        """
        pieces: list[Fact] = []
        for key, end in self._touched.items():
            group = self._standing.get(key)
            if group is not None and group.known < known < end:
                since, group.known = group.known, known
                pieces += [(row, max(lo, since + 1), known) for row, lo in group.rows.items() if lo <= known]
        self._touched.clear()
        weights: dict[tuple[Row, int, int], Weight] = {}
        for row, lo, hi in self.coming.insert(pieces) if pieces else ():
            value = self._value(row)
            if not isinstance(value, str):
                place = self._key(row), lo, hi
                weights[place] = weights.get(place, 0) + weight_of(value)
        return weights

    # --- the windows ----------------------------------------------------------------------------------------------------

    def settle(self, port: int) -> list[Fact]:
        self._enter(*self.coming.begun(self.frontiers[0]))
        return super().settle(port)

    def _enter(self, begun: Sequence[Fact], going: Sequence[tuple[Row, int]]) -> None:
        for row, lo, hi in begun:
            value = self._value(row)
            if not self._takes(value):
                continue
            key = self._key(row)
            group = self.groups.get(key)
            if group is None:
                self._idle.setdefault(key, []).append((lo, hi, value))
                self._stored += 1
            else:
                group.add(lo, hi, value)
                self.note(group, lo)
        for row, lo in going:
            value = self._value(row)
            if self._takes(value):
                key = self._key(row)
                group = self.groups.get(key) or self._wake(key, lo)
                group.open(row, lo, value)
                self.note(group, lo)
        if self._stored > 2 * self._kept + LIMITS.spare:
            self._forget(shift(self.frontiers[0], -self._shape.size))

    def _wake(self, key: Row, time: int) -> _Level:
        group = self.groups[key] = self.make(key)
        stored = self._idle.pop(key, [])
        group.go_on(time - 1, [fact for fact in stored if fact[0] < time <= fact[1] + self._shape.size])
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
        if self._touched:
            return 0, self.frontiers[0] + 1
        if self.groups or self.coming.has_open():
            return earlier(super().deadline(), self.coming.deadline())
        return None

    # --- what is held ---------------------------------------------------------------------------------------------------

    def entries(self) -> int:
        standing = sum([len(group.rows) for group in self._standing.values()])
        return super().entries() + self.coming.entries() + sum(map(len, self._idle.values())) + standing

    def failed_evaluations(self) -> int:
        return self._failures.count

    def state(self) -> dict[str, Any]:
        idle = [[list(key), [list(fact) for fact in facts]] for key, facts in self._idle.items()]
        standing = [[list(row), lo] for group in self._standing.values() for row, lo in group.rows.items()]
        touched = [[list(key), end] for key, end in self._touched.items()]
        own = {"failed": self._failures.count, "coming": self.coming.state()}
        return {**super().state(), **own, "idle": idle, "standing": standing, "touched": touched}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._failures.count = state["failed"]
        self.coming.load(state["coming"])
        self._idle = {tuple(key): [tuple(fact) for fact in facts] for key, facts in state["idle"]}
        self._stored = self._kept = sum(map(len, self._idle.values()))
        self._standing.clear()
        for row, lo in state["standing"]:
            self._note_standing(tuple(row), lo)
        self._touched = {tuple(key): end for key, end in state["touched"]}


class _Standing:
    """The standing rows of a group, and how far it has been asked what they weigh: again from there on costs nothing."""

    __slots__ = ("known", "rows")

    def __init__(self) -> None:
        self.rows: dict[Row, int] = {}
        self.known = POS
