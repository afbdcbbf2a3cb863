"""Parquet files that are damaged: named as dead letters, while the others count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructType

import tidelog
from spark.packs import facts_in
from tidelog.connectors.spark.running.inputs.inputs import read_input
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.inputs.whole_files import FilesOfTask
from tidelog.connectors.spark.running.job import job_of
from tidelog.connectors.spark.running.parcels import LETTER, letter_of
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = "timeline integer.\ninput temp(sensor, value).\nhot(S) :- temp(S, V), V >= 30."


def write(path: Path, sensor: str, rows: int = 3) -> None:
    columns = {"sensor": [sensor] * rows, "value": [31.0] * rows, "time": list(range(rows))}
    pq.write_table(pa.table(columns), path, row_group_size=1)


def damage(path: Path, part: str) -> None:
    """Of a file that is whole, the end or the data of its last page."""
    content = bytearray(path.read_bytes())
    if part == "end":
        path.write_bytes(content[:-20])
    else:
        begin = pq.ParquetFile(path).metadata.row_group(2).column(0).dictionary_page_offset or 4
        content[begin : begin + 30] = b"\xff" * 30
        path.write_bytes(content)


def files(folder: Path) -> None:
    folder.mkdir()
    for name in "abc":
        write(folder / f"{name}.parquet", name)
    damage(folder / "a.parquet", "end")
    damage(folder / "b.parquet", "data")


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_damaged_files_are_named(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    """Of a damaged file no fact counts, though Spark may read some of it; the others are read, and on a stream, too."""
    files(tmp_path / "temp")
    job = job_of(tidelog.compile(PROGRAM), 2)
    item = Input(0, "parquet", os.fspath(tmp_path / "temp"), "temp", skips_damaged=True)
    found = read_input(spark, item, job, streaming=streaming)
    if streaming:
        options = {"path": f"{tmp_path}/out", "checkpointLocation": f"{tmp_path}/checkpoint"}
        found.writeStream.format("parquet").options(**options).trigger(availableNow=True).start().awaitTermination()
        found = spark.read.parquet(f"{tmp_path}/out")
    rows = found.collect()
    letters = [letter_of(bytes(row.row)) for row in rows if row.kind == LETTER]
    assert sorted(letter.place for letter in letters) == [f"{tmp_path}/temp/{name}.parquet" for name in "ab"]
    assert all(letter.reason.startswith("the file is damaged: ") for letter in letters)
    told = facts_in(rows)
    assert sorted(told) == [("temp", ("c", 31.0), time, time) for time in range(3)]


def test_columns_in_names_of_folders_are_refused() -> None:
    """What only the folders' names hold is in no file."""
    kinds = StructType().add("sensor", StringType()).add("value", DoubleType()).add("time", LongType())
    with pytest.raises(SpecError, match="its column `sensor` is in names of folders"):
        FilesOfTask(
            Input(0, "parquet", "/temp", "temp"), job_of(tidelog.compile(PROGRAM), 2), kinds, {"sensor"}, streaming=False
        )


def parcels_of(table: pa.Table) -> list[dict[str, Any]]:
    """What a worker makes of one file, where the first file has told the columns."""
    kinds = StructType().add("sensor", StringType()).add("value", DoubleType()).add("time", LongType())
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    batch = pa.RecordBatch.from_pydict({"path": ["file:/a"], "content": pa.array([sink.getvalue().to_pybytes()])})
    reader = FilesOfTask(
        Input(0, "parquet", "/temp", "temp"), job_of(tidelog.compile(PROGRAM), 2), kinds, (), streaming=False
    )
    return [row for out in reader.read([batch]) for row in out.to_pylist()]


def test_a_file_without_a_column_has_nothing_in_it() -> None:
    """A column that this file lacks is null, so its rows are letters, and the file is not damaged."""
    rows = parcels_of(pa.table({"sensor": ["a"], "time": pa.array([1], pa.int32())}))
    letters = [letter_of(row["row"]) for row in rows if row["kind"] == LETTER]
    assert [(letter.place, letter.reason) for letter in letters] == [("/a", "`value` is null")]


def test_a_number_in_one_file_is_no_text_of_another() -> None:
    """A file whose column has numbers, where that of others has text, is a letter; a text in few pieces is a text."""
    rows = parcels_of(pa.table({"sensor": [7], "value": [31.0], "time": [1]}))
    (letter,) = [letter_of(row["row"]) for row in rows if row["kind"] == LETTER]
    assert letter.reason == "the file is damaged: column `sensor` is of type int64, and in other files of type string"
    assert facts_in(rows) == []
    rows = parcels_of(pa.table({"sensor": pa.array(["a"]).dictionary_encode(), "value": [31.0], "time": [1]}))
    assert facts_in(rows) == [("temp", ("a", 31), 1, 1)]
