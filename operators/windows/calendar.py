"""Calendar: the intervals in which a calendar holds, as the clock gets near them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.calendars.ticks import TickCalendar
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS

MOST_AT_ONCE = 1_000_000
"""More intervals at one move of the clock are refused: nobody can want the hours of a hundred years."""


class Calendar(Operator):
    """The ranges of a calendar, in order of their begin, as far as `ahead` of the clock.

    Port 0 brings the stream's start: the first range is one that ends `behind` before it, or before `since`, or later.
    Port 1 brings the clock. A range goes out whole once its begin lies at most `ahead` of the clock, so between two edges
    there is nothing to do. At the stream's end nothing more goes out: a calendar has none. If the clock has said no
    time until then, the start is one.
    State: how far it has been told. Final: `ahead` of the clock, once the start is known. OverflowError for more than
    `MOST_AT_ONCE` ranges at one move of the clock.

    >>> from fractions import Fraction
    >>> from tidelog.plans.calendars.calendar import every
    >>> calendar = Calendar(TickCalendar(every("day", is_named=True), Fraction(3600), 1), 0, 0)
    >>> calendar.receive(0, [((), 30, 30)], POS), calendar.receive(1, [], 50)
    ([], [(('1970-01-02',), 24, 47), (('1970-01-03',), 48, 71)])
    >>> calendar.deadline(), calendar.receive(1, [], 71), calendar.frontier
    ((1, 72), [], 71)
    """

    __slots__ = ("_ahead", "_behind", "_calendar", "_following", "_since", "_start", "_told")

    def __init__(self, calendar: TickCalendar, ahead: int, behind: int, since: int = POS) -> None:
        super().__init__(2)
        self._calendar = calendar
        self._ahead, self._behind, self._since = ahead, behind, since
        self._told = NEG  # all that begins up to here has gone out, once that is known
        self._start = NEG
        self._following = POS  # where the next range begins; once it has been looked up

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        for _, start, _ in facts:
            self._start = start
            self._told = self._calendar.begin_at(min(start, self._since) - self._behind) - 1
            self._following = NEG
        return []

    def settle(self, port: int) -> list[Fact]:
        clock = self.frontiers[1]
        if self._told <= NEG or clock <= NEG:
            return []
        if clock >= POS:
            self.frontier = POS
            if self._following > NEG:
                return []
            clock = self._start  # the stream came no further
        until = clock + self._ahead
        self.frontier = max(self.frontier, until)
        if until < self._following:
            return []
        out: list[Fact] = []
        out += self._calendar.ranges(self._told + 1, until)
        if len(out) > MOST_AT_ONCE:
            raise OverflowError(f"{len(out):,} intervals of a calendar at once are more than {MOST_AT_ONCE:,}")
        if len(out) > self.room.rows:
            raise NoRoomError(len(out))
        self._told = max(self._told, until)
        self._following = self._calendar.following(self._told + 1)
        return out

    def deadline(self) -> tuple[int, int] | None:
        if self._told <= NEG or self._following >= POS:
            return None
        return (1, self._following - self._ahead)

    def entries(self) -> int:
        return 0

    def state(self) -> dict[str, Any]:
        return {"told": self._told, "start": self._start}

    def load(self, state: dict[str, Any]) -> None:
        self._told, self._start = state["told"], state.get("start", NEG)
        if NEG < self._told < self._start:
            self._following = NEG  # the clock has said no time yet
        elif self._told > NEG:
            self._following = self._calendar.following(self._told + 1)
