"""How long answers wait when a worker is killed: those of other shards, and those of its own, at little and at much state.

    python -m benchmarks.runtime.worker_kills [ROWS ...]

A session with two workers holds so many rows (1,000 and 200,000 unless told). One worker is killed with -9; then a fact for
each of the shards is told, and it is measured when the answer of each is there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from statistics import median

import tidelog
from tidelog.plans.data.facts import Record
from tidelog.plans.islands.island import owner
from tidelog.runtime.islands.network import Landed
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.settings import SOURCE, Settings

PROGRAM = "timeline integer. input p(x, y). q(X, Y) :- diamondminus[0,1000000] p(X, Y), diamondminus[0,1000000] p(X, _)."
TIMES = 5
_BATCH = 5_000


def key_of(shard: int, number: int = 0) -> str:
    """A key that a shard of two owns."""
    while owner(f"k{number}", 2) != shard:
        number += 1
    return f"k{number}"


def filled(rows: int) -> SpreadReasoner:
    """A session whose shards hold so many rows together."""
    session = SpreadReasoner(
        tidelog.compile(PROGRAM), Settings(), Layout(workers=2, supervision=Supervision(restarts=1_000))
    )
    facts: list[Record] = [("p", (f"k{i}", i), 1, 1) for i in range(rows)]
    for at in range(0, rows, _BATCH):
        session.take(SOURCE, Batch(facts[at : at + _BATCH]))
        session.pull_records()
    return session


def waits(session: SpreadReasoner, at: int, killed: int, *, own_first: bool) -> tuple[float, float]:
    """How many seconds the answers of the other shard, and of the killed one, take behind a kill.

    Answers land in the order of the deliveries: with `own_first` those of the other shard come behind.
    """
    shards = [actor for actor in session.actors() if actor.name == "q"]
    came: dict[object, float] = {}

    def land(found: Landed) -> None:
        for _, row, *_ in found.answers:
            came.setdefault(row[0], time.perf_counter())

    session.landing = land
    keys = key_of(1 - killed), key_of(killed)
    began = time.perf_counter()
    os.kill(shards[killed].process, signal.SIGKILL)
    for key in keys[::-1] if own_first else keys:
        session.take(SOURCE, Batch([("p", (key, -at), 1, 1)]))
    while not all(key in came for key in keys):
        session.wait(0.01)
        session.land()
    return came[keys[0]] - began, came[keys[1]] - began


def main() -> None:
    for rows in [int(found) for found in sys.argv[1:]] or [1_000, 200_000]:
        session = filled(rows)
        numbers = iter(range(1, 2 * TIMES + 1))
        for own_first in (False, True):
            found = [waits(session, next(numbers), at % 2, own_first=own_first) for at in range(TIMES)]
            others, own = (median(times) * 1000 for times in zip(*found, strict=True))
            order = "behind" if own_first else "before"
            print(f"{rows:,} rows: others' answers, {order} the shard's, after {others:.0f} ms; its own after {own:.0f} ms")
        session.close()


if __name__ == "__main__":
    main()
