"""The pure build beside the compiled one: a lone event, batches, and an event through an engine.

Both run from the wheel that `make test-compiled WHEEL=1` leaves in `build/compiled/wheel`, each in processes of its own, by
turns; a figure is the median over the turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import anyio

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import cpu_by_turns, push_all
from benchmarks.runtime import events, latency
from tidelog import native
from tidelog.plans.data.facts import Record
from tidelog.runtime.sessions.session import Session

ROOT = Path(__file__).parent.parent
WHEEL = ROOT / "build" / "compiled" / "wheel"
BUILDS = {"pure": "1", "compiled": "0"}
TURNS = 3
REPEATS = 5
TICKS, FACTS, ROWS = 150, 100, 50
TARGETS = {"a lone event, median": 5.0, "asyncio engine, median": 40.0, "trio engine, median": 40.0}
PROGRAMS = {
    "□": "timeline integer. a(X) :- boxminus[0,3] e(X).",
    "◇ and a join": "timeline integer. r(X) :- diamondminus[0,9] e(X). a(X) :- r(X), f(X).",
    "negation": "timeline integer. input e(x). input f(x). a(X) :- e(X), not f(X).",
    "since": "timeline integer. a(X) :- e(X) since f(X).",
}


def run() -> list[Figure]:
    """Each cost in either build, and what the compiled one takes of the other."""
    turns: dict[str, list[dict[str, float]]] = {build: [] for build in BUILDS}
    for _ in range(TURNS):
        for build in BUILDS:
            turns[build].append(_measured_in(build))
    figures: list[Figure] = []
    for name in turns["pure"][0]:
        costs = {build: median(turn[name] for turn in found) for build, found in turns.items()}
        figures += [Figure("builds", f"{name}, {build}", cost, "µs", TARGETS.get(name)) for build, cost in costs.items()]
        figures.append(Figure("builds", f"{name}, compiled / pure", costs["compiled"] / costs["pure"]))
    return figures


def _measured_in(build: str) -> dict[str, float]:
    """The figures of one build, in microseconds, from a process of its own."""
    if not WHEEL.exists():
        raise FileNotFoundError(f"there is no {WHEEL}: run `make test-compiled WHEEL=1`")
    found = {**os.environ, "TIDELOG_PURE": BUILDS[build], "PYTHONPATH": f"{WHEEL}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "benchmarks.builds", build]
    return dict(json.loads(subprocess.run(command, env=found, check=True, capture_output=True, cwd=ROOT).stdout))


def measure() -> dict[str, float]:
    """The figures of the build that runs here, in microseconds."""
    found: dict[str, float] = {}
    rule, predicate, row = events.ALIKE["other predicates"]
    lone = events.latencies(events.among(rule, 1), events.each(predicate, row), "intervals")
    found |= _spread("a lone event", [seconds * 1e6 for seconds in lone])
    switches = events.latencies(tidelog.compile(events.HYSTERESIS), events.switches, "intervals")
    found |= _spread("hysteresis", [seconds * 1e6 for seconds in switches])
    for name, program in PROGRAMS.items():
        [cost] = cpu_by_turns([partial(_batches, tidelog.compile(program))], REPEATS)
        found[f"batches of {FACTS}, {name}, a fact"] = cost / (TICKS * FACTS) * 1e6
    for backend in ("asyncio", "trio"):
        found |= _spread(f"{backend} engine", anyio.run(latency.measure, latency.chain(), backend=backend))
    return found


def _spread(name: str, costs: Sequence[float]) -> dict[str, float]:
    return {
        f"{name}, median": median(costs),
        f"{name}, 99 of 100": quantiles(costs, n=100)[-1],
        f"{name}, 999 of 1,000": quantiles(costs, n=1000)[-1],
    }


def _batches(plan: tidelog.Plan) -> partial[int]:
    session = Session(plan)
    batches: list[list[Record]] = [
        [("e" if i % 7 else "f", (f"row{i % ROWS}",), tick, tick) for i in range(FACTS)] for tick in range(TICKS)
    ]
    return partial(push_all, session, batches)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        show(run)
    elif native.is_compiled() == (sys.argv[1] == "compiled"):
        print(json.dumps(measure()))
    else:
        sys.exit(f"this is not the {sys.argv[1]} build")
