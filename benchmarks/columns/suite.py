"""Whole files through a plan: in columns, row by row, and beside DuckDB and Polars on one thread.

From Parquet and from CSV to answers, decoding included; each run in a process of its own, the least CPU time of several.
All have to give the same answers over a small history before they are measured. Row by row means a session that gets records
which have been decoded, and fewer of them. DuckDB and Polars are left out where the extra `bench` is not installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.columns.cases import CASES, LARGE, Case
from benchmarks.columns.drawn import write_history
from benchmarks.columns.once import others, told_by
from benchmarks.figures import Figure, keep, print_table

_NAME = "columns"
NAMES = {"duckdb": "DuckDB", "polars": "Polars"}
TARGETS = {"parquet": 0.15, "csv": 0.4}
"""µs a row."""
RATIO_TARGET, SWEEP_TARGET = 1.0, 20.0
LARGE_TARGETS = 30.0, 2_000.0
"""Seconds, and MB."""
CHECKED, CHECKED_KEYS, BY_ROWS = 20_000, 50, 100_000
_DIGIT = 2e-6
"""How much numbers may differ that are rounded to the sixth digit."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows, how often each is measured, and how many thresholds over how many rows."""

    rows: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    repeats: int = 3
    swept: tuple[int, int] = (1_000_000, 1_000)
    large: int = 0


USUAL, SMOKE = Sizes(), Sizes((2_000,), 1, (2_000, 3))
FULL = Sizes(large=100_000_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took: CPU seconds, and the peak of memory in MB."""

    seconds: float
    peak: float


def run(is_smoke: bool = False, is_full: bool = False) -> None:
    """Print the figures, and keep them unless they are of little data."""
    sizes = SMOKE if is_smoke else FULL if is_full else USUAL
    if len(others()) < len(NAMES):
        print(
            "not all of DuckDB and Polars are installed (`pip install 'tidelog[bench]'`): figures are left out",
            file=sys.stderr,
        )
    figures = measure(sizes)
    print_table(figures)
    if not is_smoke:
        keep(figures)


def measure(sizes: Sizes) -> list[Figure]:
    """The figures for histories of these sizes."""
    with tempfile.TemporaryDirectory() as folder:
        return list(_figures(sizes, Path(folder)))


def _figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    checked = min(CHECKED, sizes.rows[0])
    small = {case.history: write_history(case.history, checked, folder, CHECKED_KEYS) for case in CASES}
    for case in CASES:
        print(f"{case.name} …", file=sys.stderr, flush=True)
        check(case, small[case.history])
    for rows in sizes.rows:
        for case in CASES:
            print(f"{case.name}, {rows:,} rows …", file=sys.stderr, flush=True)
            yield from _of_case(case, rows, sizes.repeats, small[case.history])
    yield from _of_sweep(*sizes.swept, sizes.repeats, small["temp"])
    if sizes.large:
        path = write_history(LARGE.history, sizes.large, folder)
        cost = measured("columns", LARGE, f"{path}.parquet", f"{small['temp']}.parquet", 1)
        seconds, memory = LARGE_TARGETS
        yield Figure(_NAME, f"{LARGE.name}, {sizes.large:,} rows", cost.seconds, "s", seconds)
        yield Figure(_NAME, f"{LARGE.name}, {sizes.large:,} rows, peak memory", cost.peak, "MB", memory)


def _are_same(found: Sequence[tuple[Any, ...]], wanted: Sequence[tuple[Any, ...]]) -> bool:
    """Whether rows are the same, but for the last digit of numbers that were rounded: tools add in different orders."""
    pairs = zip(sorted(found, key=_place), sorted(wanted, key=_place), strict=False)
    return len(found) == len(wanted) and all(
        one == other or (isinstance(one, float) and isinstance(other, float) and abs(one - other) < _DIGIT)
        for row, its in pairs
        for one, other in zip(row, its, strict=True)
    )


def _place(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What puts rows in order though numbers differ a little."""
    return *(part for part in row if not isinstance(part, float)), row


def check(case: Case, path: Path) -> None:
    """ValueError unless all tools say the same of a history."""
    wanted = told_by("rows", case, f"{path}.parquet")
    for tool in ("columns", *(others() if case.sql is not None else ())):
        for form in ("parquet", "csv"):
            if not _are_same(told_by(tool, case, f"{path}.{form}"), wanted):
                raise ValueError(f"{case.name}: {tool} over {form} says something else than the plan row by row")


def measured(tool: str, case: Case, path: str, small: str, repeats: int) -> Cost:
    """The least CPU time of some runs, and the peak of memory."""
    command = [sys.executable, "-m", "benchmarks.columns.once", tool, case.name, path, small]
    found = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    return Cost(min(each["seconds"] for each in found), max(each["peak"] for each in found) / 1e6)


def _of_case(case: Case, rows: int, repeats: int, small: Path) -> Iterator[Figure]:
    path = write_history(case.history, rows, small.parent)
    title = f"{case.name}, {rows:,} rows"
    columns: dict[str, float] = {}
    for form, target in TARGETS.items():
        files = f"{path}.{form}", f"{small}.{form}"
        cost = measured("columns", case, *files, repeats)
        columns[form] = cost.seconds
        yield Figure(_NAME, f"{title}, {form}, a row", cost.seconds / rows * 1e6, "µs", target if case.has_target else None)
        yield Figure(_NAME, f"{title}, {form}, peak memory", cost.peak, "MB")
        for tool in others() if case.sql is not None else ():
            other = measured(tool, case, *files, repeats)
            yield Figure(_NAME, f"{title}, {form}, {NAMES[tool]}, a row", other.seconds / rows * 1e6, "µs")
            yield Figure(
                _NAME,
                f"{title}, {form}, columns / {NAMES[tool]}",
                cost.seconds / other.seconds,
                target=RATIO_TARGET if case.has_target else None,
            )
    if rows <= BY_ROWS:
        alone = measured("rows", case, f"{path}.parquet", f"{small}.parquet", repeats).seconds
        yield Figure(_NAME, f"{title}, row by row, decoded before, a row", alone / rows * 1e6, "µs")
        yield Figure(_NAME, f"{title}, row by row / columns from Parquet", alone / columns["parquet"])
    if path != small:
        for form in TARGETS:
            path.with_suffix(f".{form}").unlink()


def _of_sweep(rows: int, candidates: int, repeats: int, small: Path) -> Iterator[Figure]:
    files = f"{write_history('temp', rows, small.parent)}.parquet", f"{small}.parquet"
    one = measured("sweep1", LARGE, *files, repeats)
    many = measured(f"sweep{candidates}", LARGE, *files, 1)
    title = f"{candidates:,} thresholds over {rows:,} rows"
    yield Figure(_NAME, title, many.seconds, "s")
    yield Figure(_NAME, f"{title} / one", many.seconds / one.seconds, target=SWEEP_TARGET)
    yield Figure(_NAME, f"{title}, peak memory", many.peak, "MB")


if __name__ == "__main__":
    run("--smoke" in sys.argv, "--full" in sys.argv)
