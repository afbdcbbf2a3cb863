"""What others read of our tables: Polars, DuckDB, PyArrow, `deltalake` and `pyiceberg`, each by its own reader, see the same
rows."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import Table

from tidelog.connectors.lake.iceberg.library import catalog
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.upkeep import compact

from .homes import Home
from .test_tables import DAY, parcel, row, schema, writer

Rows = list[tuple[str, str, float | None, str | None, date | None]]
Where = tuple[str, datetime] | None
"""Which node's rows, of those that end later, are wanted; all where it is None."""

NOON = datetime(1970, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["written", "compacted", "rewritten"])
def is_rewritten(request: pytest.FixtureRequest, tables: str) -> bool:
    """Whether the table with rows of two nodes and three days, merged, grown, with a field that came later, is written anew
    with a wider field at the end."""
    hot = writer(tables)
    fields = "sensor: text, value: integer"
    other = schema("n2", "box2")
    hot.write([parcel([row(1, 0, 5, '["a",1]'), row(2, DAY, DAY + 9, '["b",2]')], fields)])
    hot.write([parcel([row(3, 5, DAY // 2 + 5, '["a",1]')], fields), parcel([row(1, 3, None, '["c",3]')], fields, other)])
    hot.write([parcel([row(2, 7, 8, '["d",4,"true"]')], "sensor: text, value: integer, ok: boolean", other)])
    if request.param == "compacted":
        found = hot.look()
        assert found is not None
        assert compact(found, 1 << 20).removed
    if request.param == "rewritten":
        hot.write([parcel([row(4, 9, 9, '["e",0.5]')], "sensor: text, value: number")])
    return bool(request.param == "rewritten")


def _rows(found: list[dict[str, Any]]) -> Rows:
    rows = [
        (each["node"], each["arguments"]["sensor"], each["arguments"]["value"], each["end"], each["date"]) for each in found
    ]
    return sorted(rows, key=str)


def by_polars(table: str, where: Where) -> Rows:
    frame = pl.scan_delta(table)
    if where is not None:
        frame = frame.filter((pl.col("node") == where[0]) & (pl.col("end_time") > where[1]))
    return _rows(frame.collect().to_dicts())


def by_duckdb_over_arrow(table: str, where: Where) -> Rows:
    dataset = DeltaTable(table).to_pyarrow_dataset()  # noqa: F841 - DuckDB reads it by its name
    condition = "true" if where is None else f"node = '{where[0]}' AND end_time > '{where[1].isoformat()}'"
    found = duckdb.sql(f"SELECT * FROM dataset WHERE {condition}")  # noqa: S608 - its own words
    return _rows([dict(zip(found.columns, each, strict=True)) for each in found.fetchall()])


def by_duckdb_over_files(table: str, where: Where) -> Rows:
    names = [unquote(name) for name in DeltaTable(table).file_uris()]  # as the howto has it
    condition = "true" if where is None else f"node = '{where[0]}' AND end_time > '{where[1].isoformat()}'"
    files = f"read_parquet({names!r}, hive_partitioning=true, union_by_name=true, hive_types={{'date': DATE}})"
    found = duckdb.sql(f"SELECT * FROM {files} WHERE {condition}")  # noqa: S608 - as above
    return _rows([dict(zip(found.columns, each, strict=True)) for each in found.fetchall()])


def by_pyarrow(table: str, where: Where) -> Rows:
    wanted = None if where is None else (pc.field("node") == where[0]) & (pc.field("end_time") > where[1])
    return _rows(DeltaTable(table).to_pyarrow_dataset().to_table(filter=wanted).to_pylist())


def by_datafusion(table: str, where: Where) -> Rows:
    condition = "true" if where is None else f"node = '{where[0]}' AND end_time > '{where[1].isoformat()}'"
    query = f"SELECT * FROM hot WHERE {condition}"  # noqa: S608 - as above
    found = QueryBuilder().register("hot", DeltaTable(table)).execute(query)
    return _rows(pa.table(found).to_pylist())


def _loaded(table: str) -> Table:
    return catalog("lake").load_table(table.partition(".")[2])


def _filter(where: Where) -> str:
    return "true" if where is None else f"node == '{where[0]}' and end_time > '{where[1].isoformat()}'"


def iceberg_by_polars(table: str, where: Where) -> Rows:
    frame = pl.scan_iceberg(_loaded(table))
    if where is not None:
        frame = frame.filter((pl.col("node") == where[0]) & (pl.col("end_time") > where[1]))
    return _rows(frame.collect().to_dicts())


def iceberg_by_duckdb_over_arrow(table: str, where: Where) -> Rows:
    rows = _loaded(table).scan().to_arrow()  # noqa: F841 - as above
    condition = "true" if where is None else f"node = '{where[0]}' AND end_time > '{where[1].isoformat()}'"
    found = duckdb.sql(f"SELECT * FROM rows WHERE {condition}")  # noqa: S608 - as above
    return _rows([dict(zip(found.columns, each, strict=True)) for each in found.fetchall()])


def iceberg_by_itself(table: str, where: Where) -> Rows:
    return _rows(_loaded(table).scan(row_filter=_filter(where)).to_arrow().to_pylist())


READERS = {
    "delta": [by_polars, by_duckdb_over_arrow, by_duckdb_over_files, by_pyarrow, by_datafusion],
    "iceberg": [iceberg_by_polars, iceberg_by_duckdb_over_arrow, iceberg_by_itself],
}


def test_readers_see_the_same_rows(home: Home, is_rewritten: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows, and those that a filter leaves by statistics and partitions."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # another one is a package of its own
    table = open_lake(home.tables).uri("hot")
    noon = date(1970, 1, 1)
    expected: Rows = [
        ("n1", "a", 1, str(DAY // 2 + 5), noon),
        ("n1", "b", 2, str(DAY + 9), date(1970, 1, 2)),
        ("n2", "c", 3, None, None),
        ("n2", "d", 4, "8", noon),
    ]
    late: Rows = expected[:2]
    if is_rewritten:
        expected.append(("n1", "e", 0.5, "9", noon))
    for read in READERS[home.kind]:
        assert read(table, None) == sorted(expected, key=str), read
        assert read(table, ("n1", NOON)) == late, read
        assert read(table, ("n2", NOON)) == [], read


_PROCESS = """
import pickle, sys
from pyiceberg.catalog import load_catalog
rows = load_catalog("lake").load_table("plant.hot").scan(row_filter="node == 'n1'").to_arrow().to_pylist()
sys.stdout.buffer.write(pickle.dumps(rows))
"""


def test_another_process_reads_iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has nothing of ours sees what is committed."""
    tables = Home("iceberg", tmp_path / "homes", monkeypatch).tables
    writer(tables).write([parcel([row(1, 0, 5, '["a",1]')], "sensor: text, value: integer")])
    done = subprocess.run([sys.executable, "-c", _PROCESS], check=True, stdout=subprocess.PIPE)
    found = pickle.loads(done.stdout)  # noqa: S301 - its own
    assert _rows(found) == [("n1", "a", 1, "5", date(1970, 1, 1))]


def test_tables_in_places_with_spaces(tmp_path: Path) -> None:
    """A space is `%20` where `deltalake` says where files are. DuckDB takes paths, and Polars reads them over PyArrow."""
    writer(tmp_path / "my tables").write([parcel([row(1, 0, 5, '["a",1]')], "sensor: text, value: integer")])
    table = open_lake(os.fspath(tmp_path / "my tables")).uri("hot")
    assert by_duckdb_over_files(table, None) == [("n1", "a", 1, "5", date(1970, 1, 1))]
    frame = pl.scan_pyarrow_dataset(DeltaTable(table).to_pyarrow_dataset())
    assert _rows(frame.collect().to_dicts()) == [("n1", "a", 1, "5", date(1970, 1, 1))]


def test_statistics_let_readers_pass_over_files(tmp_path: Path) -> None:
    """The log says of each file which nodes, times and arguments it has, so readers open those alone that may matter."""
    hot = writer(tmp_path)
    for number in range(4):
        hot.write([parcel([row(number + 1, 1000 * number, 1000 * number + 5, f'["s{number}"]')])])
    found = DeltaTable(open_lake(os.fspath(tmp_path)).uri("hot"))
    for condition in ("arguments['sensor'] = 's2'", "first_seq = 3", "start = '2000'"):
        assert len(found.file_uris(file_pruning_predicate=condition)) == 1, condition
    assert len(found.file_uris(file_pruning_predicate="node = 'n2'")) == 0
    assert len(found.file_uris(file_pruning_predicate="date = '1970-01-01'")) == 4
    later = datetime.fromtimestamp(2500, UTC).isoformat()
    assert len(found.file_uris(file_pruning_predicate=f"end_time > '{later}'")) == 1
