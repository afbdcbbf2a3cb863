"""A rule costs no more when there are a hundred.

A hundred independent rules read one stream of sensor readings, each with its own threshold, window and head; the CPU that
one of them costs per fact, against a program that has one rule alone. "In a session": facts and answers as records. "In
the engine": actors and channels too, on either backend.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial

import anyio

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Job, Run, cpu_by_turns, push_all
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan

RULES = 100
TARGET = 1.0
SENSORS, TICKS = 50, 100
REPEATS = 5
SEED = 1
BATCH = 1_000


def run() -> list[Figure]:
    """What one of a hundred rules costs, over what a rule by itself costs, and the cost of a fact."""
    one, many = _plan([RULES // 2]), _plan(range(RULES))
    facts = _readings()
    ways = {"in a session": partial(_in_session, facts)}
    ways |= {f"in the engine, {backend}": partial(_in_engine, facts, backend) for backend in ("trio", "asyncio")}
    jobs: list[Job] = [partial(way, plan) for way in ways.values() for plan in (one, many)]
    times = cpu_by_turns(jobs, REPEATS)
    figures: list[Figure] = []
    for name, alone, together in zip(ways, times[::2], times[1::2], strict=True):
        figures += [
            Figure("rules", f"{name}, one of {RULES} rules / a rule alone", together / RULES / alone, target=TARGET),
            Figure("rules", f"{name}, a fact, a rule alone", alone / len(facts) * 1e6, "µs"),
            Figure("rules", f"{name}, a fact, one of {RULES} rules", together / RULES / len(facts) * 1e6, "µs"),
        ]
    return figures


def _plan(numbers: Iterable[int]) -> Plan:
    """Rules whose windows differ, so that they share no step, with thresholds around the middle of the readings."""
    return tidelog.compile(
        "timeline integer. input temp(sensor, value).\n"
        + "".join(f"hot{i}(S) :- diamondminus[0,{5 + i}] temp(S, V), V >= {45 + i / 10}.\n" for i in numbers)
    )


def _readings() -> list[Record]:
    chance = random.Random(SEED)
    names = [f"sensor{i}" for i in range(SENSORS)]
    return [("temp", (name, chance.randrange(100)), tick, tick) for tick in range(TICKS) for name in names]


def _in_session(facts: list[Record], plan: Plan) -> Run:
    batches = [facts[i : i + SENSORS] for i in range(0, len(facts), SENSORS)]
    return partial(push_all, tidelog.Session(plan), batches)


def _in_engine(facts: list[Record], backend: str, plan: Plan) -> Run:
    engine = tidelog.Engine(plan, [tidelog.MemorySource(facts)], [tidelog.MemorySink()])
    return partial(anyio.run, engine.run, backend=backend)


if __name__ == "__main__":
    show(run)
