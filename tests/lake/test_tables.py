"""Tables of each format: columns that change, few files, versions that a power failure has torn, and places."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli import main
from tidelog.connectors.lake.arguments import ArgumentColumn, parse_fields
from tidelog.connectors.lake.columns import widened
from tidelog.connectors.lake.delta import syncing
from tidelog.connectors.lake.delta.library import deltalake
from tidelog.connectors.lake.delta.syncing import mend
from tidelog.connectors.lake.delta.table import DeltaLakeTable
from tidelog.connectors.lake.iceberg.library import catalog
from tidelog.connectors.lake.iceberg.table import IcebergTable
from tidelog.connectors.lake.intervals import Run, coalesce
from tidelog.connectors.lake.old_tables import take_over
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.places import folder_of, predicate_of
from tidelog.connectors.lake.tables import Conflict, Table
from tidelog.connectors.lake.upkeep import COMPACTED, compact
from tidelog.connectors.lake.writing import Parcel, TableWriter
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

from .buckets import bucket
from .filling import table_rows
from .homes import Home, Kind

DAY = 86_400
OLD = Path(__file__).parents[1] / "fixtures" / "old_tables.zip"
"""Tables that `ingest` of an earlier version has written."""


def schema(node: str = "n1", box: str = "box", unit: str | None = "1", timeline: str = "rational") -> OutboxSchema:
    return OutboxSchema(node, box, timeline, unit, {})


def row(seq: int, low: int | None, high: int | None, arguments: str = '["a"]') -> OutboxRow:
    ends = (None if end is None else str(end) for end in (low, high))
    return OutboxRow(seq, "hot", arguments, *ends, low is None, high is None, None, seq)


def parcel(
    rows: Sequence[OutboxRow], fields: str | None = "sensor: text", of: OutboxSchema | None = None, upto: int | None = None
) -> Parcel:
    column = ArgumentColumn() if fields is None else parse_fields(fields)
    return Parcel(of or schema(), column, rows, rows[-1].seq if upto is None else upto)


def writer(place: Path | str, dates: bool = True, predicate: str = "hot") -> TableWriter:
    return TableWriter(open_lake(os.fspath(place)), predicate, dates=dates)


def folders(table: Table) -> set[str]:
    """The folders in which its files are."""
    return {PurePath(file.path).parent.name for file in table.files()}


def rows_then(table: Table, number: int) -> int:
    """How many rows a table had in an older version."""
    if isinstance(table, DeltaLakeTable):
        return DeltaTable(table.uri, version=number).to_pyarrow_table().num_rows
    assert isinstance(table, IcebergTable)
    [snapshot] = [each for each in table.table.snapshots() if each.sequence_number == number]
    return len(table.table.scan(snapshot_id=snapshot.snapshot_id).to_arrow())


def held(place: Path | str, *names: str) -> list[tuple[Any, ...]]:
    rows = table_rows(place, "hot")
    wanted = [(*row["arguments"].values(), *(row[name] for name in names or ("start", "end"))) for row in rows]
    return sorted(wanted, key=str)


def test_days_are_partitions(tables: str) -> None:
    """A row is in the partition of the day on which it ends, moves on as it grows, and has none while it has no end."""
    table = writer(tables)
    table.write([parcel([row(1, 0, 5), row(2, 8, DAY + 3), row(3, 2 * DAY, None), row(4, None, -5)])])
    days = sorted((str(each["date"]), each["first_seq"]) for each in table_rows(tables, "hot"))
    assert days == [("1969-12-31", 4), ("1970-01-01", 1), ("1970-01-02", 2), ("None", 3)]
    table.write([parcel([row(5, 5, 8)])])
    assert [(str(each["date"]), each["start"]) for each in table_rows(tables, "hot") if each["first_seq"] == 1] == [
        ("1970-01-02", "0")
    ]
    assert len(table_rows(tables, "hot")) == 3


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@given(data=st.data())
def test_batches_make_no_difference(data: st.DataObject, kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Drawn facts in drawn batches, some of them twice, on both timelines: the runs that they make at once."""
    integer = data.draw(st.booleans())
    ends = st.tuples(st.integers(0, 40), st.integers(0, 6), st.booleans(), st.sampled_from("ab"))
    drawn = data.draw(st.lists(ends, min_size=1, max_size=14))
    rows = [
        row(number, 30_000 * low, None if is_endless and low > 20 else 30_000 * (low + length), f'["{key}"]')
        for number, (low, length, is_endless, key) in enumerate(drawn, 1)
    ]
    cuts = [*sorted(data.draw(st.lists(st.integers(1, len(rows)), max_size=3))), len(rows)]
    dates = data.draw(st.booleans())
    of = schema(unit="1" if dates else None, timeline="integer" if integer else "rational")
    with pytest.MonkeyPatch.context() as patch:
        place = Home(kind, tmp_path_factory.mktemp("homes") / "own", patch).tables
        begin = 0
        for end in cuts:
            if end > begin:
                writer(place, dates).write([parcel(rows[max(0, begin - 2) : end], of=of)])
            begin = max(begin, end)
        stored = table_rows(place, "hot")
    runs = [
        Run(
            (each.arguments,),
            each.start,
            each.end,
            each.start_open,
            each.end_open,
            each.seq,
            each.seq,
            None,
            each.seq,
            "box",
        )
        for each in rows
    ]
    wanted = [(run.key, run.start, run.end, run.first_seq, run.last_seq) for run in coalesce(runs, integer=integer)]
    found = [
        ((f'["{each["arguments"]["sensor"]}"]',), each["start"], each["end"], each["first_seq"], each["last_seq"])
        for each in stored
    ]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def test_fields_are_added_and_widened(tables: str) -> None:
    """What there was stays as it was: new fields are NULL, numbers stay numbers, texts become texts of JSON."""
    steps = [
        ("sensor: text, value: integer", '["a",1]', ("a", 1)),
        ("sensor: text, value: number", '["b",2.5]', ("b", 2.5)),
        ("sensor: text, value: integer, ok: boolean", '["c",3,"true"]', ("c", 3.0, True)),
        ("value: any, sensor: any", '["x",7]', ("7", '"x"', None)),
    ]
    for number, (fields, arguments, _) in enumerate(steps, 1):
        writer(tables).write([parcel([row(number, 3 * number, 3 * number, arguments)], fields)])
    assert held(tables, "start") == [
        ('"a"', "1.0", None, "3"),
        ('"b"', "2.5", None, "6"),
        ('"c"', "3.0", True, "9"),
        ("7", '"x"', None, "12"),
    ]
    table = writer(tables).look()
    assert table is not None
    assert folders(table) == {"date=1970-01-01"}
    assert table.upto("box") == 4


