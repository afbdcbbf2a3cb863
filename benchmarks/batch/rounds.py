"""One materialisation, measured: the CPU time of each round, and how much memory it takes."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Literal

from tidelog.compiling import compile_batch
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.runtime.batch import choosing
from tidelog.runtime.batch.materialisation import Materialisation, MaterialisationStatistics

Way = Literal["naive", "seminaive", "optimised", "columns"]
"""The three strategies by rows, and the seminaive one in columns."""
WAYS: tuple[Way, ...] = ("naive", "seminaive", "optimised", "columns")
_ENDLESS = 10_000


@dataclass(frozen=True, slots=True)
class Case:
    """A program, and so many facts for it; with `rounds`, its materialisation ends after so many."""

    name: str
    title: str
    program: str
    facts: Callable[[int, Timeline], Iterator[Record]]
    rounds: int | None = None

    def plan(self) -> BatchPlan:
        return compile_batch(self.program)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a materialisation costs: CPU of each round in seconds (the last one, that finds nothing new, too), the median of
    several runs; how many facts hold in the end, and a number that is the same for the same ones; what was done."""

    rounds: Sequence[float]
    stored: int
    fingerprint: int
    done: MaterialisationStatistics

    @property
    def cpu(self) -> float:
        return sum(self.rounds)

    @property
    def cpu_so_far(self) -> list[float]:
        return list(accumulate(self.rounds))


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Collect no garbage, as `tidelog materialise`: rows and coverage hold no circles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def going(way: Way) -> Iterator[None]:
    """Within it, materialisations go in columns, however few their facts are, or by rows, however many."""
    before, choosing.WORTH_IT = choosing.WORTH_IT, 0 if way == "columns" else sys.maxsize
    try:
        yield
    finally:
        choosing.WORTH_IT = before


def measure(case: Case, facts: int, repeats: int, naive: int) -> dict[Way, Cost]:
    """Each way over the same facts, by turns, forwards and backwards; the naive one once, for up to `naive` facts.

    AssertionError if what holds in the end differs.
    """
    plan = case.plan()
    records = list(case.facts(facts, plan.timeline))
    times: dict[Way, list[list[float]]] = {way: [] for way in WAYS}
    costs = {}
    order = [way for way in WAYS if way != "naive" or facts <= naive]
    for turn in range(repeats):
        for way in order:
            if turn == 0 or way != "naive":
                done = _loaded(plan, way, records)
                with going(way):
                    times[way].append(_times(done, case.rounds))
                costs[way] = _cost(done, times[way])
        order.reverse()
    if len({(cost.stored, cost.fingerprint) for cost in costs.values()}) > 1:
        raise AssertionError(f"{case.name}: the ways do not agree")
    return costs


def peak_memory(case: Case, facts: int, way: Way) -> int:
    """The most memory in bytes from the first fact that is made to the last round."""
    plan = case.plan()
    gc.collect()
    tracemalloc.start()
    try:
        done = _loaded(plan, way, case.facts(facts, plan.timeline))
        with going(way):
            done.run(case.rounds)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _loaded(plan: BatchPlan, way: Way, records: Iterable[Record]) -> Materialisation:
    done = Materialisation(plan, "seminaive" if way == "columns" else way)
    done.load(records)
    return done


def _times(done: Materialisation, rounds: int | None) -> list[float]:
    gc.collect()
    times = []
    for _ in range(_ENDLESS if rounds is None else rounds):
        begin = time.process_time()
        is_new = done.round()
        times.append(time.process_time() - begin)
        if not is_new:
            break
    return times


def _typical(runs: Sequence[Sequence[float]]) -> list[float]:
    """The rounds of the run whose whole time is the median."""
    middle = median(sum(run) for run in runs)
    return list(min(runs, key=lambda run: abs(sum(run) - middle)))


def _cost(done: Materialisation, times: Sequence[Sequence[float]]) -> Cost:
    found = [hash(record) for record in done.facts()]
    return Cost(_typical(times), len(found), sum(found), done.statistics())
