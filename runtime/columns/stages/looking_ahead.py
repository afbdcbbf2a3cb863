"""What a course may say of times behind its frontiers: what follows for sure already, or would if nothing came any more.

No kernel of the course changes: copies of them are run to the end of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch, empty, joined
from tidelog.operators.columns.joining import outside
from tidelog.operators.columns.kernel import after
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import shift
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import (
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    JoinShape,
    LatchShape,
    LatestShape,
    MoveShape,
    PairShape,
    Plan,
    Step,
    SteppedShape,
    ThresholdShape,
    ToldShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import lead, lead_of_feed
from tidelog.runtime.columns.history import ColumnCourse

_Growing = (
    UnionShape | ToldShape | DilateShape | JoinShape | MoveShape | SteppedShape | ErodeShape | PairShape | ThresholdShape
)
"""Steps that more facts only let say more."""
_OWN = {LatchShape: 1, LatestShape: 0}
"""Steps that say at least what comes on a port, whatever comes on others."""


def says_at_once(plan: Plan) -> bool:
    """Whether all that follows from facts follows from them at once, whatever comes behind them."""
    return len(_growing(plan, leads_of(plan))) == len(plan.steps)


def _growing(plan: Plan, leads: Mapping[str, int]) -> frozenset[str]:
    """The steps that more facts only let say more; a negation does where its program alone says what is negated."""

    def grows(step: Step) -> bool:
        if isinstance(step.shape, AntiJoinShape):
            return lead_of_feed(step.inputs[1], leads) >= POS
        return isinstance(step.shape, _Growing)

    return frozenset(step.id for step in plan.steps if grows(step))


def leads_of(plan: Plan) -> dict[str, int]:
    """How far each step's frontier lies ahead of the watermark (encoded)."""
    leads: dict[str, int] = {}
    for step in plan.steps:
        leads[step.id] = min(
            (shift(lead_of_feed(feed, leads), lead(step.shape, port)) for port, feed in enumerate(step.inputs)), default=POS
        )
    return leads


class LookingAhead:
    """Looks ahead of a course whose plan has no loops."""

    def __init__(self, course: ColumnCourse) -> None:
        self._course = course
        self.leads = leads_of(course.plan)
        self._growing = _growing(course.plan, self.leads)
        self.says_at_once = len(self._growing) == len(course.plan.steps)

    def sure(self) -> Mapping[str, Batch]:
        """What each step says behind its frontier, whatever comes."""
        said: dict[str, Batch] = {}
        for step in self._course.plan.steps:
            ports = self._ports(step, said)
            if step.id in self._growing:
                said[step.id] = self._at_the_end(step, ports)
            elif type(step.shape) in _OWN:
                said[step.id] = self._own(step, ports, _OWN[type(step.shape)])
            else:
                said[step.id] = empty(self._course.kernels[step.id].width)
        return said

    def all_to_come(self) -> Mapping[str, Batch]:
        """What each step would say behind its frontier, if no fact came any more."""
        said: dict[str, Batch] = {}
        for step in self._course.plan.steps:
            said[step.id] = self._at_the_end(step, self._ports(step, said))
        return said

    def _ports(self, step: Step, said: Mapping[str, Batch]) -> list[Batch]:
        feeds = zip(step.inputs, self._course.kernels[step.id].widths, strict=True)
        return [said[feed.name] if feed.kind == "step" else empty(width) for feed, width in feeds]

    def _at_the_end(self, step: Step, ports: Sequence[Batch]) -> Batch:
        kernel = self._course.kernels[step.id]
        if ports and not any(map(len, ports)) and not kernel.kept():
            return empty(kernel.width)
        with self._course.running(step, sum(map(len, ports))):
            return copy(kernel).advance(ports, [POS] * len(ports), POS)

    def _own(self, step: Step, ports: Sequence[Batch], port: int) -> Batch:
        """What a step has been given behind its frontier on a port."""
        kernel = self._course.kernels[step.id]
        given = joined([kernel.remains()[port], ports[port]], kernel.width, kernel.pool)
        return given.clipped(after(self._course.frontier_of_step(step.id)), POS)


class Standing:
    """The rows of an output that hold at its frontier, as they were told: that they go on need not be told at once."""

    def __init__(self, width: int, pool: Pool) -> None:
        self._pool = pool
        self.rows = empty(width)
        self.frontier = NEG

    def move(self, told: Batch, frontier: int) -> None:
        """All of this holds behind the last frontier and up to this one, and nothing else."""
        if frontier > self.frontier:
            self.rows, self.frontier = told.clipped(frontier, frontier), frontier

    def next(self, coming: Batch) -> int:
        """Up to which time all has to be known for something to be told: what begins then, or has ended; POS if never."""
        first = after(self.frontier)
        at_once = coming.lo <= first
        there, later = coming.take(at_once), coming.take(~at_once)
        soonest = int(later.lo.min()) if len(later) else POS
        if not len(there):
            return soonest
        now = there.clipped(first, first)
        at = np.full(len(self.rows), first)
        if len(outside(now, range(now.width), Batch(self.rows.columns, at, at), self._pool)):
            return first
        return min(soonest, int(there.hi.min()))