def test_numbers_that_would_change_are_refused(tables: str) -> None:
    """A whole number that no double holds keeps its column from becoming one, by the name of the field."""
    writer(tables).write([parcel([row(1, 0, 0, f"[{2**53 + 1}]")], "value: integer")])
    with pytest.raises(ConnectorError, match="field `value` of `hot` cannot become number"):
        writer(tables).write([parcel([row(2, 5, 5, "[0.5]")], "value: number")])
    assert held(tables, "start") == [(2**53 + 1, "0")]


@pytest.mark.parametrize(
    ("known", "added", "found"),
    [
        ("a: integer", "a: number", "a: number"),
        ("a: number", "a: integer", "a: number"),
        ("a: any", "a: text", "a: any"),
        ("a: boolean", "a: any", "a: any"),
        ("a: text", "b: text, a: text", "a: text, b: text"),
        ("a: text, b: text", "b: text", "a: text, b: text"),
        ("a: text", "a: number", "field `a` of `p` is text in the table, and number at node `n`: neither holds the other"),
        ("a: boolean", "a: integer", "field `a` of `p` is boolean in the table, and integer at node `n`"),
    ],
)
def test_which_types_hold_which(known: str, added: str, found: str) -> None:
    """The wider of two types holds both; where none does, the field is named."""
    if found.startswith("field"):
        with pytest.raises(SpecError, match=found):
            widened("p", parse_fields(known), parse_fields(added), "at node `n`")
    else:
        assert widened("p", parse_fields(known), parse_fields(added), "at node `n`") == parse_fields(found)


