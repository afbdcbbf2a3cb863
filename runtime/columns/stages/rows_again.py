"""A stage that went in columns goes on row by row: where what it is told is to be noted, or its program changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.columns.first_frames import Ahead
from tidelog.runtime.columns.handover import Handover
from tidelog.runtime.columns.stages.flow import StageFlow, is_of_columns, known_until
from tidelog.runtime.intake.intake import Intake
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.prospects import Watch
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.sessions.staged import StageRun

Run = TypeVar("Run", bound=StageRun)


def go_on_by_rows(run: Run, owns: Callable[[Value], bool], state: bytes | None) -> Run:
    """A session that is new, begun, or as the state of one of the same stage has it, be that one of rows or of columns.

    SnapshotError where it is none.
    """
    if state is None or not is_of_columns(state):
        return run.opened(state)
    flow = StageFlow(run.stage, owns, emit=run.emit, start=run.start)
    flow.restore(state)
    run.begin()
    run.pull()
    emission = None if flow.emission is None else flow.emission.snapshot()
    run.begin_with(_Flown(flow, run), (flow.promised, flow.course.watermark), emission, known_until(flow.until))
    return run


class _Flown:
    """Implements `runtime.sessions.reasoner.History` over what a flow has gone through, and told."""

    def __init__(self, flow: StageFlow, run: StageRun) -> None:
        self._flow, self._run = flow, run

    def go_through(self, graph: Graph, outlet: Outlet, bound: StateBound) -> dict[str, Any]:
        flow, course = self._flow, self._flow.course
        course.plan = self._run.plan
        for name in course.plan.outputs:
            outlet.emission.receive(name, (), course.reached(name))
        wanted = course.plan.prospects if self._run.settings.prospects else Prospects()
        watch = Watch(wanted)
        if course.watermark > NEG:
            gap = 0 if course.plan.timeline.is_integer else 1
            watch.let_by(course.watermark, flow.latest - (flow.latest & gap), course.start, flow.until)
        state = Handover(course, graph, outlet, wanted).state(watch)
        told = Ahead("intervals")
        told.begin([(name, *fact) for name, batch in flow.ahead.items() for fact in batch.facts(flow.pool)])
        outlet.answers = told.without(outlet.answers)
        return state

    def enter(self, intake: Intake, source: str) -> None:
        """What sources have promised is told by who knows them."""
