"""Stepped: what held at the last multiple of a window's step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS


class Stepped(Operator):
    """`M' ← sometime M in [0 step d]`, on integers: so `in [n step d]` is computed from `in [n]`.

    Intervals: M at a multiple e of d is sent over e … e+d−1, the times at which e is the last multiple; so a range gives
    one range at most, from the first multiple in it to d−1 beyond the last. Multiples count from 0, below it too. State:
    none, for different ranges hold different multiples. Final: until the next multiple behind the input's frontier.

    >>> stepped = Stepped(10)
    >>> stepped.receive(0, [(("a",), 18, 31), (("b",), 21, 29)], 25), stepped.frontier
    ([(('a',), 20, 39)], 29)
    """

    __slots__ = ("step",)

    def __init__(self, step: int) -> None:
        super().__init__(1)
        self.step = step

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        step = self.step
        out: list[Fact] = []
        for row, lo, hi in facts:
            first = lo + -lo % step if lo > NEG else NEG
            last = hi - hi % step + step - 1 if hi < POS else POS
            if first <= last:
                out.append((row, first, last))
        return out

    def settle(self, port: int) -> list[Fact]:
        known = self.frontiers[0]
        self.frontier = known if known >= POS or known <= NEG else known - known % self.step + self.step - 1
        return []

    def entries(self) -> int:
        return 0

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """There is nothing to take over."""
