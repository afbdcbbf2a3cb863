"""History: Spark beside one process, over growing numbers of keys.

Rows a second are those of a run for which workers are there already, as they are in long runs; what is paid once is told
apart, as "before the first row": Spark's start, and what the first run takes longer than the next.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks.figures import Figure
from benchmarks.lars.panels import Findings, Panel
from benchmarks.spark.found import History
from benchmarks.spark.runs import Alone, Readings
from benchmarks.spark.sizes import Sizes, on_cores

NAME = "spark_history"
_ALONE = "one process, CSV"

_Alone = dict[int, Alone]
_Found = dict[tuple[str, int], dict[int, History]]
"""What was found, by kind of file and cores, then by keys."""


def measure(sizes: Sizes) -> Findings:
    """AssertionError where Spark tells other facts than one process."""
    alone: _Alone = {}
    found: _Found = {(kind, cores): {} for kind, cores in _cases(sizes)}
    for keys, readings in sizes.readings(sizes.keys):
        print(f"history, {keys:,} keys …", file=sys.stderr, flush=True)
        alone[keys] = readings.alone()
        for kind, cores in found:
            found[kind, cores][keys] = _agreeing(readings, kind, cores, alone[keys])
    title = f"The turbine program over {sizes.rows:,} rows of history"
    return Findings(NAME, title, _panels(alone, found, sizes.rows), list(_ratios(alone, found)))


def _cases(sizes: Sizes) -> Iterator[tuple[str, int]]:
    for cores in sizes.cores:
        yield "csv", cores
    yield "parquet", sizes.cores[-1]


def _agreeing(readings: Readings, kind: str, cores: int, alone: Alone) -> History:
    found = readings.history(kind, cores)
    if found.told != alone.told:
        raise AssertionError(f"Spark tells {found.told} facts, and one process {alone.told}")
    return found


def _line(kind: str, cores: int) -> str:
    return f"Spark, {'CSV' if kind == 'csv' else 'Parquet'}, {on_cores(cores)}"


def _panels(alone: _Alone, found: _Found, rows: int) -> list[Panel]:
    seconds = {keys: each.seconds for keys, each in alone.items()}

    def panel(title: str, unit: str, pick: Callable[[History, int], float], beside: dict[int, float]) -> Panel:
        lines = {_ALONE: beside} if beside else {}
        for (kind, cores), line in found.items():
            lines[_line(kind, cores)] = {keys: pick(each, cores) for keys, each in line.items()}
        return Panel(title, "keys", unit, lines)

    return [
        panel("throughput", "rows/s", lambda each, _: rows / each.again, {keys: rows / s for keys, s in seconds.items()}),
        panel("all of the first run", "s", lambda each, _: each.start + each.first, seconds),
        panel("Spark's start", "s", lambda each, _: each.start, {}),
        panel("before the first row", "s", lambda each, _: each.start + each.first - each.again, {}),
        panel("decoding, share of the time", "%", lambda each, _: 100 * each.decoding / each.again, {}),
        panel("operators, share of all cores", "%", lambda each, cores: 100 * each.operators / cores / each.again, {}),
    ]


def _ratios(alone: _Alone, found: _Found) -> Iterator[Figure]:
    csv = {cores: line for (kind, cores), line in found.items() if kind == "csv"}
    for keys, single in alone.items():
        for cores, line in csv.items():
            title = f"{keys:,} keys, throughput, Spark on {on_cores(cores)} / one process"
            yield Figure(NAME, title, single.seconds / line[keys].again)
        few, many = min(csv), max(csv)
        if few < many:
            title = f"{keys:,} keys, throughput, {on_cores(many)} / {on_cores(few)}"
            yield Figure(NAME, title, csv[few][keys].again / csv[many][keys].again)
