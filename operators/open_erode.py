"""Erode, where its input announces what goes on holding, and the result does so, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.operators.coverage import Bounds
from tidelog.operators.erode import Erode
from tidelog.operators.open_rows import OPEN, SHUT
from tidelog.operators.operator import shift
from tidelog.operators.sweeping import Place, Sweeping
from tidelog.plans.facts import Fact, Row
from tidelog.plans.timeline import POS, Metric

_NOW: Bounds = []


class OpenErode(Sweeping):
    """`M' ← □ϱ M` and `M' ← □⁺ϱ M`, with announcements at the port and in what it sends.

    Intervals: those of `Erode`. What goes on is announced where the run begins, for the time from which it would have held
    for the whole of ϱ; so that may lie ahead. What follows from facts alone is told at once, too. State: that of `Sweeping`.
    Final: as `Erode`.
    """

    __slots__ = ("_eroding", "_high")

    def __init__(self, metric: Metric, future: bool) -> None:
        super().__init__(1, 0)
        self._eroding = Erode(metric, future)
        self._high = -metric.b if future else metric.a

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

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        super().feed(port, facts)
        return self.tell_ahead([ahead for fact in self.beyond(facts) for ahead in self._certain(fact)])

    def _certain(self, fact: Fact) -> Iterator[Fact]:
        """What follows at once from a fact that goes beyond what has been gone through."""
        row, _, end = fact
        run = self.run(row, end)
        if run is not None:
            lo, hi = self._eroding.eroded(*run)
            if lo <= hi:
                yield row, lo, hi

    def settle(self, port: int) -> list[Fact]:
        out: list[Fact] = []
        for row, begin, end in super().settle(port):
            lo, hi = self._eroding.eroded(begin, min(end, POS))
            if lo <= hi:
                out.append((row, lo, end if end in (OPEN, SHUT) else hi))
        return self.untold(out)

    def announced_rows(self) -> list[tuple[Row, int]]:
        eroded = [(row, *self._eroding.eroded(since, POS)) for row, since in super().announced_rows()]
        return [(row, lo) for row, lo, hi in eroded if lo <= hi]

    def promised(self, known: int) -> int:
        return shift(known, self._high)
