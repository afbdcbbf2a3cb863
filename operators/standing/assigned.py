"""Assigned: what was assigned last holds until something else is."""

from __future__ import annotations

from typing import Any, Final

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.plans.data.facts import Fact, Row

ASSIGNED: Final = 0


class Assigned(Sweeping):
    """`p(X, V) := M(X, V), not N(X)`.

    Intervals: a row of M that holds at a time holds of p from right behind that time, up to the next time at which M holds
    for the same X and another V, or N for X; at that time it still does. Port 0 is M, the last column of which is the value,
    port 1 is N, if there is one; rows of M that hold at one time all hold behind it. On rationals nothing lies between
    the times of a gap and those behind them there, so what M has throughout a gap counts at once; where M depends on p
    (`is_circular`)
    p would change in the midst of it, which is a ValueError. What follows stands. State, beyond that of `Sweeping`: what is
    assigned now, and what holds, by key. Final: as far as all ports.

    >>> op = Assigned(ports=1, touch=1)
    >>> op.receive(0, [(("m", "on"), 2, 2), (("m", "off"), 7, 7)], 9), op.told_notices().begun
    ([(('m', 'on'), 3, 7)], {('m', 'off'): 8})
    """

    __slots__ = ("_assigned", "_changed", "_held", "_is_circular", "_none", "_touch")

    def __init__(self, ports: int, touch: int, slowest: int = 0, *, is_circular: bool = False) -> None:
        super().__init__(ports, slowest)
        self._touch = touch
        self._is_circular = is_circular
        self._assigned: dict[Row, dict[Row, None]] = {}
        self._held: dict[Row, dict[Row, None]] = {}
        self._none: dict[Row, None] = {}
        self._changed: dict[Row, tuple[dict[Row, None], bool]] = {}  # what was assigned just before, and whether N held

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0]

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.holding[port][row] = []
        key = self._note(place)
        if port == ASSIGNED:
            self._assigned.setdefault(key, {})[row] = None
        else:
            self._none[key] = None

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        key = self._note(place)
        if port != ASSIGNED:
            del self._none[key]
            return
        del self._assigned[key][row]
        if not self._assigned[key]:
            del self._assigned[key]

    def _note(self, place: Place) -> Row:
        """The key of what begins or ends, of which it is noted what was there before."""
        port, row = place
        key = row[:-1] if port == ASSIGNED else row
        if key not in self._changed:
            self._changed[key] = dict(self._assigned.get(key, ())), key in self._none
        return key

    def finish(self, held: dict[Row, bool]) -> None:
        changed, self._changed = self._changed, {}
        for key, earlier in changed.items():
            before, after = self._held.get(key, {}), self._next(key, *earlier)
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

    def _next(self, key: Row, earlier: dict[Row, None], was_none: bool) -> dict[Row, None] | None:
        """What holds behind now; None where nothing is assigned, so that what held goes on."""
        assigned, is_none = self._assigned.get(key, {}), key in self._none
        if self._is_gap():
            if not assigned and not is_none:  # what the point before it says
                return earlier or ({} if was_none else None)
            return {} if is_none or len(assigned) > 1 else assigned  # each ends the other, at once
        return assigned or ({} if is_none else None)

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
