"""Aggregates over a history beside pandas, Polars and DuckDB, and over a stream beside Python by hand.

50 sensors speak every ten seconds, 50 devices fail now and then, and the set point of a sensor changes every half hour.
There are three questions: the mean of each sensor over ten minutes, the number of failures of a device within ten
minutes, and each reading with the latest set point. Over the history each tool gets a table of its own kind, in memory,
and makes one; CPU time is that of all threads. Over the stream facts come in batches of 1,000. All answers are compared
where facts come. tidelog tells, beyond what is compared, how long each answer holds: also that it changes when a fact
leaves the window.

It needs the extra `bench`. Run alone: `python -m benchmarks.beside`.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Job, Run, cpu_by_turns, push_all

SENSORS, READINGS, EVERY = 50, 60_000, 10
WINDOW, REPEATS, BATCH = 600, 5, 1_000
"""The window stands in the queries of DuckDB, too."""
HEAD = "timeline integer. input temp(s, v: number). input fail(s). input target(s, p: number). output m. "
PROGRAMS = {
    "mean": HEAD + f"m(S, A) :- A = avg(V) over temp(S, V) in [{WINDOW}] by S.",
    "count": HEAD + f"m(S, N) :- N = count() over fail(S) in [{WINDOW}] by S.",
    "latest": HEAD + "m(S, V, P) :- temp(S, V), latest target(S, P) by S in [86400].",
}
FACTS = {"mean": ("temp",), "count": ("fail",), "latest": ("temp", "target")}
NAMES = {"mean": "mean over 10 min", "count": "failures in 10 min", "latest": "latest set point"}

Tables = Mapping[str, pa.Table]
Values = dict[tuple[str, int], tuple[float, ...]]
"""What holds of a sensor or device at the times at which its facts come."""


def history(readings: int = READINGS) -> dict[str, pa.Table]:
    """Readings, failures and set points, each in order of time."""
    draw = random.Random(1)
    names = [f"s{i:02}" for i in range(SENSORS)]
    temp = [(names[i % SENSORS], i // SENSORS * EVERY, round(draw.gauss(20, 5), 2)) for i in range(readings)]
    end = temp[-1][1]
    times = {name: sorted(draw.sample(range(end), readings // SENSORS // 2)) for name in names}
    fail = sorted((time, name) for name in names for time in times[name])
    target = sorted(
        (t + draw.randrange(EVERY), n, float(draw.randrange(15, 25))) for n in names for t in range(0, end, 1800)
    )
    return {
        "temp": pa.table({"s": [s for s, _, _ in temp], "time": [t for _, t, _ in temp], "v": [v for _, _, v in temp]}),
        "fail": pa.table({"s": [s for _, s in fail], "time": [t for t, _ in fail]}),
        "target": pa.table(
            {"s": [s for _, s, _ in target], "time": [t for t, _, _ in target], "p": [p for *_, p in target]}
        ),
    }


# --- one function for each tool: what is prepared, then what is measured ---------------------------------------------------


def with_tidelog(question: str, tables: Tables) -> Run:
    """Tables to tables, through a session."""
    session = tidelog.Session(tidelog.compile(PROGRAMS[question]))
    frames = {name: tables[name] for name in FACTS[question]}

    def answer() -> pa.Table:
        session.push_frames(frames)
        session.finish()
        return session.pull_frames()["m"]

    return answer


def with_pandas(question: str, tables: Tables) -> Run:
    """Rolling windows over a time index, and `merge_asof`."""
    frames = {name: table.to_pandas() for name, table in tables.items()}
    for frame in frames.values():
        frame["at"] = pd.to_datetime(frame["time"], unit="s")
    temp, fail, target = frames["temp"], frames["fail"], frames["target"][["s", "time", "p"]]
    window = f"{WINDOW + 1}s"
    if question == "latest":
        return lambda: pd.merge_asof(temp, target, on="time", by="s").dropna()
    if question == "mean":
        return lambda: temp.set_index("at").groupby("s")["v"].rolling(window).mean().rename("a").reset_index()
    return lambda: fail.set_index("at").groupby("s")["time"].rolling(window).count().rename("a").reset_index()


def with_polars(question: str, tables: Tables) -> Run:
    """`rolling_mean_by` over groups, and `join_asof`."""
    frames = {name: pl.from_arrow(table) for name, table in tables.items()}
    temp, fail, target = (frames[name] for name in ("temp", "fail", "target"))
    window = f"{WINDOW + 1}i"
    if question == "latest":
        return lambda: temp.join_asof(target, on="time", by="s", check_sortedness=False).drop_nulls()
    if question == "mean":
        return lambda: temp.with_columns(a=pl.col("v").rolling_mean_by("time", window).over("s"))
    ones = fail.with_columns(one=pl.lit(1.0))
    return lambda: ones.with_columns(a=pl.col("one").rolling_sum_by("time", window).over("s"))


_QUERIES = {
    "mean": """select s, time, avg(v) over (partition by s order by time range between 600 preceding and current row) as a
from temp""",
    "count": """select s, time, count(*) over (partition by s order by time range between 600 preceding and current row) as a