def test_nodes_that_count_in_another_way(tables: str) -> None:
    """Each node may count time in its own way, and stays with it; dates and plain numbers do not mix."""
    table = writer(tables)
    table.write([parcel([row(1, 0, 1), row(2, 2, 3)])])
    minutes = schema("n2", "box2", unit="60", timeline="integer")
    table.write([parcel([row(1, 0, 1), row(2, 2, 3)], of=minutes)])
    assert held(tables, "node", "start", "end") == [("a", "n1", "0", "1"), ("a", "n1", "2", "3"), ("a", "n2", "0", "3")]
    writer(tables).check(minutes, parse_fields("sensor: text"))
    with pytest.raises(SpecError, match=r"node `n1` counts time in another way \(rational 60\) than its rows"):
        writer(tables).check(schema(box="other", unit="60"), parse_fields("sensor: text"))
    with pytest.raises(SpecError, match=r"times in the table `.*hot` are dates, and those of node `n1` numbers"):
        writer(tables, dates=False).check(schema(unit=None), parse_fields("sensor: text"))


def test_files_stay_few(tables: str) -> None:
    """Small files become one now and then, older versions stay readable, and a vacuum takes away what none needs."""
    table = writer(tables)
    for number in range(1, COMPACTED + 4):
        table.write([parcel([row(number, 10 * number, 10 * number, f'["{number}"]')])])
    found = table.look()
    assert found is not None
    assert len(found.files()) < COMPACTED // 2
    assert len(held(tables)) == COMPACTED + 3
    assert rows_then(found, 2) == 2
    assert found.vacuum(24) == 0
    assert found.vacuum(0) >= COMPACTED - 1
    assert found.vacuum(0) == 0
    assert len(held(tables)) == COMPACTED + 3
    for number in range(1, 4):
        table.write([parcel([row(100 + number, 10 * number, 10 * number + 1, f'["{number}"]')])])
    assert held(tables)[:1] == [("1", "10", "11")]


def test_rows_that_are_compacted_meanwhile_are_not_there_twice(tables: str) -> None:
    """Who has seen the files before another process compacted them is told, and works it out anew.

    The libraries themselves let such a commit pass, or try it again behind the other: its rows would be there twice.
    """
    table = writer(tables)
    for number in (1, 2, 3):
        table.write([parcel([row(number, 10 * number, 10 * number, f'["{number}"]')])])
    late = writer(tables)
    stale = late.look()
    assert stale is not None
    fresh = open_lake(tables).open("hot")
    assert fresh is not None
    compact(fresh, 1 << 20)
    with pytest.raises(Conflict, match="cannot write the table"):
        late._commit(stale, [Run(("n1", "1"), "9", "10", False, False, 9, 9, None, 9, "box")], {"n1": schema()}, {"x": 1}, 3)
    late.write([parcel([row(9, 9, 10, '["1"]')])])
    assert held(tables) == [("1", "9", "10"), ("2", "20", "20"), ("3", "30", "30")]


