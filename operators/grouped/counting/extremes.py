"""Functions that only ask which facts there are: least, greatest, first, last, and how many different values."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from heapq import heappop, heappush
from operator import itemgetter

from tidelog.operators.grouped.counting.tally import Tally
from tidelog.plans.tree.syntax import Value

Order = tuple[int, Value]
"""A value as it is compared: numbers come before texts."""

_END = itemgetter(0)


def order_of(value: Value | None) -> Order:
    """How a value is compared with others of any kind."""
    if value is None:
        raise TypeError("there is no value")
    return (1, value) if isinstance(value, str) else (0, value)


class Distinct(Tally):
    """`distinct(V)`: how many different values there are."""

    __slots__ = ("_facts",)

    def __init__(self) -> None:
        self._facts: dict[Value | None, int] = {}

    def enter(self, lo: int, hi: int, value: Value | None, number: int = 0) -> None:
        self._facts[value] = self._facts.get(value, 0) + 1

    def leave(self, value: Value | None) -> None:
        self._facts[value] -= 1
        if not self._facts[value]:
            del self._facts[value]

    def value(self, time: int) -> Value | None:
        return len(self._facts) or None


class Extreme(Tally):
    """`min(V)` and `max(V)`: the facts that may still be it, by their ends, each better than those that end later.

    A fact that ends later and is as good takes the place of all before it, so each comes in and goes once. Those that are
    open stand apart, by their values, until they end.
    """

    __slots__ = ("_first", "_greatest", "_open", "_size", "_stairs")

    def __init__(self, size: int, greatest: bool) -> None:
        self._size, self._greatest = size, greatest
        self._stairs: list[tuple[int, Order, Value | None]] = []
        self._first = 0  # those before have ended
        self._open: list[tuple[Order, int, Value | None]] | None = None

    def enter(self, lo: int, hi: int, value: Value | None, number: int = 0) -> None:
        if number:
            if self._open is None:
                self._open = []
            insort(self._open, (order_of(value), number, value))
            return
        stairs, order = self._stairs, order_of(value)
        place = len(stairs)
        if place > self._first and stairs[-1][0] > hi:
            place = bisect_left(stairs, hi, self._first, key=_END)
            if not self._better(order, stairs[place][1]):
                return
        after = place
        if after < len(stairs) and stairs[after][0] == hi:
            after += 1
        while place > self._first and not self._better(stairs[place - 1][1], order):
            place -= 1
        stairs[place:after] = [(hi, order, value)]

    def close(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        if self._open:
            del self._open[bisect_left(self._open, (order_of(value), number))]
        self.enter(lo, hi, value)

    def _better(self, one: Order, other: Order) -> bool:
        return one > other if self._greatest else one < other

    def value(self, time: int) -> Value | None:
        ended = self._ended(time)
        if not self._open:
            return None if ended is None else ended[2]
        best = self._open[-1 if self._greatest else 0]
        return ended[2] if ended is not None and self._better(ended[1], best[0]) else best[2]

    def _ended(self, time: int) -> tuple[int, Order, Value | None] | None:
        """The best of those in the window of which the end is known."""
        stairs, begin = self._stairs, time - self._size
        while self._first < len(stairs) and stairs[self._first][0] < begin:
            self._first += 1
        if self._first > 64 and self._first > len(stairs) // 2:
            del stairs[: self._first]
            self._first = 0
        return stairs[self._first] if self._first < len(stairs) else None


class Ends:
    """When facts ended that were open, by their numbers."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, int] | None = None

    def note(self, number: int, end: int) -> None:
        """One has ended."""
        if self._known is None:
            self._known = {}
        self._known[number] = end

    def has_ended(self, end: int, number: int, time: int) -> bool:
        """Whether a fact has ended before a time; one with a number, if that is noted. Then nobody asks for it again."""
        if not number:
            return end < time
        if self._known is None or self._known.get(number, time) >= time:
            return False
        del self._known[number]
        return True


class First(Tally):
    """`first(V)`: the least value at the earliest time point of the window at which there is one."""

    __slots__ = ("_edge", "_ends", "_queue", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._queue: deque[tuple[int, int, Value | None, int]] = deque()  # facts that begin behind the earliest time point
        self._edge: list[tuple[Order, int, Value | None, int]] = []  # facts at the earliest time point, the least first
        self._ends = Ends()

    def enter(self, lo: int, hi: int, value: Value | None, number: int = 0) -> None:
        self._queue.append((lo, hi, value, number))

    def close(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        self._ends.note(number, hi)

    def turns(self, lo: int, hi: int) -> tuple[int, ...]:
        return (lo + self._size,)

    def value(self, time: int) -> Value | None:
        begin = time - self._size
        self._take(begin, begin)
        if not self._edge and self._queue:
            self._take(self._queue[0][0], begin)
        return self._edge[0][2] if self._edge else None

    def _take(self, earliest: int, begin: int) -> None:
        """Let facts that hold at the earliest time point come to the edge, and those that ended before the window go."""
        while self._queue and self._queue[0][0] <= earliest:
            _, hi, value, number = self._queue.popleft()
            if not self._ends.has_ended(hi, number, begin):
                heappush(self._edge, (order_of(value), hi, value, number))
        while self._edge and self._ends.has_ended(self._edge[0][1], self._edge[0][3], begin):
            heappop(self._edge)


class Last(Tally):
    """`last(V)`: the greatest value at the latest time point of the window at which there is one."""

    __slots__ = ("_end", "_ends", "_holding", "_size", "_value")

    def __init__(self, size: int) -> None:
        self._size = size
        self._holding: list[tuple[_Down, int, Value | None, int]] = []  # facts that may hold now, the greatest first
        self._ends = Ends()
        self._end: int | None = None  # the latest end, and the greatest value that has it
        self._value: Value | None = None

    def enter(self, lo: int, hi: int, value: Value | None, number: int = 0) -> None:
        if not number:
            self._note_end(hi, value)
        heappush(self._holding, (_Down(order_of(value)), hi, value, number))

    def close(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        self._ends.note(number, hi)
        self._note_end(hi, value)

    def _note_end(self, hi: int, value: Value | None) -> None:
        if self._end is None or hi > self._end:
            self._end, self._value = hi, value
        elif hi == self._end and order_of(value) > order_of(self._value):
            self._value = value

    def turns(self, lo: int, hi: int) -> tuple[int, ...]:
        return (hi + 1,)

    def value(self, time: int) -> Value | None:
        while self._holding and self._ends.has_ended(self._holding[0][1], self._holding[0][3], time):
            heappop(self._holding)
        if self._holding:
            return self._holding[0][2]
        return self._value if self._end is not None and self._end >= time - self._size else None


class _Down:
    """An order upside down."""

    __slots__ = ("order",)

    def __init__(self, order: Order) -> None:
        self.order = order

    def __lt__(self, other: _Down) -> bool:
        return self.order > other.order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.order == other.order

    def __hash__(self) -> int:
        return hash(self.order)