from fail""",
    "latest": "select t.s, t.time, v, p from temp t asof join target g on t.s = g.s and t.time >= g.time",
}


def with_duckdb(question: str, tables: Tables) -> Run:
    """Window functions with RANGE, and ASOF JOIN."""
    base = duckdb.connect()
    for name, table in tables.items():
        base.from_arrow(table).create(name)
    return lambda: base.sql(_QUERIES[question]).to_arrow_table()


TOOLS: dict[str, Callable[[str, Tables], Run]] = {
    "tidelog": with_tidelog,
    "pandas": with_pandas,
    "Polars": with_polars,
    "DuckDB": with_duckdb,
}


def by_session(question: str, records: Sequence[Any]) -> Run:
    """The stream through a session, in batches."""
    session = tidelog.Session(tidelog.compile(PROGRAMS[question]))
    return partial(push_all, session, [records[i : i + BATCH] for i in range(0, len(records), BATCH)])


def by_hand(question: str, records: Sequence[Any]) -> Run:
    """The stream in Python, as one would write it: one answer a fact, in floats that drift, no late facts, no ends."""
    return partial({"mean": _means, "count": _counts, "latest": _latest}[question], records)


def _means(records: Iterable[Any]) -> Values:
    windows: dict[str, deque[tuple[int, float]]] = defaultdict(deque)
    sums: dict[str, float] = defaultdict(float)
    told: Values = {}
    for _, (name, value), time, _ in records:
        window = windows[name]
        window.append((time, value))
        sums[name] += value
        while window[0][0] < time - WINDOW:
            sums[name] -= window.popleft()[1]
        told[name, time] = (sums[name] / len(window),)
    return told


def _counts(records: Iterable[Any]) -> Values:
    windows: dict[str, deque[int]] = defaultdict(deque)
    told: Values = {}
    for _, (name,), time, _ in records:
        window = windows[name]
        window.append(time)
        while window[0] < time - WINDOW:
            window.popleft()
        told[name, time] = (len(window),)
    return told


def _latest(records: Iterable[Any]) -> Values:
    held: dict[str, float] = {}
    told: Values = {}
    for predicate, (name, value), time, _ in records:
        if predicate == "target":
            held[name] = value
        elif name in held:
            told[name, time] = (value, held[name])
    return told


# --- whether all say the same --------------------------------------------------------------------------------------------


def check(question: str, tables: Tables, records: Sequence[Any]) -> None:
    """Compare all answers with those by hand; ValueError where they differ."""
    wanted: Values = by_hand(question, records)()
    for name, tool in TOOLS.items():
        found = tool(question, tables)()
        values = _of_tidelog(found, wanted) if name == "tidelog" else _of_table(question, found)
        if values.keys() != wanted.keys() or not all(_is_near(values[key], wanted[key]) for key in wanted):
            raise ValueError(f"{NAMES[question]}: {name} has other answers than Python by hand")


def _is_near(left: Sequence[float], right: Sequence[float]) -> bool:
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(left, right, strict=True))


def _of_tidelog(table: pa.Table, wanted: Values) -> Values:
    """The answers that hold at some times; they are known by the intervals over which they hold."""
    columns = [column.to_pylist() for column in table.columns]
    place = {name: number for number, name in enumerate(table.column_names)}
    lasting: dict[str, list[tuple[int, int, tuple[float, ...]]]] = defaultdict(list)
    values = [name for name in table.column_names if name.startswith("x")][1:]
    for row in zip(*columns, strict=True):
        own = tuple(float(row[place[name]]) for name in values)
        lasting[row[place["x1"]]].append((row[place["from"]], row[place["to"]], own))
    for own_rows in lasting.values():
        own_rows.sort()
    found: Values = {}
    for name, time in wanted:
        rows = lasting[name]
        begin, end, told = rows[bisect_right(rows, time, key=lambda row: row[0]) - 1]
        if begin <= time <= end:
            found[name, time] = told
    return found


def _of_table(question: str, table: Any) -> Values:
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if "time" not in frame:
        frame = frame.assign(time=(frame["at"] - pd.Timestamp(0)) // pd.Timedelta(seconds=1))
    names = ["v", "p"] if question == "latest" else ["a"]
    return {(s, int(t)): tuple(v) for s, t, v in zip(frame["s"], frame["time"], frame[names].to_numpy(), strict=True)}


# --- figures ---------------------------------------------------------------------------------------------------------------


def run(readings: int = READINGS, repeats: int = REPEATS) -> list[Figure]:
    """CPU of each tool for a fact, and how many times as much tidelog's is."""
    tables = history(readings)
    figures: list[Figure] = []
    for question, name in NAMES.items():
        records = records_of(tables, FACTS[question])
        check(question, tables, records)
        jobs: dict[str, Job] = {tool: partial(make, question, tables) for tool, make in TOOLS.items()}
        jobs["tidelog, stream"] = partial(by_session, question, records)
        jobs["by hand, stream"] = partial(by_hand, question, records)
        costs = dict(zip(jobs, cpu_by_turns(list(jobs.values()), repeats), strict=True))
        figures += [
            Figure("beside", f"{name}: {job}, a fact", 1e6 * cost / len(records), "µs") for job, cost in costs.items()
        ]
        pairs = [*(("tidelog", tool) for tool in TOOLS if tool != "tidelog"), ("tidelog, stream", "by hand, stream")]
        figures += [Figure("beside", f"{name}: {own} / {other}", costs[own] / costs[other]) for own, other in pairs]
    return figures


def records_of(tables: Tables, names: Iterable[str]) -> list[Any]:
    """The facts as a stream: in order of time, set points before readings."""
    found = []
    for name in names:
        table = tables[name]
        rest = [column for column in table.column_names if column != "time"]
        rows = zip(*(table[column].to_pylist() for column in rest), strict=True)
        found += [(name, row, t, t) for row, t in zip(rows, table["time"].to_pylist(), strict=True)]
    return sorted(found, key=lambda record: (record[2], record[0] != "target"))


if __name__ == "__main__":
    show(run)
