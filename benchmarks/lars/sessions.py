"""Sessions to be measured: one whose windows are full already, and one that begins at the first time point."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from statistics import median

from benchmarks.lars.streams import Stream
from benchmarks.measure import Job, Run, cpu_seconds, push_all
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.sessions.session import Session


class FullWindow:
    """A session that has seen a whole window, and goes on from there."""

    def __init__(self, plan: Plan, stream: Stream, window: int, ticks: int) -> None:
        self._session = Session(plan)
        self._stream, self._ticks = stream, ticks
        self._times = count()
        self.facts = self.answers = 0
        """How many a run pushes, and how many the last one pulled."""
        for _ in range(window + 1):
            push_all(self._session, [stream(next(self._times))])

    def next_ticks(self) -> Run:
        """Prepare the facts of the next time points."""
        batches = [self._stream(next(self._times)) for _ in range(self._ticks)]
        self.facts = sum(map(len, batches))
        return partial(self._push, batches)

    def _push(self, batches: Sequence[Sequence[Record]]) -> None:
        self.answers = push_all(self._session, batches)


class FromStart:
    """A session that goes through a stream from its beginning, with prospects or without."""

    def __init__(self, plan: Plan, batches: Sequence[Sequence[Record]], prospects: bool) -> None:
        self._plan, self._batches, self._prospects = plan, batches, prospects
        self._session = Session(plan, prospects=prospects)

    def prepare(self) -> Run:
        """Begin anew."""
        self._session = Session(self._plan, prospects=self._prospects)
        return partial(push_all, self._session, self._batches)

    def evaluations(self) -> int:
        """How often operators were given facts in the last run."""
        return sum(step.evaluations for step in self._session.statistics().steps.values())


def cpu_in_both_orders(jobs: Sequence[Job], repeats: int) -> list[float]:
    """The median CPU time of each job, all run by turns, forwards and backwards."""
    times: list[list[float]] = [[] for _ in jobs]
    order = list(range(len(jobs)))
    for _ in range(repeats):
        for i in order:
            times[i].append(cpu_seconds(jobs[i]))
        order.reverse()
    return [median(each) for each in times]


def peak_memory(plan: Plan, stream: Stream, ticks: int, prospects: bool = True) -> float:
    """The most memory that a session held over so many time points, with a time point's facts and answers, in MB."""
    gc.collect()
    tracemalloc.start()
    try:
        session = Session(plan, prospects=prospects)
        for tick in range(ticks):
            push_all(session, [stream(tick)])
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Collect garbage as seldom as `tidelog run` does: rows and coverage hold no circles."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(300_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
