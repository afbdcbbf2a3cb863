"""One group of an aggregate: the facts in its window, and the value that follows from them.

Facts are taken in by their begin, as far as the frontier, so that nothing comes in the middle of what has been counted. A
window's end stops where a fact begins to come in or to leave: for a fact at one time, at its time and `size + 1` later. So
the work follows the facts, not the window's length. Only what a long fact makes of a sum changes at each tick.
"""

from __future__ import annotations

from abc import abstractmethod
from heapq import heappop, heappush
from typing import Any

from tidelog.operators.grouped.counting.tally import Flow, Tally
from tidelog.operators.grouped.grouped import MOST_RANGES, Failures, Group
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.syntax import Value

Spell = tuple[int, int, Value | None]
"""A fact as a window sees it: its begin, its end, and the value that counts."""
Coming = tuple[int, int, int | None, Value | None]
"""A fact that has not begun: its begin, its number, its end if it has one, and the value that counts."""


class Window(Group):
    """The windows of one group, as their end moves on; those that end at multiples of `step` are told.

    `value` is what the latest of them has; it has been told before `since`, and from there on it is `announced`, or nothing
    has been told of it. `at` is the end up to which all that begins and leaves has been taken in.
    """

    __slots__ = (
        "_announced",
        "_at",
        "_count",
        "_ended",
        "_failures",
        "_flowing",
        "_gone",
        "_lasting",
        "_long",
        "_open",
        "_row",
        "_since",
        "_size",
        "_step",
        "_then",
        "_times",
        "_turns",
        "_untold",
        "_value",
        "_values",
        "_waiting",
    )

    def __init__(self, key: Row, size: int, step: int, failures: Failures) -> None:
        super().__init__(key)
        self._size, self._step = size, step
        self._failures = failures
        self._count = 0  # what happens at one time, happens in the order of arrival; values need not be comparable
        self._waiting: list[Coming] | None = None  # not begun, by begin
        self._times: list[int] = []  # facts at one time in the window, in order
        self._values: list[Value | None] = []
        self._gone = 0  # so many of these have left
        self._lasting = 0  # how many facts hold at more than one time, of those that wait or are in the window
        self._long: dict[int, Spell] = {}  # of these, the ones in the window
        self._open: dict[Row, int] | None = None  # of these, the rows that hold until further notice
        self._turns: list[tuple[int, int, int, int]] | None = None  # when something happens: time, number, what, which
        self._at = NEG
        self._then = POS  # when something happens next, as of the last time that was looked at
        self._flowing = 0  # how many long facts come in or leave at each tick now
        self._untold = False  # something has happened since the last time that was looked at
        self._value: Value | None = None
        self._row: Row = ()  # the value with its key
        self._since = NEG
        self._announced = False
        self._ended: Fact | None = None  # what was announced, and has ended since this was looked at

    def add(self, lo: int, hi: int | None, value: Value | None) -> None:
        """Take a fact that begins behind the frontier; without an end, it is a row that stands."""
        self._count += 1
        if self._waiting is None:
            self._waiting = [(lo, self._count, hi, value)]
        else:
            heappush(self._waiting, (lo, self._count, hi, value))
        if lo != hi:
            self._lasting += 1

    def open(self, row: Row, lo: int, value: Value | None) -> None:
        """Take a row that begins behind the frontier, and holds until further notice."""
        self.add(lo, None, value)
        if self._open is None:
            self._open = {}
        self._open[row] = self._count

    def close(self, row: Row, hi: int) -> None:
        """A row that has been open as far as the frontier has ended; one that was not taken is nothing to it."""
        number = self._open.pop(row, None) if self._open else None
        if number is None:
            return
        if number not in self._long:
            self._close_waiting(number, hi)
            return
        lo, _, value = self._long[number]
        self._long[number] = lo, hi, value
        self._end(number, lo, hi, value)

    def _close_waiting(self, number: int, hi: int) -> None:
        """The same of a row that has begun behind the last window."""
        waiting = self._waiting or []
        for at, (lo, other, _, value) in enumerate(waiting):
            if other == number:
                waiting[at] = lo, number, hi, value
                if lo == hi:
                    self._lasting -= 1

    @abstractmethod
    def _end(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        """It has become known when a fact in the window ends."""

    def stand_behind(self, time: int) -> None:
        """What has its value now has been told up to a time."""
        self._since = max(self._since, time + 1)

    # --- what happens to the window ---------------------------------------------------------------------------------------

    def look(self, known: int, until: int, out: list[Fact], notices: Notices) -> None:
        self.advance(known, out)
        if not self._waiting:
            self._waiting = None
        begins = False
        if self._value is not None and (until >= POS or not self._announced):
            begins = until < POS and self._lasts() > 0
            if not begins:
                self._tell(until, out)
        if self._ended is not None:
            notices.end(*self._ended, out)
            self._ended = None
        if begins:
            self._announced = True
            notices.begin(self._row, self._since)

    def advance(self, known: int, out: list[Fact]) -> None:
        """Take in all that happens up to `known`; tell values that have ended by then."""
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
        waiting, turns, gone = self._waiting, self._turns, self._gone
        time = waiting[0][0] if waiting else POS
        if gone < len(self._times) and (leaves := self._times[gone] + self._size + 1) < time:
            time = leaves
        if turns and turns[0][0] < time:
            time = turns[0][0]
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
            if self._turns is None:
                self._turns = []
            heappush(self._turns, (time, self._count, what, which))

    def _let_go(self, gone: int) -> None:
        """So many of the facts at one time have left."""
        times = self._times
        if gone == len(times):
            times.clear()
            self._values.clear()
            gone = 0
        elif gone > LIMITS.spare and 2 * gone > len(times):
            del times[:gone], self._values[:gone]
            gone = 0
        self._gone = gone

    def _see(self, time: int, value: Value | None, out: list[Fact]) -> None:
        """The window that ends at a time has this value."""
        if value == self._value and value.__class__ is self._value.__class__:
            return
        if self._value is not None:
            self._tell(time - 1, out)
        self._value, self._since = value, time
        self._row = () if value is None else self.row_of(value)

    def row_of(self, value: Value) -> Row:
        """What is told of a value."""
        return *self.key, value

    def _tell(self, until: int, out: list[Fact]) -> None:
        """Tell the value as far as `until`: it has ended to stand there, or is a fact."""
        row, since = self._row, self._since
        if self._announced:
            self._ended = row, since, until
            self._announced = False
        elif since <= until:
            out.append((row, since, until))
        self._since = max(since, until + 1)

    def _first(self, time: int) -> int:
        """The first window's end at or behind a time."""
        return time if time <= NEG else time + -time % self._step

    # --- what the operator asks for ---------------------------------------------------------------------------------------

    def standing_rows(self) -> list[tuple[Row, int]]:
        return [(self._row, self._since)] if self._announced else []

    def following(self, known: int) -> int:
        time = known + 1 if self._untold else self._then
        if self._value is not None and not self._announced:  # it was to change, and has been told so far
            time = min(time, self._at + 1)
        elif (lasts := self._lasts()) < POS:
            time = min(time, self._at + 1 + lasts)
        return POS if time >= POS else time + -time % self._step

    def _lasts(self) -> int:
        """For how many ticks the value stays the same, as long as nothing else happens; `POS` for ever."""
        return POS

    def is_empty(self, known: int) -> bool:
        return self._value is None and not (self._waiting or self._times or self._long or self._turns or self._untold)

    def entries(self) -> int:
        return len(self._waiting or ()) + len(self._times) - self._gone + len(self._long)

    # --- snapshots --------------------------------------------------------------------------------------------------------

    def state(self) -> list[Any]:
        points = zip(self._times[self._gone :], self._values[self._gone :], strict=True)
        rows = {number: [list(row)] for row, number in (self._open or {}).items()}
        inside = [[time, time, value] for time, value in points]
        inside += [[*spell, *rows.get(number, ())] for number, spell in self._long.items()]
        coming = sorted(self._waiting or (), key=lambda coming: coming[:2])
        waiting = [[lo, hi, value, *rows.get(number, ())] for lo, number, hi, value in coming]
        told = [self._value, self._since, self._announced]
        return [self._at, self._untold, told, inside, waiting]

    def load(self, state: list[Any]) -> None:
        """Take over what `state` gave: all that is in the window comes in once more."""
        at, untold, told, inside, waiting = state
        self._add_again(inside)
        while (time := self._next()) <= at and time < POS:
            self._skip(time - 1)
            self._take(time)
            self._at = time
        self._skip(at)
        self._at, self._untold = at, untold
        self._value, self._since, self._announced = told
        self._row = () if self._value is None else self.row_of(self._value)
        self._add_again(waiting)
        self._then = self._next()

    def _add_again(self, facts: list[Any]) -> None:
        for lo, hi, value, *row in facts:
            if row:
                self.open(tuple(row[0]), lo, value)
            else:
                self.add(lo, hi, value)

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
        tally, waiting, turns = self._tally, self._waiting, self._turns
        while waiting and waiting[0][0] <= time:
            self._enter(*heappop(waiting))
        times, gone, begin = self._times, self._gone, time - self._size
        while gone < len(times) and times[gone] < begin:
            tally.leave(self._values[gone])
            gone += 1
        if gone != self._gone:
            self._let_go(gone)
        while turns and turns[0][0] <= time:
            _, _, what, which = heappop(turns)
            if what == _LEFT:
                tally.leave(self._long.pop(which)[2])
                self._lasting -= 1

    def _enter(self, lo: int, number: int, hi: int | None, value: Value | None) -> None:
        is_standing, hi = hi is None, POS if hi is None else hi
        self._tally.enter(lo, hi, value, number if is_standing else 0)
        for time in self._tally.turns(lo, hi):
            self._turn(time, _TURNS, 0)
        if lo == hi:
            self._times.append(lo)
            self._values.append(value)
            return
        self._long[number] = (lo, hi, value)
        self._turn(hi + self._size + 1 if hi < POS else POS, _LEFT, number)

    def _end(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        self._tally.close(number, lo, hi, value)
        for time in self._tally.turns(lo, hi):
            if time > self._at:
                self._turn(time, _TURNS, 0)
        self._turn(hi + self._size + 1 if hi < POS else POS, _LEFT, number)

    def _pass(self, until: int, out: list[Fact]) -> None:
        if self._untold and (time := self._first(self._at)) <= until:
            self._see(time, self._tally.value(time), out)
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

    def advance(self, known: int, out: list[Fact]) -> None:
        if self._lasting:
            super().advance(known, out)
            return
        waiting, times, values, gone = self._waiting, self._times, self._values, self._gone
        add, leaves_after = self._flow.add, self._size + 1
        while True:  # nothing holds at more than one time: facts come and leave, and nothing flows
            time = waiting[0][0] if waiting else POS
            if gone < len(times) and times[gone] + leaves_after < time:
                time = times[gone] + leaves_after
            if time > known or time >= POS:
                break
            if self._untold:
                self._look_once(time - 1, out)
            while waiting and waiting[0][0] <= time:
                value = heappop(waiting)[3]
                times.append(time)
                values.append(value)
                add(value, 1)
            while gone < len(times) and times[gone] + leaves_after <= time:
                add(values[gone], -1)
                gone += 1
            self._at, self._untold = time, True
        self._then = time
        if gone != self._gone:
            self._let_go(gone)
        if self._untold:
            self._look_once(known, out)
        self._at = known

    def _look_once(self, until: int, out: list[Fact]) -> None:
        """Look at the first window that ends at or before `until`, if one does: the others have the same value."""
        time = self._at
        if self._step != 1:
            time = self._first(time)
        if time <= until:
            self._see(time, self._told(), out)
            self._untold = False

    def _take(self, time: int) -> None:
        flow, waiting, turns = self._flow, self._waiting, self._turns
        while turns and turns[0][0] <= time:
            _, _, what, which = heappop(turns)
            self._change(what, which)
        came: list[Value | None] = []
        while waiting and waiting[0][0] <= time:
            lo, number, hi, value = heappop(waiting)
            if lo == hi:
                came.append(value)
            else:
                self._begin(lo, number, POS if hi is None else hi, value)
        if self._flowing and time > NEG:
            flow.move(1)
        for value in came:
            self._times.append(time)
            self._values.append(value)
            flow.add(value, 1)
        times, gone, begin = self._times, self._gone, time - self._size
        while gone < len(times) and times[gone] < begin:
            flow.add(self._values[gone], -1)
            gone += 1
        if gone != self._gone:
            self._let_go(gone)

    def _begin(self, lo: int, number: int, hi: int, value: Value | None) -> None:
        """A long fact begins: at each tick one of its time points comes in, and later one leaves."""
        self._long[number] = (lo, hi, value)
        self._flow.change_rate(value, 1)
        self._flowing += 1
        if lo <= NEG:
            self._flow.add(value, self._size + 1)
            self._flow.change_rate(value, -1)
            self._flowing += 1
        else:
            self._turn(lo + self._size + 1, _BEGINS_TO_LEAVE, number)
        self._end(number, lo, hi, value)

    def _end(self, number: int, lo: int, hi: int, value: Value | None) -> None:
        if hi < POS:
            self._turn(hi + 1, _ENDS, number)
            self._turn(hi + self._size + 1, _TURNS, number)
            self._turn(hi + self._size + 2, _LEFT, number)

    def _change(self, what: int, which: int) -> None:
        if what == _TURNS:
            return
        value = self._long[which][2]
        self._flow.change_rate(value, 1 if what == _LEFT else -1)
        self._flowing += 1 if what == _BEGINS_TO_LEAVE else -1
        if what == _LEFT:
            del self._long[which]
            self._lasting -= 1

    def _pass(self, until: int, out: list[Fact]) -> None:
        time = self._first(self._at)
        lasts = self._lasts()
        if lasts >= POS:
            if time <= until and self._untold:
                self._skip(time)
                self._see(time, self._told(), out)
                self._untold = False
            self._skip(until)
            return
        if time == self._at and not self._untold:
            time = self._first(time + 1 + lasts)
        most = len(out) + MOST_RANGES
        while time <= until:
            self._skip(time)
            self._see(time, self._told(), out)
            if len(out) > most:
                raise OverflowError(f"it has more than {MOST_RANGES:,} values one after another")
            time = self._first(min(time + 1 + self._lasts(), POS))
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

    def _lasts(self) -> int:
        return self._flow.lasts() if self._flowing else POS
