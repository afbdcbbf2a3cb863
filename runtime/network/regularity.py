"""Which steps are known just as far as the plan's leads say, and which may be known further, or not so far."""

from __future__ import annotations

from tidelog.plans.plan.plan import CalendarShape, PeriodShape, Step, SteppedShape, UnionShape
from tidelog.runtime.network.graph import Graph


class Regularity:
    """What is known of the steps of a graph before it runs. Calendars begin where the stream does, once that is known."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._knows_start = not any(isinstance(step.shape, CalendarShape) for step in graph.steps.values())

    def learn_start(self) -> bool:
        """The stream's start is known; whether that says more of some step."""
        knew, self._knows_start = self._knows_start, True
        return not knew

    def is_steady(self, name: str) -> bool:
        """Whether a step tells all that is due, and nothing that lies before its frontier as the plan knows it."""
        step = self._graph.steps[name]
        if step.loop is not None and self._graph.plan.loops[step.loop].holds:
            return False
        if isinstance(step.shape, PeriodShape) or self._awaits_start(step):
            return False
        return not isinstance(step.shape, UnionShape) or step.shape.reach == 1 or step.shape.passes

    def is_irregular(self, name: str) -> bool:
        """Whether a step may be known further than its lead says, or not so far, or be kept from facts meanwhile."""
        step = self._graph.steps[name]
        is_gated = any((name, port) in self._graph.gates for port in range(len(step.inputs)))
        is_other = isinstance(step.shape, SteppedShape) or self._awaits_start(step)
        return is_gated or self._graph.operators[name].far_sighted or is_other

    def _awaits_start(self, step: Step) -> bool:
        return isinstance(step.shape, CalendarShape) and not self._knows_start
