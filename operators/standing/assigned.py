"""Assigned: what was assigned last holds until something else is."""

from __future__ import annotations

from typing import Any

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.tree.declared.machines import NOTHING

_Rows = dict[Row, None]


class Assigned(Sweeping):
    """`p(X, V) := M(X, V)`.

    Intervals: a row of M that holds at a time holds of p from right behind that time, up to the next time at which M holds
    for the same X and another V; at that time it still does. The last column of M is the value; rows of M that hold at one
    time all hold behind it, but for those whose value is `none`, which never hold. On rationals nothing lies between
    the times of a gap and those behind them there, so what M has throughout a gap counts at once; where M depends on p
    (`is_circular`)
    p would change in the midst of it, which is a ValueError. What follows stands. State, beyond that of `Sweeping`: what is
    assigned now, and what holds, by key. Final: as far as M.

    >>> op = Assigned(touch=1)
    >>> op.receive(0, [(("m", "on"), 2, 2), (("m", "off"), 7, 7)], 9), op.told_notices().begun
    ([(('m', 'on'), 3, 7)], {('m', 'off'): 8})
    """

    __slots__ = ("_assigned", "_changed", "_held", "_is_circular", "_touch")

    def __init__(self, touch: int, slowest: int = 0, *, is_circular: bool = False) -> None:
        super().__init__(1, slowest)
        self._touch = touch
        self._is_circular = is_circular
        self._assigned: dict[Row, _Rows] = {}
        self._held: dict[Row, _Rows] = {}
        self._changed: dict[Row, _Rows] = {}  # what was assigned just before

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0]

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.holding[port][row] = []
        self._assigned.setdefault(self._note(row), {})[row] = None

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        key = self._note(row)
        del self._assigned[key][row]
        if not self._assigned[key]:
            del self._assigned[key]

    def _note(self, row: Row) -> Row:
        """The key of what begins or ends, of which it is noted what was there before."""
        key = row[:-1]
        if key not in self._changed:
            self._changed[key] = dict(self._assigned.get(key, ()))
        return key

    def finish(self, held: dict[Row, bool]) -> None:
        changed, self._changed = self._changed, {}
        for key, earlier in changed.items():
            before, after = self._held.get(key, {}), self._next(key, earlier)
            if after is None or after.keys() == before.keys():
                continue
            if self._is_circular and self._is_gap():
                raise ValueError("it would change at no first time: on `timeline rational` it switches at points alone")
            for row in before:
                if row not in after:
                    self.lose(row, held)
            for row in after:
                if row not in before:
                    self.gain(row, held)
            if after:
                self._held[key] = dict(after)
            elif before:
                del self._held[key]

    def _next(self, key: Row, earlier: _Rows) -> _Rows | None:
        """What holds behind now; None where nothing is assigned, so that what held goes on."""
        assigned = self._assigned.get(key, {})
        if self._is_gap():
            if not assigned:  # what the point before it says
                return _values(earlier) if earlier else None
            return {} if len(assigned) > 1 else _values(assigned)  # each ends the other, at once
        return _values(assigned) if assigned else None

    def _is_gap(self) -> bool:
        return not self._touch and bool(self.now & 1)

    def follows_at(self, time: int) -> int:
        return time + 1 if self._touch else time | 1

    def state(self) -> dict[str, Any]:
        held = [list(row) for rows in self._held.values() for row in rows]
        return {**super().state(), "held": held}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self._changed.clear()
        self.ways.clear()
        for row in map(tuple, state["held"]):
            self._held.setdefault(row[:-1], {})[row] = None
            self.ways[row] = 1


def _values(assigned: _Rows) -> _Rows:
    """What is assigned, without that nothing is."""
    return {row: None for row in assigned if row[-1] != NOTHING}
