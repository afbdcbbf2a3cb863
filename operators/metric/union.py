"""Union: several rules with one head, or an input that may repeat itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.operators.operator import Operator
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.data.facts import Fact


class Union(Operator):
    """`P ← M1`, …, `P ← Mn`: coalesces its ports and sends only what is new.

    Rule form: all rules with head P. Intervals: passed on as they are, less what is known already; with a `reach` above
    1 they become `#`-facts: gaps shorter than the granularity of P's readers count as covered (Algorithm 4 of Wałęga
    et al. 2023, lines 8–10), but for the part of a gap that lies behind the frontier: it is promised already, and the
    readers bridge it themselves. State: the coverage beyond the frontier; its bound is the coverage that may still be
    repeated, which for `#`-facts does not depend on how close together timestamps lie. Final: as far as the
    slowest port. One that `passes` on what comes again keeps nothing, and bridges nothing: its reader does.

    >>> union = Union(ports=2)
    >>> union.receive(0, [(("a",), 1, 4)], 0), union.receive(1, [(("a",), 3, 6)], 0)
    ([(('a',), 1, 4)], [(('a',), 5, 6)])
    """

    __slots__ = ("coverage",)

    settles_by_port = False

    def __init__(self, ports: int, reach: int = 1, *, passes: bool = False) -> None:
        super().__init__(ports)
        self.coverage = None if passes else Coverage(reach)

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if self.coverage is None:
            return facts if isinstance(facts, list) else list(facts)
        return self.coverage.insert(facts) if self.coverage.reach == 1 else self._bridged(self.coverage, facts)

    def _bridged(self, coverage: Coverage, facts: Sequence[Fact]) -> list[Fact]:
        """What of some facts is new, with the gaps before them, but for what of these is promised already."""
        new: list[Fact] = []
        for fact in facts:
            _, begin, _ = fact
            least = min(begin, self.frontier + 1)
            new += [(row, max(lo, least), hi) for row, lo, hi in coverage.insert((fact,))]
        return new

    def settle(self, port: int) -> list[Fact]:
        self.frontier = min(self.frontiers)
        return []

    def tidy(self) -> None:
        if self.coverage is not None:
            self.coverage.forget(self.frontier)

    def entries(self) -> int:
        return 0 if self.coverage is None else self.coverage.entries()

    def state(self) -> dict[str, Any]:
        return {"coverage": [] if self.coverage is None else self.coverage.snapshot()}

    def load(self, state: dict[str, Any]) -> None:
        if self.coverage is not None:
            self.coverage.restore(state["coverage"])
