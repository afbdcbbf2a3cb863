"""How long an event takes among those of a stream with 100 mixed rules, with all that is due when a second begins.

There are some 500 events a second, in order. The first of a second tells what has become certain with it: that a machine is
silent, or that something open goes on. Those that come later tell only what follows from themselves. Beside them stand the
events that have nothing to tell: they pay for forgetting alone. Times are CPU times of a session's `push`, without the
garbage collector.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

import tidelog
from benchmarks.figures import Figure, show
from tidelog.plans.plan.plan import Plan

KINDS, MACHINES, A_SECOND, SECONDS, WARM_UP = 20, 300, 500, 60, 15
ACKS = 0.05
SEED = 1
TARGETS = {"99 of 100": 300.0, "longest": 3_000.0}
QUANTILES = {"median": 0.5, "99 of 100": 0.99, "999 of 1,000": 0.999, "longest": 1.0}
RULES = """
hot{i}(S) :- temp(S, V), V >= {least}.
up{i}(S) :- diamondminus[0,3] hot{i}(S).
dur{i}(S) :- boxminus[0,{n}] up{i}(S).
gone{i}(S) :- diamondminus[{n},{n}] temp(S, _), not diamondminus[0,{before}] temp(S, _).
pair{i}(S) :- hot{i}(S), diamondminus[0,{n}] ack(S).
open{i}(S) :- not ack(S) since hot{i}(S).
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one event took, in microseconds, how many answers it told, and whether it was the first of a second."""

    time: float
    answers: int
    is_first: bool


def run() -> list[Figure]:
    """The spread of all events, of those that begin a second, of other events with answers, and of those without."""
    costs = measure(mixed())
    later = [cost for cost in costs if not cost.is_first]
    return [
        *_spread("an event", costs, TARGETS),
        *_spread("the first event of a second", [cost for cost in costs if cost.is_first], {}),
        *_spread("a later event with answers", [cost for cost in later if cost.answers], {}),
        *_spread("a later event without", [cost for cost in later if not cost.answers], {}),
    ]


def mixed() -> Plan:
    """The plan of six rules a kind, of which no two have the same window or limit."""
    rules = [RULES.format(i=i, least=60 + i, n=5 + i, before=4 + i) for i in range(KINDS)]
    return tidelog.compile("timeline integer. input temp(s, v). input ack(s).\n" + "".join(rules), name="bursts")


def measure(plan: Plan) -> list[Cost]:
    """The cost of each event behind the warm-up."""
    session = tidelog.Session(plan)
    costs: list[Cost] = []
    gc.disable()
    try:
        for at, (predicate, row, second) in enumerate(_events()):
            begin = time.thread_time_ns()
            session.push(predicate, row, second)
            cost = (time.thread_time_ns() - begin) / 1e3
            costs.append(Cost(cost, len(session.pull_records()), at % A_SECOND == 0))
    finally:
        gc.enable()
    return costs[WARM_UP * A_SECOND :]


def _events() -> Iterator[tuple[str, tuple[str | int, ...], int]]:
    chance = random.Random(SEED)
    for second in range(SECONDS):
        for _ in range(A_SECOND):
            machine = f"m{chance.randrange(MACHINES)}"
            if chance.random() < ACKS:
                yield "ack", (machine,), second
            else:
                yield "temp", (machine, chance.randrange(100)), second


def _spread(name: str, costs: Sequence[Cost], targets: dict[str, float]) -> list[Figure]:
    times = sorted(cost.time for cost in costs)
    last = len(times) - 1
    return [
        Figure("bursts", f"{name}, answers", mean(cost.answers for cost in costs)),
        *(
            Figure("bursts", f"{name}, {title}", times[min(last, int(len(times) * share))], "µs", targets.get(title))
            for title, share in QUANTILES.items()
        ),
    ]


if __name__ == "__main__":
    show(run)
