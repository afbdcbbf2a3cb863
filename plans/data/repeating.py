"""Facts that repeat for ever: how the endless part of a periodic model is written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.data.facts import Row


@dataclass(frozen=True, slots=True)
class Repeating:
    """A fact that holds over `lo … hi` (encoded), and over this range moved by each multiple of `period`.

    A period above 0 leads on after it, one below 0 back before it. No range of a row touches another.
    """

    predicate: str
    row: Row
    lo: int
    hi: int
    period: int

    def between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The ranges that meet the finite range `low … high`, from the first one on.

        >>> list(Repeating("p", (), 4, 6, 10).between(15, 36))
        [(14, 16), (24, 26), (34, 36)]
        >>> list(Repeating("p", (), 4, 6, -10).between(-7, 100))
        [(-6, -4), (4, 6)]
        """
        step = abs(self.period)
        for number in self._numbers(low, high):
            yield self.lo + number * step, self.hi + number * step

    def number_between(self, low: int, high: int) -> int:
        """How many ranges `between` gives."""
        return len(self._numbers(low, high))

    def _numbers(self, low: int, high: int) -> range:
        step = abs(self.period)
        first = -((self.hi - low) // step)  # the least number n with hi + n·step ≥ low
        last = (high - self.lo) // step
        return range(max(first, 0), last + 1) if self.period > 0 else range(first, min(last, 0) + 1)

    def covers(self, lo: int, hi: int) -> bool:
        """Whether one of the ranges covers `lo … hi`.

        >>> fact = Repeating("p", (), 4, 6, 10)
        >>> fact.covers(1000004, 1000006), fact.covers(1000004, 1000007), fact.covers(-6, -4)
        (True, False, False)
        """
        return any(low <= lo and hi <= high for low, high in self.between(lo, lo))


Way = Literal["before", "after", "before and after"]


def both_ways(facts: Iterable[Repeating]) -> Iterator[tuple[Repeating, Way]]:
    """The facts, each with the way in which it leads on; one for two that are the same range, from one period to the next.

    >>> back, on = Repeating("p", (), 4, 6, -10), Repeating("p", (), 14, 16, 10)
    >>> [(fact.lo, way) for fact, way in both_ways([on, back])]
    [(4, 'before and after')]
    >>> [(fact.lo, way) for fact, way in both_ways([Repeating("p", (), 24, 26, 10), back])]  # not at 14 … 16
    [(24, 'after'), (4, 'before')]
    """
    waiting = dict.fromkeys(facts)
    for fact in list(waiting):
        twin = Repeating(fact.predicate, fact.row, fact.lo - fact.period, fact.hi - fact.period, -fact.period)
        if fact not in waiting:
            continue
        del waiting[fact]
        if twin in waiting:
            del waiting[twin]
            yield (fact if fact.period < 0 else twin), "before and after"
        else:
            yield fact, "after" if fact.period > 0 else "before"


def going_on(period: str, way: Way) -> str:
    """The comment behind a fact that repeats: how often, and in which way."""
    return f"  % and every {period} {way} it, for ever"
