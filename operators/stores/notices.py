"""Notices: what holds until further notice is told once when it begins to, and once when it has ended.

On a channel whose readers take notices (`plans/analysis/physical/announcing.py`), a row that goes on holding is not told
anew at each time. It is **begun** once, and **stands** until it is **ended**. So a moment at which nothing happens to a
standing row costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.data.facts import Fact, Row


class Notices:
    """Rows that begin to stand, and rows that stand no longer: what a message tells beside its facts.

    `begun[row]` is when a row begins to hold: from there on it does so as far as the channel is known, however far that
    moves. It is told before the channel's frontier moves past that time. `ended` are rows that stood, each with the range
    over which it did: its begin as that was told, and its end, which lies before the begin if it held nowhere. Only what the
    frontier has not passed yet may turn out so. What has ended comes before what has begun; facts beside them are true
    whichever comes first.

    A row stands at most once at a time on a channel. What it holds beside that comes as facts.

    >>> notices, facts = Notices(), []
    >>> notices.begin(("a",), 3)
    >>> notices.end(("a",), 3, 5, facts), notices.end(("b",), 1, 4, facts)
    (None, None)
    >>> notices.begun, notices.ended, facts
    ({}, [(('b',), 1, 4)], [(('a',), 3, 5)])
    """

    __slots__ = ("begun", "ended")

    def __init__(self, begun: Iterable[tuple[Row, int]] = (), ended: Iterable[Fact] = ()) -> None:
        self.begun = dict(begun)
        self.ended = list(ended)

    def __len__(self) -> int:
        return len(self.begun) + len(self.ended)

    def begin(self, row: Row, lo: int) -> None:
        """A row begins to stand."""
        self.begun[row] = lo

    def end(self, row: Row, lo: int, hi: int, facts: list[Fact]) -> None:
        """A row stands no longer. What has begun in the same message was never told to stand: it is one of its `facts`."""
        if self.begun.pop(row, None) is None:
            self.ended.append((row, lo, hi))
        elif lo <= hi:
            facts.append((row, lo, hi))

    def follow_with(self, later: Notices, facts: list[Fact]) -> None:
        """Add what a later message tells."""
        for row, lo, hi in later.ended:
            self.end(row, lo, hi, facts)
        self.begun.update(later.begun)

    def ranges(self) -> list[Fact]:
        """The ranges over which rows held that stand no longer, as facts."""
        return [fact for fact in self.ended if fact[1] <= fact[2]]
