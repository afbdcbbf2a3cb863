"""Open rows: what holds until further notice is announced once when it begins to, and once when it no longer does.

On a channel whose readers take announcements (`plans/analysis/patience.py`), a row that goes on holding is not told anew at
each time. `(row, lo, OPEN)` says that the row holds from `lo` on, as far as the channel's frontier reaches, however far that
moves. `(row, lo, SHUT)` takes that back; with it comes, as facts, all of what held from `lo` on. So a moment at which
nothing happens to an open row costs nothing. What is announced comes before the frontier moves past its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import POS

OPEN = POS + 1
"""In place of a fact's end: the row is open from the fact's begin on."""
SHUT = POS + 2
"""In place of a fact's end: the row, open from the fact's begin on, is so no longer."""

Key = tuple[int, Row]
"""A port, and an open row there."""


class OpenRows:
    """The open rows of an operator that passes on what it takes: those of its ports, and what it has announced itself.

    `image` gives the rows of the output that a row at a port stands for. An output row is open from the earliest begin of
    the rows that stand for it.

    >>> rows = OpenRows(lambda port, row: [row])
    >>> rows.take(0, [(("a",), 3, OPEN)]), rows.take(1, [(("a",), 1, 2), (("a",), 5, OPEN)])
    (([], [], [(('a',), 3, 4611686018427387905)]), ([(('a',), 1, 2)], [], []))
    """

    __slots__ = ("_image", "_known", "_told")

    def __init__(self, image: Callable[[int, Row], Sequence[Row]]) -> None:
        self._image = image
        self._known: dict[Row, dict[Key, int]] = {}
        self._told: dict[Row, int] = {}

    def take(self, port: int, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact], list[Fact]]:
        """The facts among what has come; and what is to be announced before what follows from these, and behind it."""
        plain: list[Fact] = []
        touched: dict[Row, None] = {}
        for fact in facts:
            row, lo, hi = fact
            if hi <= POS:
                plain.append(fact)
                continue
            for image in self._image(port, row):
                touched[image] = None
                known = self._known.setdefault(image, {})
                if hi == OPEN:
                    known[port, row] = lo
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
