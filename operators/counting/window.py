"""One group of an aggregate: the facts in its window, and the value that follows from them.

Facts are taken in by their begin, as far as the frontier, so that nothing comes in the middle of what has been counted. A
window's end stops where a fact begins to come in or to leave: for a fact at one time, at its time and `size + 1` later. So
the work follows the facts, not the window's length. Only what a long fact makes of a sum changes at each tick.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from heapq import heapify, heappop, heappush
from typing import Any

from tidelog.operators.counting.tally import Flow, Tally
from tidelog.operators.grouped import MOST_RANGES, Failures
from tidelog.plans.errors import DataError
from tidelog.plans.facts import Fact, Row
from tidelog.plans.syntax import Value
from tidelog.plans.timeline import NEG, POS

Spell = tuple[int, int, Value | None]
"""A fact as a window sees it: its begin, its end, and the value that counts."""


class Window:
    """The windows of one group, as their end moves on; those that end at multiples of `step` are told.

    `value` is what the latest of them has, and has been told before `since`. `at` is the end up to which all that begins
    and leaves has been taken in.
    """

    __slots__ = (
        "_at",
        "_count",
        "_failures",
        "_flowing",
        "_key",
        "_long",
        "_points",
        "_since",
        "_size",
        "_step",
        "_then",
        "_turns",
        "_untold",
        "_value",
        "_waiting",
    )

    def __init__(self, key: Row, size: int, step: int, failures: Failures) -> None:
        self._key, self._size, self._step = key, size, step
        self._failures = failures
        self._count = 0  # what happens at one time, happens in the order of arrival; values need not be comparable
        self._waiting: list[tuple[int, int, Spell]] = []  # not begun, by begin
        self._points: deque[tuple[int, Value | None]] = deque()  # facts at one time in the window, in order
        self._long: dict[int, Spell] = {}  # the others
        self._turns: list[tuple[int, int, int, int]] = []  # when something happens to these: time, number, what, which
        self._at = NEG
        self._then = POS  # when something happens next, as of the last time that was looked at
        self._flowing = 0  # how many long facts come in or leave at each tick now
        self._untold = False  # something has happened since the last time that was looked at
        self._value: Value | None = None
        self._since = NEG

    def add(self, lo: int, hi: int, value: Value | None) -> None:
        """Take a fact that begins behind the frontier."""
        self._count += 1
        heappush(self._waiting, (lo, self._count, (lo, hi, value)))

    # --- what happens to the window ---------------------------------------------------------------------------------------

    def advance(self, known: int, out: list[Fact]) -> None:
        time = self._next()
        while time <= known and time < POS:
            if self._untold or self._flowing:
                self._pass(time - 1, out)
            self._take(time)
            self._at, self._untold = time, True
            time = self._next()
        self._then = time
        if self._untold or self._flowing:
            self._pass(known, out)
        self._at = known

    def _next(self) -> int:
        """When something happens next; `POS` if nothing does."""
        time = self._waiting[0][0] if self._waiting else POS
        if self._points and (leaves := self._points[0][0] + self._size + 1) < time:
            time = leaves
        if self._turns and self._turns[0][0] < time:
            time = self._turns[0][0]
        return time

    @abstractmethod
    def _take(self, time: int) -> None:
        """All that begins and leaves at a time."""

    @abstractmethod
    def _pass(self, until: int, out: list[Fact]) -> None:
        """Look at the windows that end at or before `until`; nothing begins and nothing leaves by then."""

    def _turn(self, time: int, what: int, which: int) -> None:
        if time < POS:
            self._count += 1
            heappush(self._turns, (time, self._count, what, which))

    def _look(self, time: int, value: Value | None, out: list[Fact]) -> None:
        """The window that ends at a time has this value."""
        if value == self._value and value.__class__ is self._value.__class__:
            return
        if self._value is not None and self._since < time:
            out.append(((*self._key, self._value), self._since, time - 1))
            if len(out) > MOST_RANGES:
                raise OverflowError(f"it has more than {MOST_RANGES:,} values one after another")
        self._value, self._since = value, time

    def _first(self, time: int) -> int:
        """The first window's end at or behind a time."""
        return time if time <= NEG else time + -time % self._step

    # --- what the operator asks for ---------------------------------------------------------------------------------------

    def tell(self, until: int, out: list[Fact]) -> None:
        if self._value is not None and self._since <= until:
            out.append(((*self._key, self._value), self._since, until))
            self._since = until + 1

    def following(self, known: int) -> int:
        time = self._then
        if self._untold or (self._flowing and self._moves()):
            time = known + 1
        return POS if time >= POS else time + -time % self._step

    def _moves(self) -> bool:
        """Whether the value may change at each tick."""
        return False

    def is_open(self, known: int) -> bool:
        return self._value is not None

    def is_empty(self, known: int) -> bool:
        return not (self._waiting or self._points or self._long or self._turns or self._untold) and self._value is None

    def entries(self) -> int:
        return len(self._waiting) + len(self._points) + len(self._long)

    # --- snapshots --------------------------------------------------------------------------------------------------------

    def state(self) -> list[Any]:
        inside = [[time, time, value] for time, value in self._points] + [list(spell) for spell in self._long.values()]
        waiting = [list(spell) for _, _, spell in sorted(self._waiting)]
        return [self._at, self._untold, self._value, self._since, inside, waiting]

    def load(self, at: int, untold: bool, value: Value | None, since: int, inside: list[Any], waiting: list[Any]) -> None:
        """Take over what `state` gave: all that is in the window comes in once more."""
        self._waiting = [(lo, i, (lo, hi, value)) for i, (lo, hi, value) in enumerate(inside, 1)]
        heapify(self._waiting)
        self._count = len(inside)
        while (time := self._next()) <= at and time < POS:
            self._skip(time - 1)
            self._take(time)
            self._at = time
        self._skip(at)
        self._at, self._untold, self._value, self._since = at, untold, value, since
        for lo, hi, other in waiting:
            self.add(lo, hi, other)
        self._then = self._next()

    @abstractmethod
    def _skip(self, until: int) -> None:
        """Pass windows without a look at them."""


