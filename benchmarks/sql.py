"""Alarms to a database: through the sink, and through the bare library. Needs PostgreSQL (`.ci/postgresql`).

    python -m benchmarks.sql [--count 200000]

Both write the same rows with the same statement, 1,000 in a transaction, and are measured by turns. The sink is given its
answers as an engine gives them. Memory is what Python holds at most while the sink writes, beside a tenth of the answers.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import psycopg

import tidelog
from tidelog.connectors import JsonEncoder
from tidelog.connectors.databases.sql.database import database
from tidelog.connectors.databases.sql.sink import TOGETHER, SqlSink
from tidelog.connectors.databases.sql.tables import tables_of
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.runtime.actors.supervision import Group, RestartPolicy, SinkActor
from tidelog.runtime.ports.durability import Heading

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from databases import Postgres, postgres

PLAN = tidelog.compile(
    "timeline integer, unit 1 s. input temp(machine: text, celsius: number). output hot(machine, celsius). "
    "hot(M, C) :- temp(M, C), C > 80."
)
ROUNDS = 5
GROUP = TOGETHER
"""How many answers are at hand at once: a backlog has as many as a transaction takes."""
_NAMES = "machine, celsius, begins, ends"
_KEY = "machine, celsius, begins"
_PUT = f"INSERT INTO hot ({_NAMES}) VALUES ({{}}) ON CONFLICT ({_KEY}) DO UPDATE SET ends = excluded.ends"  # noqa: S608 - own names


def answers(count: int) -> Iterator[ChangeRecord]:
    """Alarms of 50 machines, each told when it begins and when it has ended."""
    for i in range(count // 2):
        begun = ChangeRecord("hot", (f"m{i % 50}", 81.5), 1_700_000_000 + i, POS)
        yield begun
        yield begun._replace(hi=begun.lo + 30)


class Feed:
    """The answers, as a run with a state brings them."""

    def __init__(self, count: int) -> None:
        self._answers, self._next = answers(count), 1

    async def receive(self) -> Sequence[Group]:
        await anyio.lowlevel.checkpoint()
        some = [answer for _, answer in zip(range(GROUP), self._answers, strict=False)]
        if not some:
            raise anyio.EndOfStream
        self._next += len(some)
        return [(Heading("run1", self._next - len(some), 0), some)]

    def close(self) -> None:
        pass


def by_sink(url: str, count: int) -> float:
    """The seconds that the sink takes."""
    there = database(url)
    sink = SqlSink(there, tables_of(PLAN.schema, ["hot"], there), JsonEncoder(PLAN.schema), name="bench", key="bench")
    sink.resume("run1", 0, None)
    begun = time.perf_counter()
    anyio.run(SinkActor(sink, RestartPolicy(attempts=0)).run, Feed(count), backend="trio")
    return time.perf_counter() - begun


def bare(connection: Any, mark: str, count: int) -> float:
    """The seconds that the library takes."""
    statement = _PUT.format(", ".join([mark] * 4))
    cursor, rows = connection.cursor(), []
    begun = time.perf_counter()
    for _, row, lo, hi in answers(count):
        rows.append((*row, lo, None if hi >= POS else hi))
        if len(rows) == TOGETHER:
            cursor.executemany(statement, rows)
            connection.commit()
            rows.clear()
    return time.perf_counter() - begun


def empty(url: str) -> None:
    """Both begin with an empty table."""
    with closing(database(url).connect()) as connection:
        for name in ("hot", "tidelog_delivery"):
            connection.execute(f"DELETE FROM {name}")  # noqa: S608 - our own names


def compare(name: str, url: str, connect: partial[Any], mark: str, count: int) -> None:
    """Print how many answers a second both write, by turns, and what the sink holds."""
    by_sink(url, 2)
    ratios, times = [], []
    for _ in range(ROUNDS):
        empty(url)
        ours = by_sink(url, count)
        empty(url)
        with closing(connect()) as connection:
            if mark == "?":
                connection.execute("PRAGMA synchronous = FULL")
            theirs = bare(connection, mark, count)
        ratios.append(theirs / ours)
        times.append((ours, theirs))
    ours, theirs = (median(column) for column in zip(*times, strict=True))
    print(f"{name}: {count / ours:,.0f} answers/s, the library {count / theirs:,.0f}; ratio {median(ratios):.2f}")
    peaks = []
    for size in (count // 10, count):
        empty(url)
        tracemalloc.start()
        by_sink(url, size)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    print(f"{name}: it holds {peaks[0]:.2f} MB at most for {count // 10:,} answers, {peaks[1]:.2f} MB for {count:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "bench.db"))
        compare("SQLite", f"sqlite:{file}", partial(sqlite3.connect, file), "?", count)
    with postgres() as server:
        compare("PostgreSQL", server.url, partial(_connected, server), "%s", count)


def _connected(server: Postgres) -> psycopg.Connection[Any]:
    return psycopg.connect(server.url)


if __name__ == "__main__":
    main()
