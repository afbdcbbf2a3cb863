"""Runs: what one port brings, in the order of time, each run once."""

from __future__ import annotations

from tidelog.operators.standing.sweeping import Place, Sweeping
from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.data.facts import Fact, Row

_NOW: Bounds = []


class Runs(Sweeping):
    """The maximal runs of the rows at port 0, which takes notices, whatever comes twice there.

    Rule form: none; loops are made of it. Intervals: those of the port, as far as it is known.
    State: that of `Sweeping`. Final: as the port.

    >>> from tidelog.operators.stores.notices import Notices
    >>> runs = Runs()
    >>> runs.receive(0, [(("b",), 2, 4), (("b",), 5, 6)], 7, Notices([(("a",), 3)])), runs.told_notices().begun
    ([(('b',), 2, 6)], {('a',): 3})
    >>> runs.receive(0, [], 9, Notices([], [(("a",), 3, 8)])), runs.told_notices().ended
    ([], [(('a',), 3, 8)])
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
