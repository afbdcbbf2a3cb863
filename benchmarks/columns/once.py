"""One run of one tool over one file, in a process of its own: its CPU time, its answers, its peak memory.

`python -m benchmarks.columns.once TOOL CASE FILE SMALL` prints them as JSON. What is measured begins with the file and ends
with the answers; what is imported, or compiled, before is not: the same is done with a small file first.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import tidelog
from benchmarks.columns.cases import CASES, LARGE, SWEPT, Case
from tidelog.connectors.files.history_files import open_history
from tidelog.connectors.spec import Spec, parse_spec
from tidelog.operators.columns.pool import Pool
from tidelog.plans.compiling.deriving import Values, plans_of
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.backtest import Backtesting
from tidelog.runtime.columns.history import course_of
from tidelog.runtime.columns.stretches import LONG_STRETCH, STRETCH, Stretch, Stretches, blocks_of
from tidelog.runtime.ports.interfaces import EmitMode

Told = list[tuple[Any, ...]]
"""Maximal intervals: a row's values, begin, end."""
_BATCH = 1_000
LEAST, MOST = 100.0, 120.0
"""Between these lie the thresholds of a sweep: up to one reading in fifty is as high."""


def others() -> tuple[str, ...]:
    """The other tools that are installed (the extra `bench`)."""
    return tuple(name for name in ("duckdb", "polars") if find_spec(name) is not None)


def by_columns(case: Case, path: str, emit: EmitMode = "intervals") -> Callable[[], Iterator[Record]]:
    """The plan over columns, from a file to answers as they are told, stretch by stretch."""
    plan = tidelog.compile(case.program)

    def run() -> Iterator[Record]:
        pool = Pool()
        course = course_of(plan, pool, emit=emit)
        for stretch in _stretches(plan, path, case.predicate, pool, case.lateness):
            yield from course.tell(stretch.fresh, stretch.watermark)

    return run


def _stretches(
    plan: Plan, path: str, predicate: str, pool: Pool, lateness: int = 0, rows: int = STRETCH
) -> Iterable[Stretch]:
    spec: Spec = replace(parse_spec(path), predicate=predicate)
    return Stretches(plan.timeline, [blocks_of(open_history(spec, plan.schema, pool, rows=rows))], pool, lateness, rows=rows)


def by_rows(case: Case, path: str, emit: EmitMode = "intervals") -> Callable[[], Iterable[Record]]:
    """The same plan in a session, from records that have been decoded."""
    plan = tidelog.compile(case.program)
    columns = [column.to_pylist() for column in pa.parquet.read_table(path).columns]
    records = [(case.predicate, tuple(row), at, at) for *row, at in zip(*columns, strict=True)]

    def run() -> Iterable[Record]:
        session = tidelog.Session(plan, emit=emit, lateness=case.lateness)
        told: list[Record] = []
        for first in range(0, len(records), _BATCH):
            session.push_records(records[first : first + _BATCH])
            told += session.pull_records()
        session.finish()
        return told + session.pull_records()

    return run


def by_duckdb(case: Case, path: str) -> Callable[[], Any]:
    """DuckDB on one thread, from a file to an Arrow table."""
    import duckdb  # noqa: PLC0415 - of the extra `bench`, which may be missing

    base = duckdb.connect()
    base.execute("set threads = 1")
    reader = "read_parquet" if path.endswith(".parquet") else "read_csv"
    sql = f"with temp as materialized (select * from {reader}('{path}')) select * from ({case.sql})"  # noqa: S608 - a file that the suite has drawn, and its own SQL
    return lambda: base.sql(sql).to_arrow_table()


def by_polars(case: Case, path: str) -> Callable[[], Any]:
    """Polars on one thread, from a file to a frame."""
    from benchmarks.columns import in_polars  # noqa: PLC0415 - of the extra `bench`, which may be missing

    return in_polars.query(case.name, path)


def sweep(rows_of: str, candidates: int) -> Callable[[], int]:
    """A program with so many thresholds, beside itself with the first; returns how many intervals are told in all."""

    def run() -> int:
        limits = np.linspace(LEAST, MOST, candidates + 1)
        plans = plans_of(_swept, [{"LIMIT": float(limit)} for limit in limits])
        pool = Pool()
        testing = Backtesting(plans, pool)
        for stretch in _stretches(plans[0], rows_of, "temp", pool, rows=LONG_STRETCH if candidates > 1 else STRETCH):
            testing.take(stretch)
        found = [testing.compare(number, {}, 0) for number in range(1, len(plans))]
        return sum(side.figures.count for each in found for side in [each.outputs["alarm"].new] if side is not None)

    return run


def _swept(values: Values) -> Plan:
    return tidelog.compile(SWEPT, parameters=values)


def prepared(tool: str, case: Case, path: str) -> Callable[[], Any]:
    """What a tool does with a file."""
    if tool.startswith("sweep"):
        return sweep(path, int(tool.removeprefix("sweep")))
    tools: dict[str, Callable[[Case, str], Callable[[], Any]]] = {
        "columns": by_columns,
        "rows": by_rows,
        "duckdb": by_duckdb,
        "polars": by_polars,
    }
    return tools[tool](case, path)


def told_by(tool: str, case: Case, path: str) -> Told:
    """What a tool tells, as maximal intervals in order, with numbers rounded: to compare it with others."""
    if tool == "duckdb":
        table = by_duckdb(case, path)().to_pylist()
        return in_order((*row, lo, hi) for *row, lo, hi in (line.values() for line in table))
    if tool == "polars":
        return in_order(by_polars(case, path)().iter_rows())
    run = {"columns": by_columns, "rows": by_rows}[tool](case, path, "final")
    return in_order((*row, lo, None if hi >= POS else hi) for _, row, lo, hi in run())


def in_order(lines: Iterable[tuple[Any, ...]]) -> Told:
    """Rows with intervals as maximal ones, in an order of their own; an end may be None."""
    runs: dict[tuple[Any, ...], list[list[float]]] = {}
    ends = [(*line[:-1], math.inf if line[-1] is None else line[-1]) for line in lines]
    for *row, lo, hi in sorted(ends, key=itemgetter(-2)):
        own = runs.setdefault(tuple(round(part, 6) if isinstance(part, float) else part for part in row), [])
        if own and lo <= own[-1][1] + 1:
            own[-1][1] = max(hi, own[-1][1])
        else:
            own.append([lo, hi])
    return sorted((*row, lo, hi) for row, own in runs.items() for lo, hi in own)


def main() -> None:
    """Measure one run."""
    tool, name, path, small = sys.argv[1:]
    pa.set_cpu_count(1)
    case = next(case for case in (*CASES, LARGE) if case.name == name)
    _answers(prepared(tool, case, small))
    run = prepared(tool, case, path)
    begin = time.process_time()
    found = _answers(run)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "answers": found, "peak": peak}))


def _answers(run: Callable[[], Any]) -> int:
    """How many answers a run has; each is taken, and not kept."""
    found = run()
    if isinstance(found, Iterator):
        return sum(1 for _ in found)
    return found if isinstance(found, int) else len(found)


if __name__ == "__main__":
    main()