_BEGINS_TO_LEAVE, _ENDS, _LEFT, _TURNS = range(4)


class TallyWindow(Window):
    """A window whose value changes only where a fact begins, leaves, or is met by an edge."""

    __slots__ = ("_tally",)

    def __init__(self, key: Row, size: int, step: int, failures: Failures, tally: Tally) -> None:
        super().__init__(key, size, step, failures)
        self._tally = tally

    def _take(self, time: int) -> None:
        tally, points = self._tally, self._points
        while self._waiting and self._waiting[0][0] <= time:
            self._enter(*heappop(self._waiting)[2])
        gone = time - self._size
        while points and points[0][0] < gone:
            tally.leave(points.popleft()[1])
        while self._turns and self._turns[0][0] <= time:
            _, _, what, which = heappop(self._turns)
            if what == _LEFT:
                tally.leave(self._long.pop(which)[2])

    def _enter(self, lo: int, hi: int, value: Value | None) -> None:
        self._tally.enter(lo, hi, value)
        for time in self._tally.turns(lo, hi):
            self._turn(time, _TURNS, 0)
        if lo == hi:
            self._points.append((lo, value))
            return
        self._count += 1
        which = self._count
        self._long[which] = (lo, hi, value)
        self._turn(hi + self._size + 1 if hi < POS else POS, _LEFT, which)

    def _pass(self, until: int, out: list[Fact]) -> None:
        if self._untold and (time := self._first(self._at)) <= until:
            self._look(time, self._tally.value(time), out)
            self._untold = False
        self._at = until

    def _skip(self, until: int) -> None:
        self._at = until


class FlowWindow(Window):
    """A window whose facts are weighed by their time points in it."""

    __slots__ = ("_flow",)

    def __init__(self, key: Row, size: int, step: int, failures: Failures, flow: Flow) -> None:
        super().__init__(key, size, step, failures)
        self._flow = flow

    def _take(self, time: int) -> None:
        flow, points = self._flow, self._points
        while self._turns and self._turns[0][0] <= time:
            _, _, what, which = heappop(self._turns)
            self._change(what, which)
        came: list[tuple[int, Value | None]] = []
        while self._waiting and self._waiting[0][0] <= time:
            lo, hi, value = heappop(self._waiting)[2]
            if lo == hi:
                came.append((lo, value))
            else:
                self._begin(lo, hi, value)
        if self._flowing and time > NEG:
            flow.move(1)
        for point in came:
            points.append(point)
            flow.add(point[1], 1)
        gone = time - self._size
        while points and points[0][0] < gone:
            flow.add(points.popleft()[1], -1)

    def _begin(self, lo: int, hi: int, value: Value | None) -> None:
        """A long fact begins: at each tick one of its time points comes in, and later one leaves."""
        self._count += 1
        which = self._count
        self._long[which] = (lo, hi, value)
        self._flow.change_rate(value, 1)
        self._flowing += 1
        self._turn(hi + 1 if hi < POS else POS, _ENDS, which)
        if lo <= NEG:
            self._flow.add(value, self._size + 1)
            self._flow.change_rate(value, -1)
            self._flowing += 1
        else:
            self._turn(lo + self._size + 1, _BEGINS_TO_LEAVE, which)
        if hi < POS:
            self._turn(hi + self._size + 1, _TURNS, which)
            self._turn(hi + self._size + 2, _LEFT, which)

    def _change(self, what: int, which: int) -> None:
        if what == _TURNS:
            return
        value = self._long[which][2]
        self._flow.change_rate(value, 1 if what == _LEFT else -1)
        self._flowing += 1 if what == _BEGINS_TO_LEAVE else -1
        if what == _LEFT:
            del self._long[which]

    def _pass(self, until: int, out: list[Fact]) -> None:
        time = self._first(self._at)
        if not self._flowing or self._flow.is_steady():
            if time <= until and self._untold:
                self._skip(time)
                self._look(time, self._told(), out)
                self._untold = False
            self._skip(until)
            return
        if time == self._at and not self._untold:
            time += self._step
        while time <= until:
            self._skip(time)
            self._look(time, self._told(), out)
            time += self._step
        self._untold = time - self._step < until
        self._skip(until)

    def _told(self) -> Value | None:
        try:
            return self._flow.value()
        except DataError:  # beyond what a value can be
            self._failures.count += 1
            return None

    def _skip(self, until: int) -> None:
        if self._flowing and until > self._at > NEG:
            self._flow.move(until - self._at)
        self._at = until

    def _moves(self) -> bool:
        return not self._flow.is_steady()
