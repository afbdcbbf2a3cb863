"""The outlet: what comes out at the watched steps becomes answers and violations, which wait here to be pulled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tidelog.plans.facts import Fact, Record
from tidelog.plans.plan import Plan
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.emission import emission
from tidelog.runtime.intake import Delivery
from tidelog.runtime.interfaces import EmitMode
from tidelog.runtime.state_bound import StateBound
from tidelog.runtime.violations import Violation, Violations


class Outlet:
    """Takes new coverage of outputs and constraints, and how far each is known; makes `answers` and `violated` of it."""

    def __init__(self, plan: Plan, emit: EmitMode, bound: StateBound) -> None:
        self.answers: list[Record] = []
        self.violated: list[Violation] = []
        announced = {name: found for name, step in plan.outputs.items() if (found := plan.announcing.get(step))}
        self._emission = emission(emit, plan.outputs, announced)
        self._emission.room = bound.room
        self._violations = Violations(plan)
        self._constraints = plan.constraints
        self.accused: dict[str, list[Fact]] = {}
        """What has come of constraints, to be judged when all that is due has run, in whatever order it came."""
        self.since: dict[str, int] = {}
        """Watched steps of which nothing is told that lies before a time: they were not there then."""
        self.waits, self.follows_arrivals = self._emission.waits, self._emission.follows_arrivals

    def receive(self, step: str, facts: Sequence[Fact], frontier: int) -> None:
        """Take new coverage of a watched step, and how far it is known now."""
        if self.since and facts:
            facts = _from(self.since.get(step, NEG), facts)
        if step in self._constraints:
            if facts:
                self.accused.setdefault(step, []).extend(facts)
        else:
            self.answers += self._emission.receive(step, facts, frontier)

    def judge(self, frontier_of: Callable[[str], int]) -> None:
        """Tell which violations begin with what has come of constraints, by how far each of these is known now."""
        accused, self.accused = self.accused, {}
        for step, facts in accused.items():
            self.violated += self._violations.receive(step, facts, frontier_of(step))

    def arrive(self, delivery: Delivery) -> bool:
        """Input facts arrived at some time points; returns whether outputs that are known already may have more to tell."""
        self.answers += self._emission.arrive(delivery.points, delivery.frontier)
        return bool(delivery.points)

    def deadline(self, step: str) -> int:
        """The frontier of a watched step at which there is something to tell though nothing new comes; POS if nothing is."""
        return POS if step in self._constraints else self._emission.deadline(step)

    def due(self, step: str) -> int:
        """The same, but that what goes on holding may wait to be told of until there is something else to tell."""
        return POS if step in self._constraints else self._emission.due(step)

    def finish(self) -> None:
        """The stream has ended, and all has been received."""
        self.answers += self._emission.finish()

    def rest(self) -> None:
        """The stream has stopped before its end: tell what is known and was left untold."""
        self.answers += self._emission.rest()

    @property
    def violations(self) -> int:
        """How many violations there were."""
        return self._violations.count

    def entries(self) -> Iterator[tuple[str, int]]:
        """How many ranges wait for their end, by output."""
        yield from self._emission.entries().items()

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data, without what waits to be pulled."""
        since = dict(self.since)
        return {"emission": self._emission.snapshot(), "violations": self._violations.snapshot(), "since": since}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self._emission.restore(data["emission"])
        self._violations.restore(data["violations"])
        self.since = dict(data["since"])
        self.answers.clear()
        self.violated.clear()
        self.accused.clear()


def _from(begin: int, facts: Sequence[Fact]) -> Sequence[Fact]:
    """The part of some coverage that lies at a time or behind it."""
    return [(row, max(lo, begin), hi) for row, lo, hi in facts if hi >= begin]
