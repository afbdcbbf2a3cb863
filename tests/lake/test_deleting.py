"""Rows that are to be forgotten: which they are, in one commit, beside who writes, and that their bytes are gone then."""

from __future__ import annotations

import os
import random
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli import main
from tidelog.connectors.lake import deleting
from tidelog.connectors.lake.arguments import parse_fields
from tidelog.connectors.lake.columns import table_schema
from tidelog.connectors.lake.conditions import mask_of, parse_conditions
from tidelog.connectors.lake.deleting import delete
from tidelog.connectors.lake.gateways.ingest import Ingestion
from tidelog.connectors.lake.intervals import Run
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.rows import rows_table
from tidelog.connectors.lake.tables import Table
from tidelog.connectors.lake.times import TimeColumn
from tidelog.plans.diagnostics.errors import SpecError

from .filling import Fill, facts, is_taken, read_tables, rows_of, table_rows
from .golden import golden
from .homes import Home
from .test_tables import DAY, held, parcel, row, schema, writer

FIELDS = "sensor: text, value: number, count: integer, ok: boolean, note: any"


def opened(tables: str, predicate: str = "hot") -> Table:
    found = open_lake(tables).open(predicate)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("node = 'n1'", [0, 1, 2]),
        ("node != 'n1'", [3]),
        ("sensor = 'it''s' and node = n1", [1]),
        ("sensor = s1 and value >= 2", [2]),
        ("value < 2", [0, 1]),
        ("count > 1", [2]),
        ("ok = false", [1]),
        ("note = '\"s1\"'", [0]),
        ("arguments.note = 7", [1]),
        ("date < 1970-01-02", [0, 1]),
        ("end_time >= 1970-01-02T00:00:07", [2]),
        ("start_time <= 1970-01-01T00:00:00+00:00", [0, 3]),
        ("sensor = 's1' AND value = 1", [0]),
        ("value != 2", [0, 1]),
    ],
)
def test_which_rows_are_meant(where: str, expected: list[int]) -> None:
    """Each comparison by the type of its column; what is NULL is compared with nothing."""
    column = parse_fields(FIELDS)
    rows = [
        (("n1", "s1", 1.0, 1, True, '"s1"'), 0, 5),
        (("n1", "it's", 1.5, 1, False, "7"), 3, 9),
        (("n1", "s1", 2.0, 2, True, None), 7, DAY + 7),
        (("n2", None, None, None, None, None), 0, None),
    ]
    runs = [
        Run(key, str(low), None if high is None else str(high), False, False, 1, 1, None, 1, "box")
        for key, low, high in rows
    ]
    columns = table_schema(column, True)
    table = rows_table(runs, columns, column, dict.fromkeys(("n1", "n2"), TimeColumn("1", True)))
    mask = mask_of([parse_conditions(where)], columns)
    [batch] = table.combine_chunks().to_batches()
    assert [place for place, flag in enumerate(mask(batch).to_pylist()) if flag] == expected


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", "expected conditions such as"),
        ("sensor", "expected conditions such as"),
        ("sensor = 's1' or node = 'n1'", "expected conditions such as"),
        ("sensor = 's1' and", "expected conditions such as"),
        ("sensor < 's1'", "`sensor` is no number and no time, so only `=` and `!=` compare it"),
        ("value = high", "`value` is double, and `high` is none"),
        ("date = yesterday", "`date` is date32"),
        ("device = 'd'", "there is no field `device`; there are `sensor`, `value`"),
        ("ok = yes", "`ok` is bool, and `yes` is none"),
    ],
)
def test_conditions_that_are_none(where: str, message: str) -> None:
    """What cannot be read, or does not fit a column, is told before anything is deleted."""
    with pytest.raises(SpecError, match=message):
        mask_of([parse_conditions(where)], table_schema(parse_fields(FIELDS), True))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=12), st.sampled_from("abc"))
def test_rows_without_names_go_by_places(drawn: list[tuple[str, str]], wanted: str) -> None:
    """Arguments without names are texts of JSON; a place that no row has means none."""
    lists = pa.array([[f'"{one}"', f'"{two}"'] for one, two in drawn], pa.list_(pa.field("element", pa.string())))
    batch = pa.RecordBatch.from_arrays([lists], ["arguments"])
    mask = mask_of([parse_conditions(f"1 = '\"{wanted}\"'"), parse_conditions("3 = '1'")], batch.schema)
    assert mask(batch).to_pylist() == [one == wanted for one, _ in drawn]


