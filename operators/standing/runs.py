"""Runs: what one port brings, in the order of time, each run once."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.coverage import Bounds
from tidelog.operators.stores.open_rows import SHUT
from tidelog.plans.data.facts import Fact, Row

_NOW: Bounds = []


class Runs(Sweeping):
    """The maximal runs of the rows at port 0, which takes announcements, whatever comes twice there.

    Rule form: none; operators that take announcements are made of it. Intervals: those of the port, as far as it is known.
    State: that of `Sweeping`. Final: as the port.

    >>> from tidelog.operators.stores.open_rows import OPEN
    >>> runs = Runs()
    >>> runs.receive(0, [(("a",), 3, OPEN), (("b",), 2, 4), (("b",), 5, 6)], 7)
    [(('b',), 2, 6), (('a',), 3, 4611686018427387905)]
    >>> runs.receive(0, [(("a",), 3, SHUT), (("a",), 3, 8)], 9)
    [(('a',), 3, 4611686018427387906), (('a',), 3, 8)]
    """

    __slots__ = ()

    def __init__(self, ports: int = 1) -> None:
        super().__init__(ports, 0)

    def narrow(self, port: int, fact: Fact) -> Row | None:
        return fact[0]

    def begin(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        self.holding[port][row] = _NOW
        self.gain(row, held)

    def end(self, place: Place, held: dict[Row, bool]) -> None:
        port, row = place
        del self.holding[port][row]
        self.lose(row, held)

    def told(self, frontier: int) -> Iterator[tuple[Fact, bool]]:
        """What follows from a frontier: runs, whole or without an end yet, and whether such a one has been told already."""
        self.frontiers[0] = frontier
        was_open = False
        for fact in self.settle(0):
            if fact[2] != SHUT:
                yield fact, was_open
            was_open = fact[2] == SHUT
