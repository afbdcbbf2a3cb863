"""What it brings, and costs, that a run is spread over workers and actors.

A keyed program has readings of a thousand rooms in batches; the time of each way to run it stands beside that of one task,
in one run and by turns. Starting the workers does not count. Then events come one by one, each when all is quiet again, as
in `latency`: by the clock from handing one in until the sink has its answer; and one behind the other, by the time that the
engine's own thread works.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import anyio

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.runtime.latency import PAUSE, measure
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch

ROOMS, BATCH, BATCHES, WARM_UP = 1_000, 1_000, 60, 10
TIMES = 3
FACTOR, COST, ALONE = 1.7, 1.03, 150.0
WAYS: Mapping[str, Mapping[str, Any]] = {
    "2 workers": {"workers": 2},
    "1 worker": {"workers": 1},
    "actors islands": {"actors": "islands"},
    "actors rule": {"actors": "rule"},
    "2 workers, actors rule": {"workers": 2, "actors": "rule"},
}
TARGETS = {"2 workers": 1 / FACTOR, "1 worker": COST}
"""The most that a way may take, in times of one task."""
_NAME = "workers"

PROGRAM = """
timeline integer, unit 1 s.
input temp(room: text, celsius: number).
output too_warm(room), swinging(room), mean(room, celsius), returned(room).
warm(R) for 90 s :- temp(R, C), C > 21.
too_warm(R) :- warm(R) for 5 min.
swing(R) :- temp(R, C), C < 18, temp(R, D) within 3 min, D > 24.
swinging(R) :- swing(R) within 2 min.
mean(R, A) :- A = avg(C) over temp(R, C) in [5 min] by R, A > 21.
returned(R) :- temp(R, C), C < 19, too_warm(R) within 10 min.
"""
CHAIN = """
timeline integer.
input event(sensor).
output alarm.
recent(X) :- diamondminus[0,9] event(X).
lasting(X) :- boxminus[0,2] recent(X).
warned(X) :- diamondminus[0,9] lasting(X).
alarm(X) :- boxminus[0,2] warned(X).
"""


def run() -> list[Figure]:
    """Ratios of batches, then lone events; what a worker takes of memory."""
    return [*_throughput(), *_alone()]


def _throughput() -> list[Figure]:
    """Each way beside one task, which is run beside each of its turns; the least time of each counts."""
    plan = tidelog.compile(PROGRAM, name="rooms")
    figures: list[Figure] = []
    for name, options in WAYS.items():
        turns = [(throughput(plan, BATCHES, WARM_UP, **options), throughput(plan, BATCHES, WARM_UP)) for _ in range(TIMES)]
        ratio = min(spread.seconds for spread, _ in turns) / min(one.seconds for _, one in turns)
        if len({told for turn in turns for told in (turn[0].told, turn[1].told)}) != 1:
            raise ValueError(f"{name}: not the same is told")
        figures.append(Figure(_NAME, f"{ROOMS:,} keys in batches, time of {name} / one task", ratio, "", TARGETS.get(name)))
        if name == "2 workers":
            figures.append(Figure(_NAME, "the same as facts a second, 2 workers / one task", 1 / ratio))
            figures += [
                Figure(_NAME, f"memory that a worker has for itself, {place}", size / 1e6, "MB")
                for place, size in (("first", turns[0][0].private[0]), ("last", turns[0][0].private[-1]))
                if size
            ]
    return figures


class Course:
    """A source that hands in all batches, and the sink that takes the answers: how many, and when the last one came."""

    name = "course"
    is_recorded = True

    def __init__(self, batches: Sequence[Batch], warm_up: int, is_idle: Callable[[], bool]) -> None:
        self._batches, self._warm_up, self._is_idle = batches, warm_up, is_idle
        self._next = self.told = 0
        self.began = self.ended = 0.0
        self.private: list[int] = []
        self.processes: Callable[[], Sequence[int]] = list

    @property
    def seconds(self) -> float:
        """From the first batch behind the warm-up until the last answer."""
        return self.ended - self.began

    async def __aenter__(self) -> Course:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def receive(self) -> Batch | None:
        await anyio.lowlevel.checkpoint()
        if self._next == self._warm_up:
            while not self._is_idle():  # noqa: ASYNC110 - what is waited for is seen from outside
                await anyio.sleep(0.01)
            self.began = time.perf_counter()
        if self._next == len(self._batches):
            self.private = [private_bytes(process) for process in self.processes()]
            return None
        self._next += 1
        return self._batches[self._next - 1]

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        self.told += len(answers)
        self.ended = time.perf_counter()


def throughput(plan: Plan, batches: int, warm_up: int, **options: Any) -> Course:
    """Run a plan over so many batches, of which the first ones are not measured."""
    course = Course(_batches(plan, batches), warm_up, lambda: _is_idle(engine))
    engine = tidelog.Engine(plan, [course], [course], emit="changes", **options)
    course.processes = lambda: sorted({actor.process for actor in engine.actors()})
    anyio.run(engine.run, backend="trio")
    return course


def _is_idle(engine: tidelog.Engine) -> bool:
    """Whether all that was handed in has been taken, and what follows was passed on."""
    return all(not actor.waits for actor in engine.actors()) and not any(waiting for _, waiting in engine.waiting())


def _batches(plan: Plan, number: int) -> list[Batch]:
    """Each room once in 20 s: in waves of their own between 15 and 27 degrees."""

    def reading(i: int) -> Record:
        room, time_ = i % ROOMS, i * 20 // ROOMS
        return plan.record("temp", (f"room {room}", 15 + (time_ // 7 + room * 37) % 97 / 8), time_)

    return [Batch([reading(i) for i in range(first, first + BATCH)]) for first in range(0, number * BATCH, BATCH)]


def private_bytes(process: int) -> int:
    """How much memory a process has for itself; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def _alone() -> list[Figure]:
    """A lone event, each way beside one task."""
    plan = tidelog.compile(CHAIN, name="chain")
    figures: list[Figure] = []
    one = anyio.run(measure, plan, backend="trio")
    work = median(anyio.run(measure, plan, 0.0, time.thread_time, backend="trio"))
    figures.append(Figure(_NAME, "one event alone, one task, median", median(one), "µs"))
    for name, options in WAYS.items():
        if name == "1 worker":
            continue
        times = anyio.run(measure, plan, PAUSE, time.perf_counter, options, backend="trio")
        target = ALONE if name == "2 workers" else None
        figures.append(Figure(_NAME, f"one event alone, {name}, median", median(times), "µs", target))
        figures.append(Figure(_NAME, f"one event alone, {name}, 99 of 100", quantiles(times, n=100)[-1], "µs"))
        figures.append(Figure(_NAME, f"one event alone, {name} / one task, median", median(times) / median(one)))
        spread = median(anyio.run(measure, plan, 0.0, time.thread_time, options, backend="trio"))
        figures.append(Figure(_NAME, f"one event behind the other, CPU of the engine, {name} / one task", spread / work))
    return figures


if __name__ == "__main__":
    show(run)