def test_rows_are_deleted_in_one_version(tables: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What is meant is gone from all files at once, and does not come again; the table is written on."""
    other = schema("n2", "box2")
    for number in (1, 2):
        writer(tables).write([parcel([row(number, DAY * number, DAY * number + 1)])])
    writer(tables).write([parcel([row(1, 0, 1), row(2, 9, 9, '["b"]')], of=other)])
    version = opened(tables).version
    assert main(["tables", "delete", tables, "--where", "sensor = 'a' and node = 'n1'", "--dry-run"]) == 0
    assert capfd.readouterr().err == "tidelog: hot: 2 rows would be deleted, from 2 files\n"
    assert opened(tables).version == version
    assert main(["tables", "delete", tables, "--where", "sensor = 'a' and node = 'n1'", "--where", "sensor = b"]) == 0
    assert capfd.readouterr().err == "tidelog: hot: 3 rows deleted, from 3 files\n"
    assert version < opened(tables).version <= version + 2
    assert held(tables, "node", "start") == [("a", "n2", "0")]
    writer(tables).write([parcel([row(1, DAY, DAY + 1), row(2, 2 * DAY, 2 * DAY)])])  # it has them, and they are gone
    writer(tables).write([parcel([row(3, DAY + 1, DAY + 2)])])
    assert held(tables, "node", "start") == [("a", "n1", str(DAY + 1)), ("a", "n2", "0")]
    assert delete(opened(tables), [parse_conditions("node = 'n7'")]) == deleting.Deleted(0, 0)


def test_tables_that_a_condition_does_not_fit(tables: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A table without the field is left as it is, and told; where it was named, or none has the field, nothing is done."""
    writer(tables).write([parcel([row(1, 0, 1)])])
    writer(tables, predicate="seen").write([parcel([row(1, 0, 1, '["d1"]')], "device: text")])
    assert main(["tables", "delete", tables, "--where", "device = 'd1'"]) == 0
    said = capfd.readouterr().err.splitlines()
    assert said == [
        "tidelog: hot: left as it is: `device = d1`: there is no field `device`; there are `sensor`",
        "tidelog: seen: 1 rows deleted, from 1 files",
    ]
    for more in (["hot", "--where", "device = 'd1'"], ["--where", "serial = 1"]):
        assert main(["tables", "delete", tables, *more]) == 2
        assert "cannot delete rows of `hot`: " in capfd.readouterr().err
    assert len(table_rows(tables, "hot")) == 1


def _holding(folder: Path, secret: str) -> set[Path]:
    """The files below a folder that hold a word: in their bytes, or in what Parquet makes of them."""
    found = set()
    for path in (each for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += str(pq.ParquetFile(path).read().to_pylist()).encode()
        if secret.encode() in data:
            found.add(path)
    return found


def test_bytes_are_gone_after_a_vacuum(home: Home, tmp_path: Path) -> None:
    """A device that is deleted stands in no file any more when a vacuum has cleared the versions before: neither in those
    with rows, nor in statistics of a log or a manifest."""
    secret, tables = "device-of-somebody", home.tables
    hot = writer(tables)
    for number in range(1, 6):
        name = secret if number in (2, 4) else f"s{number}"
        hot.write([parcel([row(number, 10 * number, 10 * number, f'["{name}"]')])])
    folder = (tmp_path / "homes" / "home-0").resolve()
    before = _holding(folder, secret)
    assert {path.suffix for path in before} >= {".parquet"}
    table = opened(tables)
    assert delete(table, [parse_conditions(f"sensor = '{secret}'")]).rows == 2
    assert before <= _holding(folder, secret)
    older = set(folder.rglob("*.avro"))
    table.vacuum(0)
    assert _holding(folder, secret) == set()
    if home.kind == "iceberg":  # of which manifests are packed, so that a word in them is not seen
        entries = _entries(table)
        assert set(folder.rglob("*.avro")) & older <= {Path(os.path.realpath(name)) for name in entries}
        assert not [each for each in entries.values() if secret[:12].encode() in each]
    hot.write([parcel([row(9, 20, 21, '["s9"]')])])
    assert held(tables, "start") == [("s1", "10"), ("s3", "30"), ("s5", "50"), ("s9", "20")]


def _entries(table: Any) -> dict[str, bytes]:
    """The manifests, and their lists, of the only snapshot that is left, and what they say of the values in files."""
    [snapshot] = table.table.metadata.snapshots
    found = {snapshot.manifest_list: b""}
    for manifest in snapshot.manifests(table.table.io):
        entries = manifest.fetch_manifest_entry(table.table.io, discard_deleted=False)
        bounds = ((entry.data_file.lower_bounds, entry.data_file.upper_bounds) for entry in entries)
        found[manifest.manifest_path] = str([(*low.values(), *high.values()) for low, high in bounds]).encode()
    return found


@pytest.mark.parametrize("seed", [1])
def test_deletion_beside_an_ingestion(fill: Fill, tables: str, seed: int) -> None:
    """While one process writes, another deletes a node's rows: these are gone, and of the others nothing is missing."""
    gone, kept = fill("gone", facts(seed, 80)), fill("kept", facts(seed + 1, 300))
    expected = golden(rows_of(kept))
    with Ingestion([gone], tables) as first:
        first.run(once=True)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with Ingestion([kept], tables, rows=50) as ingestion:
                ingestion.run(once=True)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    names = ["hot", "on", "seen"]
    random.Random(seed).shuffle(names)
    for name in names:
        assert delete(opened(tables, name), [parse_conditions("node = 'gone'")]).rows
    thread.join()
    assert failures == []
    assert is_taken(kept)
    assert read_tables(tables) == expected
