"""The benchmark of histories in columns measures what says the same; its SQL is checked with SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.columns.cases import CASES, Case
from benchmarks.columns.drawn import write_history
from benchmarks.columns.once import in_order, sweep, told_by
from benchmarks.columns.suite import check

ROWS, KEYS = 6_000, 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_says_the_same_in_columns_and_row_by_row(case: Case, tmp_path: Path) -> None:
    check(case, write_history(case.history, ROWS, tmp_path, KEYS))


@pytest.mark.parametrize("case", [case for case in CASES if case.sql is not None], ids=lambda case: case.name)
def test_the_sql_says_what_the_program_says(case: Case, tmp_path: Path) -> None:
    path = f"{write_history(case.history, ROWS, tmp_path, KEYS)}.parquet"
    assert case.sql is not None
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table temp (r text, v real, time integer)")
        base.executemany(
            "insert into temp values (?, ?, ?)", (tuple(row.values()) for row in pq.read_table(path).to_pylist())
        )
        found = in_order(base.execute(case.sql).fetchall())
    assert found == told_by("rows", case, path)
    assert found


def test_a_sweep_counts_the_intervals_of_all_thresholds(tmp_path: Path) -> None:
    path = f"{write_history('temp', ROWS, tmp_path, KEYS)}.parquet"
    assert sweep(path, 3)() >= 0
