"""What an update of a materialisation costs beside a fresh run, where one in a thousand facts changes: CPU by turns.

Half of the changes are facts that go, half are facts that come; then they are taken back, so that each turn begins alike.
The programs have the shapes of those in the paper on DRed for DatalogMTL (arXiv 2511.12169), whose data cannot be fetched
here: the university without recursion, ways within bounded time, and what repeats for ever.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import tidelog
from benchmarks.batch import university
from benchmarks.figures import Figure, show
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.runtime.batch.materialisation import Materialisation

SEED, REPEATS, SHARE = 1, 3, 1_000
TARGET = 0.05

WAYS = "timeline integer. reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), diamondminus[0,2] link(Z, Y)."
ROUNDS = """
timeline integer.
due(X) :- start(X).
due(X) :- diamondminus[7,7] due(X), not stopped(X).
stopped(X) :- diamondminus[0,inf) stop(X).
visit(X, Y) :- due(X), site(X, Y).
idle(Y) :- site(X, Y), not due(X).
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its facts."""

    name: str
    program: str
    facts: Callable[[BatchPlan], list[Record]]


def _campus(number: int, plan: BatchPlan) -> list[Record]:
    return list(university.university(number, plan.timeline))


def _links(number: int, _: BatchPlan) -> list[Record]:
    return [("link", (f"{i // 10}.{i % 10}", f"{i // 10}.{i % 10 + 1}"), i % 50, i % 50 + 5) for i in range(number)]


def _sites(number: int, _: BatchPlan) -> list[Record]:
    draw = random.Random(SEED)
    each = range(number // 3)
    starts = [("start", (f"d{i}",), at, at) for i in each for at in [draw.randrange(20)]]
    stops = [("stop", (f"d{i}",), at, at) for i in each[::2] for at in [draw.randrange(30, 60)]]
    return [*starts, *stops, *(("site", (f"d{i}", f"s{i}"), 0, 1_000) for i in each)]


CASES = (
    Case("university without recursion, 100,000 facts", university.FLAT, partial(_campus, 100_000)),
    Case("ways, 50,000 facts", WAYS, partial(_links, 50_000)),
    Case("what repeats for ever, 5,000 facts", ROUNDS, partial(_sites, 5_000)),
)


def run() -> list[Figure]:
    """Each case, with what an update takes in milliseconds."""
    return [figure for case in CASES for figure in _figures(case)]


def _figures(case: Case) -> list[Figure]:
    plan = tidelog.compile_batch(case.program)
    facts = case.facts(plan)
    changed = random.Random(SEED).sample(facts, max(2, len(facts) // SHARE))
    went, came = changed[::2], changed[1::2]
    kept = set(came)
    before = [fact for fact in facts if fact not in kept]
    done = _fresh(plan, before)
    done.update(came, went)
    done.update(went, came)  # what is looked up is found by now
    fresh: list[float] = []
    update: list[float] = []
    for _ in range(REPEATS):
        fresh.append(_seconds(partial(_fresh, plan, before)))
        update.append(_seconds(partial(done.update, came, went)))
        update.append(_seconds(partial(done.update, went, came)))
    return [
        Figure("updating", f"{case.name}, update / fresh run", median(update) / median(fresh), target=TARGET),
        Figure("updating", f"{case.name}, update", median(update) * 1e3, "ms"),
    ]


def _fresh(plan: BatchPlan, facts: Sequence[Record]) -> Materialisation:
    done = Materialisation(plan)
    done.load(facts)
    done.run()
    return done


def _seconds(job: Callable[[], object]) -> float:
    begin = time.process_time()
    job()
    return time.process_time() - begin


if __name__ == "__main__":
    show(run)
