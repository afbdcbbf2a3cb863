"""A session that begins with a history: its facts go through the plan in columns, and the row operators go on from there.

Each operator is given what the kernel of its step keeps of its input, and what those before it in the plan have said beyond
their frontiers. What it says of this at or before its step's frontier has been told, and is dropped; what lies behind is
passed on. So the session goes on as if it had been given each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.kernel import Pointwise
from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.joins.join import Join
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.union import Union
from tidelog.operators.operator import Operator, behind
from tidelog.operators.standing.told import DistinctPieces
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.operators.windows.move import Move
from tidelog.plans.analysis.physical.lookups import kept_columns
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import JoinShape, Step
from tidelog.plans.tree.syntax import Variable
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.network.deploy import build_operator
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.prospects import Watch

Said = tuple[int, Sequence[Fact], Notices | None]
"""What a port is told: its number, facts, and notices."""


class Handover:
    """Builds the state of a graph where a course has come to; what lies ahead of outputs goes to the outlet."""

    def __init__(self, course: ColumnCourse, graph: Graph, outlet: Outlet, prospects: Prospects) -> None:
        self._course = course
        self._plan = course.plan
        self._graph = graph
        self._outlet = outlet
        self._prospects = prospects
        self._said: dict[str, list[Said]] = {step.id: [] for step in course.plan.steps}

    def state(self, watch: Watch) -> dict[str, Any]:
        """What the network goes on from, as its `snapshot` has it; a watch has seen the facts."""
        operators: dict[str, dict[str, Any]] = {}
        for step in self._plan.steps:
            try:
                operators[step.id] = self._hand_over(step)
            except Exception as error:
                raise self._graph.failure(step.id, (), error) from error
        graph: dict[str, Any] = {"operators": operators, "loops": [], "prospects": watch.snapshot(), "arrangements": {}}
        known = NEG if self._course.start is None else POS
        return {"graph": graph, "watermark": self._course.watermark, "start": known}

    def _hand_over(self, step: Step) -> dict[str, Any]:
        course, kernel = self._course, self._course.kernels[step.id]
        frontiers = [course.frontier_of(feed) for feed in step.inputs]
        operator = self._build(step)
        out: list[Fact] = []
        if isinstance(kernel, Pointwise):
            out += self._facts(kernel.beyond)
            _note_sent(step, operator, out)
        else:
            for port, batch in enumerate(kernel.remains()):
                out += operator.receive(port, self._facts(batch), NEG)
        for port, facts, notices in self._said[step.id]:
            out += operator.receive(port, facts, NEG, notices)
        out += operator.advance(frontiers)
        if isinstance(operator, Aggregate):
            operator.stand_behind(course.frontier_of_step(step.id))
        sent = self._pass_on(step, operator, out)
        received = sum(len(facts) + len(notices or ()) for _, facts, notices in self._said[step.id])
        return self._counted(step, operator.snapshot(), received, sent)

    def _build(self, step: Step) -> Operator:
        announced = self._plan.announcing.get(step.id)
        far_sighted = step.id in self._prospects.far_sighted
        return build_operator(step, self._plan.timeline, far_sighted=far_sighted, announced=announced)

    def _facts(self, batch: Batch) -> list[Fact]:
        """Rows one by one, each at each time once, in the order of their begins."""
        facts = batch.tidied(self._course.pool).facts(self._course.pool) if len(batch) else []
        facts.sort(key=lambda fact: fact[1])
        return facts

    def _pass_on(self, step: Step, operator: Operator, out: list[Fact]) -> int:
        """Tell what lies behind the frontier up to which the kernel has told all; returns how much it is."""
        frontier = self._course.frontier_of_step(step.id)
        told = operator.told_notices()
        facts, notices = behind(frontier, out), None
        if told is not None:
            begun = behind(frontier, [(row, lo, POS) for row, lo in told.begun.items()])
            notices = Notices([(row, lo) for row, lo, _ in begun])
        for name, port in self._graph.outer[step.id]:
            self._said[name].append((port, facts, notices))
        if step.id in self._graph.watched:
            self._outlet.receive(step.id, facts, frontier, notices)
        return len(facts) + len(notices or ())

    def _counted(self, step: Step, state: dict[str, Any], received: int, sent: int) -> dict[str, Any]:
        """The state of an operator, with the counts of its kernel, and of what it took and sent as it was built."""
        work = self._course.work[step.id]
        state["counters"] = [work.received + received, work.sent + sent, work.stretches, 0]
        if "failed" in state["state"]:
            state["state"]["failed"] = self._course.kernels[step.id].failed
        return state


def _note_sent(step: Step, operator: Operator, sent: Sequence[Fact]) -> None:
    """Let the operator of a step that takes each fact by itself know what has followed beyond its frontier."""
    for coverage, facts in _known(step, operator, sent):
        if coverage is not None:
            coverage.insert(facts)


def _known(step: Step, operator: Operator, sent: Sequence[Fact]) -> Iterator[tuple[Coverage | None, Sequence[Fact]]]:
    """Where an operator notes what it has taken and sent, and what it notes of this."""
    if isinstance(operator, Union | Dilate | Move):
        yield operator.coverage, sent
    elif isinstance(operator, Join) and isinstance(step.shape, JoinShape):
        yield operator.sent_coverage, sent
        kept = kept_columns(step.shape, 0)
        names = [term.name if isinstance(term, Variable) else "" for term in step.shape.head]
        if all(name in names for name in kept):
            yield operator.stores[0], [(tuple(row[names.index(name)] for name in kept), lo, hi) for row, lo, hi in sent]
    elif isinstance(operator.pieces, DistinctPieces):
        yield operator.pieces.coverage, sent
