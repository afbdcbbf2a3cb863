"""Runs the properties of Timescales, as monitors that get a trace row by row, and says at which rows they do not hold.

The suite says that each property holds at all rows of its trace. `run` reads what has been fetched: each `NAME.yaml` with
the `NAME.csv` beside it. `drawn` takes traces that are drawn here by the same parameters, and needs nothing of the suite.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import tidelog
from benchmarks.figures import Figure
from benchmarks.measure import cpu_seconds
from benchmarks.suites.formulas import FormulaError, parse_formula
from benchmarks.suites.monitors import program_of
from benchmarks.suites.sources import SuiteError
from benchmarks.suites.traces import PROPERTIES, Row, read_trace
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan

NAME = "suite_timescales"
BATCH = 1_000
"""So many rows are pushed at once."""
BOUNDS = ((3, 10), (30, 100), (300, 1_000))
"""The suite's bounds a and b: 1, 10 and 100 times as large."""
_PATTERN = re.compile(r'^pattern\s*:\s*"([^"]*)"\s*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many rows a trace has, and the first at which the property does not hold, if there is one; how many those are."""

    rows: int
    failing: int
    first: int | None


def run(folder: Path, only: str = "") -> list[Figure]:
    """All properties below a folder, or those with `only` in their name; SuiteError where there are none."""
    found = [path for path in sorted(folder.rglob("*.yaml")) if path.with_suffix(".csv").exists() and only in path.stem]
    if not found:
        raise SuiteError(f"no NAME.yaml with a NAME.csv beside it lies below {folder}, with `{only}` in its name")
    figures = []
    for path in found:
        try:
            figures += measure(path.stem, pattern(path), list(read_trace(path.with_suffix(".csv"))))
        except (FormulaError, ValueError) as error:
            raise SuiteError(f"{path}: {error}") from error
    return figures


def drawn(rows: int, only: str = "", bounds: Sequence[tuple[int, int]] = BOUNDS) -> list[Figure]:
    """The ten properties with each pair of bounds, over traces of so many rows that are drawn."""
    return [
        figure
        for each in PROPERTIES
        for a, b in bounds
        if only in f"{each.name}{b}"
        for figure in measure(f"{each.name}{b}, drawn", each.formula(a, b), list(each.trace(a, b, rows)))
    ]


def pattern(path: Path) -> str:
    """The formula of a property's file; ValueError where there is none."""
    found = _PATTERN.search(path.read_text("utf-8"))
    if found is None:
        raise ValueError('expected a line `pattern : "…"`')
    return found[1]


def measure(name: str, formula: str, rows: Sequence[Row]) -> list[Figure]:
    """What a monitor costs, and at how many rows the formula does not hold."""
    plan = tidelog.compile(program_of(parse_formula(formula)), name=name)
    batches = batches_of(plan, rows, BATCH)
    facts = sum(map(len, batches))
    gc.collect()
    tracemalloc.start()
    try:
        holds = monitor(plan, batches)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    seconds = cpu_seconds(lambda: lambda: monitor(plan, batches))
    verdict = judge(rows, holds)
    return [
        Figure(NAME, f"{name}, facts a second", facts / seconds),
        Figure(NAME, f"{name}, peak memory", peak / 1e6, "MB"),
        Figure(NAME, f"{name}, rows at which it does not hold", verdict.failing, target=0),
    ]


def batches_of(plan: Plan, rows: Sequence[Row], size: int) -> list[list[Record]]:
    """The facts of so many rows at once; those of columns that the formula does not read are left out."""
    known = plan.schema.predicates
    return [
        [record for row in rows[i : i + size] for record in row.records() if record[0] in known]
        for i in range(0, len(rows), size)
    ]


def monitor(plan: Plan, batches: Iterable[Sequence[Record]]) -> list[tuple[int, int]]:
    """The stretches over which the formula holds, in order; what touches is one of them, so that few are kept."""
    session = tidelog.Session(plan)
    stretches: list[tuple[int, int]] = []
    for batch in batches:
        session.push_records(batch)
        _extend(stretches, session.pull_records())
    session.finish()
    _extend(stretches, session.pull_records())
    return stretches


def _extend(stretches: list[tuple[int, int]], told: Iterable[Record]) -> None:
    for _, _, lo, hi in told:
        if stretches and stretches[-1][1] + 1 == lo:
            stretches[-1] = (stretches[-1][0], hi)
        else:
            stretches.append((lo, hi))


def judge(rows: Sequence[Row], holds: Iterable[tuple[int, int]]) -> Verdict:
    """Compare where the formula holds with where the trace has rows."""
    missing = set(chain.from_iterable(range(row.begin, row.end + 1) for row in rows))
    number = len(missing)
    for lo, hi in holds:
        missing.difference_update(range(lo, hi + 1))
    return Verdict(number, len(missing), min(missing, default=None))