def test_log_that_another_process_clears(tables: str) -> None:
    """Who has opened a table long ago goes on with it when a vacuum has let the log go that it read: with what it knows of
    outboxes, with rows, and with its own upkeep."""
    late, other = writer(tables), writer(tables)
    late.write([parcel([row(1, 0, 1)])])
    for number in range(1, 8):
        other.write([parcel([row(number, 10 * number, 10 * number, '["b"]')], of=schema("n2", "box2"))])
        found = other.look()
        assert found is not None
        found.vacuum(0)
    late.write([parcel([row(1, 0, 1), row(2, 1, 3)])])
    for _ in range(2):
        table = late.look()
        assert table is not None
        assert (table.upto("box"), table.upto("box2")) == (2, 7)
        compact(table, 1 << 20)
        table.vacuum(0)
        other.look().vacuum(0)  # type: ignore[union-attr] # it is there
        late.write([parcel([row(2, 1, 3)])])
    assert held(tables, "start", "end")[0] == ("a", "0", "3")
    assert len(held(tables)) == 8


def test_rows_that_others_delete_stay_deleted(tmp_path: Path) -> None:
    """What is deleted by device, with any tool for Delta Lake, is gone, also from its files; the table is written on."""
    table = writer(tmp_path)
    other = schema("n2", "box2")
    table.write([parcel([row(1, 0, 1), row(2, 9, 9, '["b"]')]), parcel([row(1, 0, 1)], of=other)])
    found = table.look()
    assert isinstance(found, DeltaLakeTable)
    found.table.delete("node = 'n2' OR arguments['sensor'] = 'b'")
    found.vacuum(0)
    table.write([parcel([row(3, 1, 4)])])
    assert held(tmp_path, "node", "start", "end") == [("a", "n1", "0", "4")]


