"""What the outbox's tests share: a program, its input, durable runs, and what an outbox holds in the end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

import tidelog
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader, OutboxRow
from tidelog.connectors.outbox.sink import OutboxSink
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.engine import Engine
from tidelog.runtime.ports.interfaces import Source

PROGRAM = """
timeline integer.
input temp(sensor: text, value: number).
seen(X) :- temp(X, _).
hot(X) :- temp(X, V), V > 22.
alarm(X) :- boxminus[0,2] hot(X).
spread(X) :- alarm(X).
spread(X) :- diamondminus[1,3] spread(X), hot(X).
quiet(X) :- diamondminus[0,1] seen(X), not hot(X).
output alarm, spread, quiet.
"""


def write_csv(path: Path, times: int, seed: int = 0) -> Path:
    """Temperatures of three sensors, with lines that cannot be read here and there."""
    draw = random.Random(seed)
    lines = ["time,sensor,value"]
    for time in range(times):
        lines += [f"{time},{sensor},{draw.randint(15, 30)}" for sensor in "abc"]
        if draw.random() < 0.001:
            lines += [f"{time},broken", ""]
    path.write_text("\n".join(lines))
    return path


def source(plan: Plan, path: Path) -> Source:
    return tidelog.open_source(f"{path}?predicate=temp" if path.suffix == ".csv" else str(path), plan.schema)


def durable(plan: Plan, sources: Sequence[Source], outbox: Outbox, state: StateDirectory, **options: Any) -> Engine:
    """An engine with a state and an outbox."""
    return Engine(plan, sources, [OutboxSink(outbox)], state=state, **options)


@contextmanager
def opened(
    plan: Plan, folder: Path, *, holds_changes: bool = False, **options: Any
) -> Iterator[tuple[Outbox, StateDirectory]]:
    """The outbox and the state of a directory."""
    with (
        Outbox(str(folder), plan, holds_changes=holds_changes, **options) as outbox,
        StateDirectory(str(folder)) as state,
    ):
        yield outbox, state


def run_durably(plan: Plan, folder: Path, sources: Sequence[Source], *, backend: str = "trio", **options: Any) -> Engine:
    """One durable run into the outbox of a directory, to its end."""
    with opened(plan, folder, holds_changes=options.get("emit") == "changes") as (outbox, state):
        run = durable(plan, sources, outbox, state, **options)
        anyio.run(run.run, backend=backend)
        return run


def held(folder: Path) -> list[OutboxRow]:
    """All that an outbox holds."""
    with OutboxReader(str(folder)) as reader:
        return reader.read(reader.first() - 1, 10**9)


def untimed(rows: Sequence[OutboxRow]) -> list[OutboxRow]:
    """The rows without the moments at which they were told, which no two runs share."""
    return [row._replace(emitted_at=0) for row in rows]


def alarm(time: int, sensor: str = "a") -> Record:
    return ("alarm", (sensor,), time, time)
