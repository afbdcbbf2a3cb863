"""Open rows: what holds until further notice is announced once when it begins to, and once when it no longer does.

On a channel whose readers take announcements (`plans/analysis/physical/announcing.py`), a row that goes on holding is not
told anew at each time. `(row, lo, OPEN)` says that the row holds from `lo` on, as far as the channel's frontier reaches,
however far that moves. `(row, lo, SHUT)` takes that back; with it comes, as facts, all of what held from `lo` on. So a
moment at which nothing happens to an open row costs nothing. What is announced comes before the frontier moves past its
time, and not before it holds there for certain: whoever reads it may rely on its begin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS

OPEN: Final = POS + 1
"""In place of a fact's end: the row is open from the fact's begin on."""
SHUT: Final = POS + 2
"""In place of a fact's end: the row, open from the fact's begin on, is so no longer."""

Key = tuple[int, Row]
"""A port, and an open row there."""


class OpenRows:
    """The open rows of an operator that passes on what it takes: those of its ports, and what it has announced itself.

    `image` gives the rows of the output that a row at a port stands for, `moved` when these begin to hold if it does. An
    output row is open from the earliest begin of the rows that stand for it.

    >>> rows = OpenRows(lambda port, row: [row])
    >>> rows.take(0, [(("a",), 3, OPEN)]), rows.take(1, [(("a",), 1, 2), (("a",), 5, OPEN)])
    (([], [], [(('a',), 3, 4611686018427387905)]), ([(('a',), 1, 2)], [], []))
    """

    __slots__ = ("_image", "_known", "_moved", "_told")

    def __init__(self, image: Callable[[int, Row], Sequence[Row]], moved: Callable[[int], int] = int) -> None:
        self._image = image
        self._moved = moved
        self._known: dict[Row, dict[Key, int]] = {}
        self._told: dict[Row, int] = {}

    def take(self, port: int, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact], list[Fact]]:
        """The facts among what has come; and what is to be announced before what follows from these, and behind it."""
        plain: list[Fact] = []
        touched: dict[Row, None] = {}
        whole: Sequence[Any] = facts  # as in `Coverage.insert`
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            if hi <= POS:
                plain.append(fact)
                continue
            for image in self._image(port, row):
                touched[image] = None
                known = self._known.setdefault(image, {})
                if hi == OPEN:
                    known[port, row] = self._moved(lo)
                else:
                    known.pop((port, row), None)
        before: list[Fact] = []
        behind: list[Fact] = []
        for row in touched:
            self._announce(row, before, behind)
        return plain, before, behind

    def _announce(self, row: Row, before: list[Fact], behind: list[Fact]) -> None:
        told, lo = self._told.get(row), min(self._known[row].values(), default=None)
        if lo is None:
            del self._known[row]
        if told == lo:
            return
        if told is not None:
            before.append((row, self._told.pop(row), SHUT))
        if lo is not None:
            self._told[row] = lo
            behind.append((row, lo, OPEN))

    def entries(self) -> int:
        """How many rows are open."""
        return len(self._told)

    def announced(self) -> list[tuple[Row, int]]:
        """The rows that it has announced, and since when they are open."""
        return list(self._told.items())

    def state(self) -> list[Any]:
        """What is open, as plain data."""
        return [
            [list(image), port, list(row), lo] for image, known in self._known.items() for (port, row), lo in known.items()
        ]

    def load(self, state: Sequence[Any]) -> None:
        """Take over a state that `state` gave."""
        self._known.clear()
        for image, port, row, lo in state:
            self._known.setdefault(tuple(image), {})[port, tuple(row)] = lo
        self._told = {row: min(known.values()) for row, known in self._known.items()}


class Pieces:
    """What is announced, told piece by piece to whoever takes no announcements; each time at most once.

    >>> pieces = Pieces()
    >>> pieces.follow([(("a",), 3, OPEN)], 5, 5), pieces.follow([], 9, 9)
    ([(('a',), 3, 5)], [(('a',), 6, 9)])
    >>> pieces.follow([(("a",), 3, SHUT), (("a",), 3, 12)], 20, 20)
    [(('a',), 10, 12)]
    """

    __slots__ = ("fresh", "open", "reach")

    def __init__(self) -> None:
        self.open: OrderedDict[Row, tuple[int, int]] = (
            OrderedDict()
        )  # row → since when, told up to; told of longest ago first
        self.fresh: list[Row] = []  # opened by the last message
        self.reach = NEG  # all that is open has been told up to here, by `follow`

    def take(self, facts: Sequence[Fact]) -> list[Fact]:
        """Take a message; returns the facts in it, less what has been told of open rows."""
        known, fresh = self.open, self.fresh
        fresh.clear()
        shut: dict[Row, tuple[int, int]] = {}
        new: list[Fact] = []
        whole: Sequence[Any] = facts
        for fact in whole:
            taken: Fact = fact
            row, lo, hi = taken
            if hi == SHUT:
                shut[row] = known.pop(row)
            elif hi == OPEN:
                since, told = shut.get(row, (lo, lo - 1))
                known[row] = lo, max(lo - 1, told) if told >= since else lo - 1
                if lo < since <= told:  # it is known to begin earlier: what comes before was not told
                    new.append((row, lo, since - 1))
                fresh.append(row)
            elif row in shut or row in known:
                _cut(fact, *(shut.get(row) or known[row]), new)
            else:
                new.append(fact)
        return new

    def tell(self, rows: Iterable[Row], reach: int) -> Iterator[Fact]:
        """How far some open rows have come; nothing is known before the frontier has moved."""
        if reach <= NEG:
            return
        known = self.open
        for row in rows:
            since, told = known[row]
            if told < reach:
                known[row] = since, reach
                yield row, told + 1, reach

    def follow(self, facts: Sequence[Fact], reach: int, frontier: int) -> list[Fact]:
        """Take a message, and tell how far all that is open has come: nobody has to ask again.

        What is open is known up to `reach`; behind it, nothing comes any more at or before the `frontier`.
        """
        new = self.take(facts)
        if reach > self.reach:
            self.reach = reach
            new += self.tell(self.open, reach)
        elif self.fresh:
            new += self.tell(self.fresh, reach)
        return new

    def entries(self) -> int:
        """How many rows are open."""
        return len(self.open)

    def state(self) -> dict[str, Any]:
        """What is open, and how far it has been told, as plain data."""
        return {"open": [[list(row), since, told] for row, (since, told) in self.open.items()], "reach": self.reach}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` gave."""
        self.open = OrderedDict((tuple(row), (since, told)) for row, since, told in state["open"])
        self.reach = state["reach"]


def _cut(fact: Fact, since: int, told: int, out: list[Fact]) -> None:
    """The parts of a fact outside `since … told`."""
    row, lo, hi = fact
    if told < since or hi < since or lo > told:
        out.append(fact)
        return
    if lo < since:
        out.append((row, lo, since - 1))
    if hi > told:
        out.append((row, told + 1, hi))


def ended_runs(bounds: Bounds, since: int | None) -> int:
    """How many bounds of a row's runs do not touch what is open of it, or have no end anyway."""
    if since is None or (bounds and bounds[-1] >= POS and bounds[-2] <= since):
        return len(bounds)
    return bisect_left(bounds, since - 1) & ~1


def join_under(bounds: Bounds, since: int, known: int) -> None:
    """Make one range of those that a row, open since then, has up to where that is known: it holds in between, too.

    >>> bounds = [1, 2, 5, 6, 8, 8, 11, 12]
    >>> join_under(bounds, 4, 10)
    >>> bounds
    [1, 2, 5, 8, 11, 12]
    """
    first, end = bisect_left(bounds, since - 1) & ~1, bisect_right(bounds, known) & ~1
    if end - first > 2:
        del bounds[first + 1 : end - 1]