@pytest.mark.parametrize("what", ["log", "file"])
def test_versions_that_a_power_failure_has_torn(tmp_path: Path, what: str) -> None:
    """A last version whose entry, or whose file, is not whole is taken back; it comes again, since nobody was told of it."""
    table = writer(tmp_path)
    table.write([parcel([row(1, 0, 1)])])
    table.write([parcel([row(2, 9, 9)])])
    uri = tmp_path / "hot"
    if what == "log":
        (uri / "_delta_log" / f"{2:020d}.json").write_bytes(b"")
    else:
        found = table.look()
        assert isinstance(found, DeltaLakeTable)
        newest = max(found.table.file_uris(), key=os.path.getmtime)
        os.truncate(newest, os.path.getsize(newest) // 2)
    assert mend(os.fspath(uri)) == [f"version 2 of the table `{uri}` was torn by a power failure, and is taken back"]
    assert held(tmp_path) == [("a", "0", "1")]
    writer(tmp_path).write([parcel([row(2, 9, 9)])])
    assert held(tmp_path) == [("a", "0", "1"), ("a", "9", "9")]
    assert mend(os.fspath(uri)) == []


def test_what_a_commit_says_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a write returns, each file of the new version, its entry, and their folders were brought to the disk, also where
    a version of another process has a file that was cleared away since."""
    table = writer(tmp_path)
    table.write([parcel([row(1, 0, 1)])])
    writer(tmp_path).write([parcel([row(2, 1, 3)])])
    known = table.look()
    assert known is not None
    assert isinstance(known, DeltaLakeTable)
    gone = known.table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert len(gone) == 1
    synced: list[str] = []
    monkeypatch.setattr(syncing, "sync", lambda path: synced.append(str(path)))
    fresh = open_lake(os.fspath(tmp_path)).open("hot")
    assert isinstance(fresh, DeltaLakeTable)
    fresh.secure(-1)
    uri = tmp_path / "hot"
    entries = [str(uri / "_delta_log" / f"{version:020d}.json") for version in range(fresh.version + 1)]
    assert {*entries, *fresh.table.file_uris(), str(uri / "_delta_log"), str(uri / "date=1970-01-01"), str(uri)} <= set(
        synced
    )


def test_old_tables_are_taken_over(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Their rows are in tables of Delta Lake then, and are gone on with; done twice, it changes nothing."""
    with zipfile.ZipFile(OLD) as stored:
        stored.extractall(tmp_path / "old")
    for _ in range(2):
        assert main(["tables", "take-over", os.fspath(tmp_path / "old"), "--to", os.fspath(tmp_path / "new")]) == 0
        assert capfd.readouterr().err.splitlines() == [
            "tidelog: cold: 1 rows taken over",
            "tidelog: hot: 3 rows taken over",
        ]
        rows = [
            (each["node"], *each["arguments"], each["start"], each["end"]) for each in table_rows(tmp_path / "new", "hot")
        ]
        assert sorted(rows) == [("n1", '"k"', "0", "3"), ("n1", '"k"', "7", "9"), ("n1", '"other"', "4", "5")]
    table = writer(tmp_path / "new", dates=False)
    table.write([parcel([row(1, 2, 8, '["k"]')], None, schema(unit=None))])
    rows = [(*each["arguments"], each["start"], each["end"]) for each in table_rows(tmp_path / "new", "hot")]
    assert sorted(rows) == [('"k"', "0", "9"), ('"other"', "4", "5")]
    assert main(["tables", "take-over", os.fspath(tmp_path / "new"), "--to", os.fspath(tmp_path / "x")]) == 2
    assert "there are no tables of an older version of tidelog in" in capfd.readouterr().err
    (tmp_path / "old/_log").joinpath(f"{9:020d}.json").write_text("{")
    with pytest.raises(ConnectorError, match="is damaged"):
        take_over(os.fspath(tmp_path / "old"), os.fspath(tmp_path / "x"))


def test_commands_keep_tables_up(tables: str, capfd: pytest.CaptureFixture[str]) -> None:
    """`optimize` and `vacuum` work on all tables or on some, and tell what is none."""
    for number in (1, 2):
        writer(tables).write([parcel([row(number, 10 * number, 10 * number)])])
    place = tables
    assert main(["tables", "optimize", place]) == 0
    assert capfd.readouterr().err == "tidelog: hot: 1 files in the place of 2\n"
    assert main(["tables", "vacuum", place, "hot", "--hours", "1"]) == 0
    assert capfd.readouterr().err == "tidelog: hot: 0 files taken away\n"
    assert main(["tables", "vacuum", place, "cold"]) == 2
    assert f"`{place}` holds no table of `cold`; there are `hot`" in capfd.readouterr().err
    assert main(["tables", "optimize", f"{tables}x"]) == 2
    assert "there are no tables in" in capfd.readouterr().err


def test_optimize_beside_a_writer(tables: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A day is compacted again where another process has written the table meanwhile."""
    for number in (1, 2):
        for day in (0, DAY):
            writer(tables).write([parcel([row(2 * number + day // DAY, day + number, day + number)])])
    before = held(tables)
    others = [9]
    for kind in (DeltaLakeTable, IcebergTable):
        real = kind.compact

        def overtaken(self: Any, *rest: Any, real: Any = real) -> Any:
            while others:
                number = others.pop()
                writer(tables).write([parcel([row(number, DAY + number, DAY + number, '["b"]')], of=schema("n2", "box2"))])
            return real(self, *rest)

        monkeypatch.setattr(kind, "compact", overtaken)
    assert main(["tables", "optimize", tables]) == 0
    assert capfd.readouterr().err.startswith("tidelog: hot: ")
    assert sorted(held(tables)) == sorted([*before, ("b", str(DAY + 9), str(DAY + 9))])


@given(st.text(min_size=1))
def test_names_of_folders(predicate: str) -> None:
    """Every predicate has a folder of its own, whose name is the same in paths and URIs."""
    folder = folder_of(predicate)
    assert folder.isascii()
    assert not set(folder) & set("%/ ?#")
    assert folder[0] not in "_."
    assert predicate_of(folder) == predicate


def test_odd_names(tmp_path: Path, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predicates and nodes of any name have tables and rows, in a folder and in a bucket."""
    with bucket(monkeypatch) as uri:
        for place in (os.fspath(tmp_path / "odd place"), uri, tables):
            for name in ("_odd name/ä", "hot"):
                writer(place, predicate=name).write([parcel([row(1, 0, 1), row(2, 1, 4)], of=schema("n/1 'ü'"))])
            assert open_lake(place).predicates() == ["_odd name/ä", "hot"]
            [found] = table_rows(place, "_odd name/ä")
            assert (found["node"], found["start"], found["end"]) == ("n/1 'ü'", "0", "4")


def test_places_that_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Other object stores, a bucket without a name, a bucket that is not there, and what is no table of ours are told."""
    for uri in ("hdfs://plant/tables", "s3://", "abfss://a@b/c"):
        with pytest.raises(SpecError, match="tables are in a folder of this machine, or at `s3://BUCKET/PATH`"):
            open_lake(uri)
    with (
        bucket(monkeypatch),
        pytest.raises(ConnectorError, match=r"cannot (read|write) the tables? .*`s3://nowhere/x.*NoSuch"),
    ):
        writer("s3://nowhere/x").write([parcel([row(1, 0, 1)])])
    import pyarrow as pa  # noqa: PLC0415

    deltalake().write_deltalake(tmp_path / "hot", pa.table({"a": [1]}))
    with pytest.raises(SpecError, match="has the columns a, and is none of tidelog's: it lacks node, arguments"):
        writer(tmp_path).check(schema(), parse_fields("sensor: text"))
    shutil.rmtree(tmp_path / "hot")


def test_catalogs_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What names no namespace, a catalog that nobody has set up, and one that cannot be asked are told."""
    for name in ("iceberg:", "iceberg:lake", "iceberg:lake.", "iceberg:.plant"):
        with pytest.raises(SpecError, match=f"`{name}` names no namespace of Iceberg: expected `iceberg:CATALOG.NAMESPACE`"):
            open_lake(name)
    with pytest.raises(SpecError, match=r"no catalog `no-where` of Iceberg: .* `PYICEBERG_CATALOG__NO_WHERE__URI`"):
        open_lake("iceberg:no-where.plant").predicates()
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/no/folder.db")
    with pytest.raises(ConnectorError, match=r"cannot ask the catalog `lake` of Iceberg: .*unable to open database file"):
        open_lake("iceberg:lake.plant").predicates()
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "unheard")
    with pytest.raises(SpecError, match="the catalog `lake` of Iceberg: 'unheard' is not a valid CatalogType"):
        open_lake("iceberg:lake.plant").predicates()


def test_namespaces_that_others_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of others in the namespace are left alone, and what others have done to ours is refused by name."""
    tables = Home("iceberg", tmp_path / "homes", monkeypatch).tables
    hot = writer(tables)
    hot.write([parcel([row(1, 0, 5)])])
    catalog("lake").create_table("plant.cold", hot.look().table.schema())  # type: ignore[union-attr]
    assert open_lake(tables).predicates() == ["hot"]
    loaded = catalog("lake").load_table("plant.hot")
    with loaded.update_spec() as update:
        update.add_identity("node")
    with pytest.raises(ConnectorError, match=r"`lake\.plant\.hot` is partitioned by date, node, which others have changed"):
        writer(tables).write([parcel([row(2, 9, 9)])])


def test_files_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a catalog has its files read by another module, they are written, and a vacuum says that it cannot list them."""
    tables = Home("iceberg", tmp_path / "homes", monkeypatch).tables
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__PY_IO_IMPL", "pyiceberg.io.fsspec.FsspecFileIO")
    hot = writer(tables)
    hot.write([parcel([row(1, 0, 5)])])
    found = hot.look()
    assert found is not None
    with pytest.raises(
        ConnectorError, match="files are read by FsspecFileIO, which cannot list them: take `py-io-impl` out"
    ):
        found.vacuum(0)
