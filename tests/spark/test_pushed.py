"""What Spark passes over before a worker sees it: rows that no rule needs, and no row that is no fact."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from spark.packs import facts_in
from tidelog.connectors.spark.running.history import run_history
from tidelog.connectors.spark.running.inputs.frames import rows_as_parcels
from tidelog.connectors.spark.running.inputs.inputs import parse_input
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.connectors.spark.running.parcels import FACT, LETTER, facts_of, letter_of
from tidelog.runtime.columns.stages.staged import open_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEAD = "timeline integer, unit 1 s.\ninput temp(sensor: text, value: number).\noutput hot, cold.\n"
RULES = (
    HEAD
    + """
hot(S) :- temp(S, V), V >= 30.
cold(S) :- temp(S, V), V < 0, S != b.
"""
)
FAR = 1 << 61
ROWS: list[tuple[object, object, object]] = [
    ("a", 30.0, 1),
    ("a", 29.5, 2),
    ("b", -1.0, 3),
    ("a", -0.5, 4),
    (None, 5.0, 5),
    ("a", None, 6),
    ("a", 5.0, None),
    ("a", math.nan, 7),
    ("a", math.inf, 8),
    ("a", -math.inf, 9),
    ("a", 5.0, FAR),
    ("a", 5.0, -FAR),
]


def written(path: Path, rows: list[tuple[Any, ...]], kind: pa.DataType | None = None) -> str:
    sensors, values, times = map(list, zip(*rows, strict=True))
    columns = {"sensor": sensors, "value": pa.array(values, pa.float64()), "time": pa.array(times, kind or pa.int64())}
    pq.write_table(pa.table(columns), path)
    return os.fspath(path)


def found(frame: DataFrame) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Facts on their way to stages, and why rows are none."""
    rows = frame.collect()
    return sorted(fact[1:] for fact in facts_in(rows)), sorted(
        letter_of(bytes(row.row)).reason for row in rows if row.kind == LETTER
    )


def read_by_spark(spark: SparkSession, path: str, text: str) -> DataFrame:
    """The rows of a file as of any table: workers would open a file of this machine themselves."""
    return rows_as_parcels(spark.read.parquet(path), parse_input(path, 1), job(text))


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def job(text: str) -> Job:
    return job_of(tidelog.compile(text), 2, emit="final")


@pytest.mark.slow
def test_rows_that_no_rule_needs_stay_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Constants and comparisons reach Parquet's reader; what is no fact still becomes a dead letter, with its reason."""
    path = written(tmp_path / "temp.parquet", ROWS)
    frame = read_by_spark(spark, path, RULES)
    facts, reasons = found(frame)
    assert facts == [(("a", -0.5), 4, 4), (("a", 30), 1, 1)]
    assert len(reasons) == 8
    assert ">= 30.0" in plan_of(frame)
    every = job(HEAD + "hot(S) :- temp(S, _).\ncold(S) :- temp(S, _).")  # whose rules need all
    whole = rows_as_parcels(spark.read.parquet(path), parse_input(path, 1), every)
    assert ">= 30.0" not in plan_of(whole)
    all_facts, all_reasons = found(whole)
    assert (len(all_facts), all_reasons) == (4, reasons)


@pytest.mark.slow
def test_statistics_without_nan_hide_no_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """NaN among numbers that no rule needs becomes a dead letter, though the file's statistics do not show it."""
    path = written(tmp_path / "temp.parquet", [("a", 5.0, 1), ("a", math.nan, 2), ("a", 6.0, 3)])
    frame = read_by_spark(spark, path, RULES)
    assert found(frame) == ([], ["`value` is nan: a number must be finite"])


@pytest.mark.slow
def test_timestamps_that_are_no_times_are_not_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    """A timestamp between two ticks becomes a dead letter, though no rule would need its row."""
    micros = [1_000_000, 2_000_000, 2_500_000]
    rows = [("a", 31.0 if i == 0 else 5.0, datetime.fromtimestamp(at / 1e6, UTC)) for i, at in enumerate(micros)]
    path = written(tmp_path / "temp.parquet", rows, pa.timestamp("us", "UTC"))
    facts, reasons = found(read_by_spark(spark, path, RULES))
    assert (facts, len(reasons)) == ([(("a", 31), 1, 1)], 1)


@pytest.mark.slow
def test_answers_do_not_depend_on_what_is_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    """Answers are those of one process that is told every row."""
    rows = [(f"s{place % 7}", float(place * 37 % 61 - 15), place // 7) for place in range(400)]
    path = written(tmp_path / "temp.parquet", rows)
    told = run_history([read_by_spark(spark, path, RULES)], job(RULES), open_history)
    session = tidelog.Session(tidelog.compile(RULES), emit="final")
    session.push_records([("temp", (name, value), time, time) for name, value, time in rows])
    session.finish()
    answers = facts_of(bytes(row.row) for row in told.collect() if row.kind == FACT)
    assert sorted(answers) == sorted(session.pull_records())
    assert answers
