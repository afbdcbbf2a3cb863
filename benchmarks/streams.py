"""A stream of readings through tidelog, and through what people would take instead: bytewax, SQLite, and Python by hand.

An alarm holds while a sensor has been hot at ten seconds on end. Readings come in order, one a second and sensor, and some
are missing. tidelog gets them one by one, and in batches of 1,000; bytewax reads them from a list in the same process.
SQLite gets each batch as rows of a table in memory, with an index, and answers by a query over the last ten seconds. All
have to give the same answers. Of these only tidelog would have put late readings where they belong, and can say why.

bytewax needs the extra `bench`. Run alone: `python -m benchmarks.streams`.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from functools import partial

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.hand.programs import Duration
from benchmarks.measure import Run, cpu_by_turns
from tidelog.plans.data.facts import Record

RULE = "timeline integer. input hot(s). alarm(S) :- boxminus[0,9] hot(S)."
SENSORS, READINGS, BATCH, REPEATS = 50, 50_000, 1_000, 3
Alarm = tuple[str, int]
_NAME = "streams"
_QUERY = """
SELECT now.sensor, now.time FROM hot AS now WHERE now.time BETWEEN ? AND ?
AND (SELECT count(*) FROM hot WHERE hot.sensor = now.sensor AND hot.time BETWEEN now.time - 9 AND now.time) = 10
"""


def run() -> list[Figure]:
    """What a reading costs with each, and beside tidelog in batches."""
    readings = _readings()
    batches = [readings[i : i + BATCH] for i in range(0, len(readings), BATCH)]
    ways = {
        "tidelog, in batches": partial(_tidelog, batches),
        "tidelog, each alone": partial(_tidelog, [[each] for each in readings]),
        "bytewax": partial(_bytewax, readings),
        "SQLite, in batches": partial(_sqlite, batches),
        "Python by hand": partial(_by_hand, readings),
    }
    told = [sorted(way()) for way in ways.values()]
    for name, found in zip(ways, told, strict=True):
        if found != told[0]:
            raise ValueError(f"{name} gives other answers than {next(iter(ways))}")
    costs = cpu_by_turns([partial(_once, way) for way in ways.values()], REPEATS)
    figures = []
    for name, seconds in zip(ways, costs, strict=True):
        figures.append(Figure(_NAME, f"{name}, a reading", seconds / len(readings) * 1e6, "µs"))
        if seconds != costs[0]:
            figures.append(Figure(_NAME, f"{name} / tidelog, in batches", seconds / costs[0]))
    return figures


def _once(way: Run) -> Run:
    return way


def _readings() -> list[Record]:
    chance = random.Random(1)
    every = ((f"s{number % SENSORS}", number // SENSORS) for number in range(READINGS))
    return [("hot", (sensor,), time, time) for sensor, time in every if chance.random() > 0.02]


def _tidelog(batches: Sequence[Sequence[Record]]) -> list[Alarm]:
    session = tidelog.Session(tidelog.compile(RULE))
    found: list[Record] = []
    for batch in batches:
        session.push_records(batch)
        found += session.pull_records()
    session.finish()
    found += session.pull_records()
    return [(str(row[0]), time) for _, row, lo, hi in found for time in range(lo, hi + 1)]


def _bytewax(readings: Sequence[Record]) -> list[Alarm]:
    found: list[tuple[str, int | None]] = []

    def follow(state: tuple[int, int] | None, time: int) -> tuple[tuple[int, int], int | None]:
        begin, last = state or (time, time)
        begin = begin if time <= last + 1 else time
        return (begin, time), time if time - begin >= 9 else None

    flow = Dataflow("alarms")
    stream = op.input("readings", flow, TestingSource(readings, batch_size=BATCH))
    keyed = op.map("key", stream, lambda record: (record[1][0], record[2]))
    op.output("told", op.stateful_map("follow", keyed, follow), TestingSink(found))
    run_main(flow)
    return [(sensor, time) for sensor, time in found if time is not None]


def _sqlite(batches: Sequence[Sequence[Record]]) -> list[Alarm]:
    found: list[Alarm] = []
    with sqlite3.connect(":memory:") as table:
        table.execute("CREATE TABLE hot (sensor TEXT, time INTEGER, PRIMARY KEY (sensor, time)) WITHOUT ROWID")
        table.execute("CREATE INDEX by_time ON hot (time)")
        last = -1
        for batch in batches:
            table.executemany("INSERT INTO hot VALUES (?, ?)", [(row[0], time) for _, row, time, _ in batch])
            known = batch[-1][2] - 1  # more readings of the last second may come
            found += table.execute(_QUERY, (last + 1, known)).fetchall()
            last = known
            table.execute("DELETE FROM hot WHERE time < ?", (known - 9,))
        found += table.execute(_QUERY, (last + 1, batches[-1][-1][2])).fetchall()
    table.close()
    return found


def _by_hand(readings: Sequence[Record]) -> list[Alarm]:
    by_hand = Duration()
    return [(str(row[0]), time) for record in readings for row, time, _ in by_hand.take(record)]


if __name__ == "__main__":
    show(run)
