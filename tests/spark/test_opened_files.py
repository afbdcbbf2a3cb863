"""Parquet files that workers open themselves: what they hold is what Spark's reader would bring, and in parts the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import tidelog
from spark.packs import facts_in
from tidelog.connectors.spark.running.inputs import frames, opened_files
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.connectors.spark.running.parcels import COUNT, LETTER, SPAN, letter_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = "timeline integer.\ninput temp(sensor: text, value: number).\nseen(S, V) :- temp(S, V)."


def job(text: str = PROGRAM) -> Job:
    return job_of(tidelog.compile(text), 2, emit="final")


def written(folder: Path) -> str:
    """Files whose columns differ: in order and type, encoded, with one that nobody reads, and one without a value."""
    folder.mkdir()
    first = pa.table({"sensor": ["a", "b", "a"], "value": [1.5, 2.0, None], "time": [1, 2, 3]})
    pq.write_table(first, folder / "1.parquet", row_group_size=1)
    times = pa.array([4, 5], pa.int32())
    second = {
        "time": times,
        "other": [None, 1],
        "value": pa.array([3, 4]),
        "sensor": pa.array(["c", "c"]).dictionary_encode(),
    }
    pq.write_table(pa.table(second), folder / "2.parquet", row_group_size=1)
    pq.write_table(pa.table({"sensor": ["d"], "time": [6]}), folder / "3.parquet")
    pq.write_table(first.slice(0, 0), folder / "4.parquet")
    return f"{folder}?predicate=temp"


def by_spark(spark: SparkSession, spec: str) -> DataFrame:
    """The same files, read by Spark alone."""
    item = parse_input(spec, 0)
    return frames.rows_as_parcels(spark.read.parquet(item.path), item, job())


def said(frame: DataFrame) -> tuple[object, ...]:
    """The facts, the letters, the counts, and the span of times."""
    rows = frame.collect()
    letters = sorted(
        (letter_of(bytes(row.row)).place, letter_of(bytes(row.row)).reason) for row in rows if row.kind == LETTER
    )
    spans = [(row.lo, row.hi) for row in rows if row.kind == SPAN]
    counted = sum(row.lo for row in rows if row.kind == COUNT)
    return sorted(facts_in(rows)), letters, counted, (min(lo for lo, _ in spans), max(hi for _, hi in spans))


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 300, 128 << 20])
def test_parts_of_files_hold_what_files_hold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """However files are cut; a column that a file lacks is null in it, and a narrower type is the same number."""
    spec = written(tmp_path / "temp")
    monkeypatch.setattr(opened_files, "_PART", part)
    frame = read_input(spark, parse_input(spec, 0), job(), streaming=False)
    assert "Scan parquet" not in str(frame._jdf.queryExecution().executedPlan())
    facts, letters, counted, span = said(frame)
    assert facts == [
        ("temp", row, time, time) for row, time in ((("a", 1.5), 1), (("b", 2), 2), (("c", 3), 4), (("c", 4), 5))
    ]
    reason = "`value` is null"
    assert letters == [(f"{tmp_path}/temp/1.parquet", reason), (f"{tmp_path}/temp/3.parquet", reason)]
    assert (counted, span) == (4, (1, 5))


@pytest.mark.slow
def test_spark_reads_the_same_of_files_that_are_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Facts, letters, counts and the span of times are the same whoever opens the files."""
    folder = tmp_path / "temp"
    folder.mkdir()
    for number in range(3):
        columns = {"sensor": ["a", "b", None], "value": [1.5, float("nan"), 2.0], "time": [number, number + 5, 9]}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    spec = f"{folder}?predicate=temp"
    assert said(read_input(spark, parse_input(spec, 0), job(), streaming=False)) == said(by_spark(spark, spec))


@pytest.mark.slow
def test_a_column_in_names_of_folders_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """No file holds it."""
    for sensor in ("a", "b"):
        (tmp_path / "temp" / f"sensor={sensor}").mkdir(parents=True)
        pq.write_table(pa.table({"value": [1.5], "time": [1]}), tmp_path / "temp" / f"sensor={sensor}" / "1.parquet")
    frame = read_input(spark, parse_input(f"parquet+{tmp_path}/temp?predicate=temp", 0), job(), streaming=False)
    assert sorted(facts_in(frame.collect())) == [("temp", ("a", 1.5), 1, 1), ("temp", ("b", 1.5), 1, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["a page", "another type", "gone"])
def test_a_file_that_cannot_be_read_is_named(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    """The run ends, and says which file it was."""
    folder = tmp_path / "temp"
    folder.mkdir()
    table = pa.table({"sensor": ["a"], "value": [1.5], "time": [1]})
    for name in ("1", "2"):
        pq.write_table(table, folder / f"{name}.parquet")
    other = folder / "2.parquet"
    if damage == "another type":
        pq.write_table(table.set_column(1, "value", pa.array(["high"])), other)
    elif damage == "a page":
        content = bytearray(other.read_bytes())
        content[4:40] = b"\xff" * 36
        other.write_bytes(content)
    frame = read_input(spark, parse_input(f"{folder}?predicate=temp", 0), job(), streaming=False)
    if damage == "gone":
        os.remove(other)
    with pytest.raises(PySparkException, match=f"cannot read `{other}`"):
        frame.collect()
