"""The intervals of calendars that preconditions rest on, looked up where somebody looks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.plans.calendars.ticks import MONTH, Range, TickCalendar
from tidelog.plans.data.facts import Row
from tidelog.plans.plan.preconditions import Argument, Premise, Slot, outside
from tidelog.plans.tree.syntax import Value

_KEPT_PIECES = 16
"""So many stretches of a calendar are kept: what is asked lies near the present, mostly."""
_begin_of = itemgetter(1)


class Spells:
    """The intervals of a calendar, worked out piece by piece of time; each piece once, as long as it is kept."""

    def __init__(self, calendar: TickCalendar) -> None:
        self.calendar = calendar
        self._longest = calendar.longest
        self._length = max(self._longest, calendar.ticks(MONTH))
        self._piece = lru_cache(_KEPT_PIECES)(self._worked_out)

    def _worked_out(self, number: int) -> list[Range]:
        begin = number * self._length
        return self.calendar.ranges(begin, begin + self._length - 1)

    def _meeting(self, low: int, high: int) -> Iterator[Range]:
        """The intervals that have a time of `low … high`, in order."""
        first = low - self._longest
        for number in range(first // self._length, high // self._length + 1):
            piece = self._piece(number)
            for i in range(bisect_left(piece, first, key=_begin_of), len(piece)):
                if piece[i][1] > high:
                    return
                if piece[i][2] >= low:
                    yield piece[i]

    def inside(self, low: int, high: int) -> Iterator[Range]:
        """The intervals that have a time of `low … high`, those of one name together that touch each other."""
        held: Range | None = None
        for row, begin, end in self._meeting(low, high):
            if held is not None and held[0] == row and begin == held[2] + 1:
                held = row, held[1], end
                continue
            if held is not None:
                yield held
            held = row, begin, end
        if held is not None:
            yield held

    def outside(self, row: Row, low: int, high: int) -> Iterator[Range]:
        """The parts of `low … high` at which the calendar does not hold with this row."""
        for own, begin, end in self._meeting(low, high):
            if own == row:
                if begin > low:
                    yield row, low, begin - 1
                low = max(low, end + 1)
        if low <= high:
            yield row, low, high


class Given:
    """An interval of a calendar that a precondition rests on, or one outside of it: it is `width` + 1 long at least."""

    __slots__ = ("_is_outside", "_item", "_spells", "begin", "end", "width")

    def __init__(self, premise: Premise, spells: Spells, width: int) -> None:
        self._spells, self.width = spells, width
        self._item = Awaited(premise, 0)
        self._is_outside = premise.predicate != calendar_of(premise.predicate)
        self.begin, self.end = _number(premise.time), _number(premise.arguments[-1])

    @property
    def year(self) -> int:
        """As far as it is looked for where nothing bounds it."""
        return self._spells.calendar.year

    def is_open(self, binding: Sequence[Value | None]) -> bool:
        """Whether no interval has been chosen yet."""
        return binding[self.begin] is None

    def intervals(self, binding: Sequence[Value | None], low: int, high: int) -> Iterator[Range] | None:
        """Those that have a time of `low … high`; None where it is open yet outside of which they lie."""
        if not self._is_outside:
            return self._spells.inside(low, high)
        variables = [variable for _, variable, _ in self._item.where if variable != self.end]
        if any(binding[variable] is None for variable in variables):
            return None
        known = list(binding)
        known[self.end] = 0
        return self._spells.outside(self._item.row(known)[:-1], low, high)

    def choose(self, interval: Range, binding: Binding) -> bool:
        """Let it be this interval, if it can be."""
        row, begin, end = interval
        whole = (*row, end)
        if any(whole[i] != value for i, value in self._item.constants.items()):
            return False
        return self._item.unify(whole, begin, binding)


def calendar_of(predicate: str) -> str:
    """The calendar inside or outside of which an interval lies."""
    return predicate.removeprefix(outside(""))


def _number(term: Argument) -> int:
    if not isinstance(term, Slot):
        raise TypeError(f"an end of an interval is a variable, got {type(term).__name__}")
    return term.variable
