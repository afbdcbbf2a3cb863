"""What a state costs: a run with one against the same run without, a commit by what is new and by what is stored, the disk.

The program and its traffic are those of `shortstop`; facts are read from a file, and answers written to one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import anyio

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.runtime.shortstop import PROGRAM
from benchmarks.runtime.traffic import SECONDS, as_text, traffic
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.runtime.journal.events import Taken, pack_events
from tidelog.runtime.ports.durability import Changes, Input

LEAST = 1 / 0.85
"""With a state, a run takes no longer than this, as a multiple."""
REPEATS = 3
TIMES = 8
"""How many times as long as that of `shortstop` the stream is: to open a state costs 20 ms, whatever the run's length."""
_PLAN = tidelog.compile(PROGRAM, name="shortstop")


def run() -> list[Figure]:
    """Seconds of a run, as multiples; milliseconds of a commit; bytes of a fact."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_throughput(Path(folder)), *_commits(Path(folder))]


def _throughput(folder: Path) -> list[Figure]:
    facts = folder / "traffic.txt"
    reports = list(traffic(SECONDS * TIMES))
    facts.write_text(as_text(reports))
    turns: list[list[float]] = [[], [], []]
    for _ in range(REPEATS):
        shutil.rmtree(folder / "state", ignore_errors=True)
        turns[0].append(_seconds(folder, facts, None))
        turns[1].append(_seconds(folder, facts, folder / "state"))
        turns[2].append(_seconds(folder, facts, folder / "state"))
    without, with_state, again = (median(times) for times in turns)
    size = sum(os.path.getsize(folder / "state" / name) for name in os.listdir(folder / "state"))
    return [
        Figure("durable", "a run with a state / without", with_state / without, target=LEAST),
        Figure("durable", "to go on behind the end / the run", again / with_state),
        Figure("durable", "disk with the whole journal, a fact", size / len(reports), "B"),
    ]


def _seconds(folder: Path, facts: Path, state: Path | None) -> float:
    """The seconds of a run that is left open at its end, and keeps its journal."""
    source = tidelog.open_source(f"facts+file:{facts}", _PLAN.schema)
    sink = tidelog.open_sink(f"facts+file:{folder / ('plain.txt' if state is None else 'stored.txt')}", _PLAN.schema)
    began = time.perf_counter()
    with nullcontext() if state is None else StateDirectory(str(state)) as store:
        keep = None if state is None else tidelog.Keep(seconds=86400)
        engine = tidelog.Engine(_PLAN, [source], [sink], state=store, keep=keep, at_end="stop")
        anyio.run(engine.run, backend="trio")
    return time.perf_counter() - began


def _commits(folder: Path) -> list[Figure]:
    """A commit of few and of many facts, where little and where much is stored."""
    figures = []
    for stored in (10_000, 1_000_000):
        with StateDirectory(str(folder / f"stored-{stored}")) as store:
            last = 0
            for _ in range(stored // 10_000):
                last = _commit(store, last, 10_000)
            for new in (1, 1000, 10_000):
                times = []
                for _ in range(15):
                    began = time.perf_counter()
                    last = _commit(store, last, new)
                    times.append(time.perf_counter() - began)
                name = f"a commit of {new:,} facts behind {stored:,}"
                figures.append(Figure("durable", name, median(times) * 1e3, "ms"))
    return figures


def _commit(store: StateDirectory, last: int, new: int) -> int:
    """Commit an event with so many facts."""
    event = Taken("s", 0.0, [("Straight", (f"veh{i % 97}",), last + i, last + i) for i in range(new)])
    block = Input(last + 1, last + 1, new, 0, pack_events([event]))
    store.commit(Changes(b"head", [block], keep=tidelog.Keep(seconds=86400)))
    return last + 1


if __name__ == "__main__":
    show(run)
