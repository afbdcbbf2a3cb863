"""How long an event takes that comes alone: from handing it to the engine until the sink has the answer.

The program is a chain of five operators, ◇ □ ⋈ ◇ □, each with the union of its head behind it. Times are wall time, medians
over events that come one by one, each when all is quiet again. What else the machine does counts in them; beside them stands
what the event's own thread works, where the next event follows at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from types import MappingProxyType
from typing import Any

import anyio

import tidelog
from benchmarks.figures import Figure, show
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan

EVENTS, WARM_UP = 2_000, 100
PAUSE = 0.001
TARGET = 40.0
CHAIN = 5

PROGRAM = """
timeline integer.
input event(sensor).
output alarm.
zone(s1, hall).
recent(X) :- diamondminus[0,9] event(X).
lasting(X) :- boxminus[0,2] recent(X).
placed(Z) :- lasting(X), zone(X, Z).
warned(Z) :- diamondminus[0,9] placed(Z).
alarm(Z) :- boxminus[0,2] warned(Z).
"""


def run() -> list[Figure]:
    """The median latency on either backend, and what 99 of 100 and 999 of 1,000 events stay below."""
    plan = chain()
    steps = _longest_chain(plan)
    if steps < CHAIN:
        raise ValueError(f"the chain has only {steps} steps")
    figures = [Figure("latency", "steps from the event to the answer", steps)]
    for backend in ("asyncio", "trio"):
        times = anyio.run(measure, plan, backend=backend)
        work = anyio.run(measure, plan, 0.0, time.thread_time, backend=backend)
        figures += [
            Figure("latency", f"one event alone, {backend}, median", median(times), "µs", TARGET),
            Figure("latency", f"one event behind the other, {backend}, CPU, median", median(work), "µs", TARGET),
            Figure("latency", f"one event alone, {backend}, 99 of 100", quantiles(times, n=100)[-1], "µs"),
            Figure("latency", f"one event alone, {backend}, 999 of 1,000", quantiles(times, n=1000)[-1], "µs"),
        ]
    return figures


def chain() -> Plan:
    """The plan of the chain."""
    return tidelog.compile(PROGRAM, name="chain")


@dataclass
class _SignallingSink:
    """Tells when an answer has come."""

    name: str = "signal"
    came: anyio.Event = field(default_factory=anyio.Event)
    at: float = 0.0
    clock: Callable[[], float] = time.perf_counter

    async def __aenter__(self) -> _SignallingSink:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def send(self, answers: Sequence[Record]) -> None:
        self.at = self.clock()
        self.came.set()


async def measure(
    plan: Plan,
    pause: float = PAUSE,
    clock: Callable[[], float] = time.perf_counter,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> list[float]:
    """The latencies of the events behind the warm-up, in microseconds; there are `pause` seconds between two.

    `options` are those of the engine.
    """
    source, sink = tidelog.PushSource(), _SignallingSink(clock=clock)
    latencies: list[float] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tidelog.Engine(plan, [source], [sink], **options).run)
        for number in range(WARM_UP + EVENTS):
            await anyio.sleep(pause)
            sink.came = anyio.Event()
            begin = clock()
            await source.send([("event", ("s1",), 100 * number, 100 * number)])
            await sink.came.wait()
            latencies.append((sink.at - begin) * 1e6)
        source.close()
    return latencies[WARM_UP:]


def _longest_chain(plan: Plan) -> int:
    """How many steps lie on the longest way from the stream to an output, the input's own left out."""
    depths: dict[str, int] = {}
    for step in plan.steps:
        before = [depths[feed.name] for feed in step.inputs if feed.kind == "step"]
        depths[step.id] = max(before, default=-1) + 1
    return max(depths.values())


if __name__ == "__main__":
    show(run)
