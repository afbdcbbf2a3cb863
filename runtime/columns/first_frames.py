"""The frames with which a session begins, as a history: its facts go through the plan in columns, as long as more follow.

Behind each push the row operators know all that has gone by (`handover.py`), so a fact may come by itself. Until one does,
the kernels are kept, and further frames go on from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.pool import Pool
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.analysis.physical.in_columns import begins_row_by_row
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.handover import Handover
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.stretches import STRETCH
from tidelog.runtime.frames.columns import ColumnReader
from tidelog.runtime.frames.pushing import Frame
from tidelog.runtime.intake.intake import Intake
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.prospects import Watch
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.runtime.sessions.settings import Settings


class FirstFrames:
    """Implements `runtime.sessions.reasoner.History` over frames, whose facts go by in the order of their begins."""

    def __init__(self, plan: Plan, settings: Settings, start: int | None) -> None:
        self.pool = Pool()
        self._plan = plan
        self._settings = settings
        self._behind = settings.encoded(plan.timeline).lateness + 1
        self._start = start
        self._gap = 0 if plan.timeline.is_integer else 1
        self._course: ColumnCourse | None = None
        self._fresh: dict[str, Batch] = {}
        self._until: dict[str, int] = {}
        self._latest = NEG
        self._ahead = Ahead(settings.emit)

    def read(self, frames: Sequence[Frame]) -> bool:
        """Read frames; False where their rows have to go by one by one.

        That is where the plan has to be told them so (`begins_row_by_row`); where a row is no fact, or is late, since its
        place among the others decides what is told of it; where it is not known by the last when the stream has started; and
        where kernels keep more rows, each of which the row operators would have to be told anew.
        """
        kept = 0 if self._course is None else self._course.kept()
        if begins_row_by_row(self._plan) is not None or sum(map(len, frames)) < kept:
            return False
        batches: dict[str, Batch] = {}
        for frame in frames:
            reader = ColumnReader(self._plan.schema, frame.predicate, frame.layout, self.pool)
            found = reader.read(frame.table, frame.predicate, range(len(frame)))
            if found.rejected:
                return False
            batches[frame.predicate] = found.rows
        return self.take(batches)

    def take(self, batches: Mapping[str, Batch]) -> bool:
        """Take facts by predicate; False where they have to go by one by one, as in `read`."""
        fresh = {name: _in_order(batch) for name, batch in batches.items() if len(batch)}
        if not fresh:
            return False
        first = min(int(batch.lo[0]) for batch in fresh.values())
        latest = max(int(batch.lo[-1]) for batch in fresh.values())
        if self._course is not None:
            if first <= self._course.watermark:
                return False
        elif latest <= NEG or (self._start is None and first > self._promise(latest) + 1):
            return False
        self._fresh, self._latest = fresh, max(latest, self._latest)
        return True

    def _promise(self, lo: int) -> int:
        """How far time has come with a fact that begins then."""
        return max(NEG, lo - (lo & self._gap) - self._behind)

    def go_through(self, graph: Graph, outlet: Outlet, bound: StateBound) -> dict[str, Any]:
        """Tell the outlet what follows for sure; returns what a network goes on from."""
        if self._course is None:
            self._course = ColumnCourse(self._plan, self.pool, emit=self._settings.emit, start=self._start)
        course = self._course
        course.telling.limit(bound.room)
        for fresh, watermark in self._stretches():
            told = self._ahead.without(course.tell(fresh, watermark))
            outlet.answers += outlet.said(told)
            course.check_room(self._settings.max_state)
            bound.moved(len(told))
        return self._hand_over(course, graph, outlet)

    def _hand_over(self, course: ColumnCourse, graph: Graph, outlet: Outlet) -> dict[str, Any]:
        course.telling.hand_over({name: course.reached(name) for name in self._plan.outputs}, outlet.emission)
        wanted = self._plan.prospects if self._settings.prospects else Prospects()
        watch = Watch(wanted)
        for name, batch in self._fresh.items():
            self._until[name] = max(int(batch.hi.max()), self._until.get(name, NEG))
        watch.let_by(course.watermark, self._latest - (self._latest & self._gap), course.start, self._until)
        told, outlet.answers = outlet.answers, []
        state = Handover(course, graph, outlet, wanted).state(watch)
        ahead, outlet.answers = outlet.answers, told
        outlet.answers += outlet.said(self._ahead.without(ahead))
        self._ahead.begin(ahead)
        return state

    def _stretches(self) -> Iterator[tuple[dict[str, Batch], int]]:
        """What begins by some times, each with how far time has come with it."""
        begins = np.sort(np.concatenate([batch.lo for batch in self._fresh.values()]))
        before = dict.fromkeys(self._fresh, 0)
        for last in np.unique(np.append(begins[STRETCH - 1 :: STRETCH], begins[-1])).tolist():
            fresh: dict[str, Batch] = {}
            for name, batch in self._fresh.items():
                begin, before[name] = before[name], int(np.searchsorted(batch.lo, last, "right"))
                if begin < before[name]:
                    fresh[name] = batch.part(begin, before[name])
            yield fresh, self._promise(last)

    def enter(self, intake: Intake, source: str) -> None:
        """Let the intake know that these facts have gone by."""
        name, batch = min(self._fresh.items(), key=lambda item: int(item[1].lo[0]))
        first = (name, *batch.part(0, 1).facts(self.pool)[0])
        intake.let_by(source, first, {name: len(batch) for name, batch in self._fresh.items()}, self._latest)
        self._fresh = {}


class Ahead:
    """What was told at the last handover of times that the kernels have not come to: they tell it once more.

    >>> ahead = Ahead("intervals")
    >>> ahead.begin([("a", (1,), 5, 9)])
    >>> ahead.without([("a", (1,), 4, 12), ("b", (1,), 5, 9)])
    [('a', (1,), 4, 4), ('a', (1,), 10, 12), ('b', (1,), 5, 9)]
    """

    def __init__(self, emit: EmitMode) -> None:
        self._is_in_pieces = emit == "intervals"
        self._coverage: dict[str, Coverage] = {}
        self._told: frozenset[Record] = frozenset()
        self._last = NEG

    def begin(self, told: Sequence[Record]) -> None:
        """These answers have been told ahead, and no others."""
        self._told, self._coverage = frozenset(told), {}
        self._last = max((hi for _, _, _, hi in told), default=NEG)
        if self._is_in_pieces:
            for name, row, lo, hi in told:
                self._coverage.setdefault(name, Coverage(keeps=True)).insert([(row, lo, hi)])

    def without(self, told: list[Record]) -> list[Record]:
        """What of some answers has not been told ahead."""
        if not self._told:
            return told
        if not self._is_in_pieces:
            return [record for record in told if record not in self._told]
        left: list[Record] = []
        for record in told:
            coverage = self._coverage.get(record[0]) if record[2] <= self._last else None
            left += [record] if coverage is None else [(record[0], *fact) for fact in coverage.insert([record[1:]])]
        return left


def _in_order(batch: Batch) -> Batch:
    """The rows by their begins; those that begin together as they are."""
    lo = batch.lo
    return batch if bool((lo[1:] >= lo[:-1]).all()) else batch.take(np.argsort(lo, kind="stable"))
