"""Tables on disk: all of a batch or nothing of it, whatever happens in between, and few files."""

from __future__ import annotations

import os
import random
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from state.samples import ROOT as STORED
from state.versions import another, later

from tidelog.connectors.spark.arguments import PLAIN
from tidelog.connectors.spark.tables import segments as segments_module
from tidelog.connectors.spark.tables import tables as tables_module
from tidelog.connectors.spark.tables.intervals import Run, coalesce
from tidelog.connectors.spark.tables.segments import Partition
from tidelog.connectors.spark.tables.stores import LocalStore
from tidelog.connectors.spark.tables.table_source import Table, TableReader
from tidelog.connectors.spark.tables.tables import KEPT, Manifest, NodeTime, TableFields, Tables, newest, table_files
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

NO_FIELDS = TableFields((), ())
Facts = Mapping[tuple[str, str], Sequence[Run]]


def run(low: int, high: int, seq: int, key: str = '"k"') -> Run:
    return Run((key,), str(low), str(high), False, False, seq, seq, None, seq)


def write(path: Path | str, batch: int, facts: Facts) -> None:
    """What the pipeline does with a batch, without Spark."""
    with Tables(os.fspath(path)) as tables:
        last = tables.manifest
        merged = {}
        for (predicate, node), runs in facts.items():
            time = NodeTime("rational", None)
            part = Partition(predicate, node, time, PLAIN, False, tables.store, tables.writer, last.version + 1)
            mine = [each for each in last.segments if (each.predicate, each.node) == (predicate, node)]
            merged[predicate, node] = part.merge(runs, mine)
        kept = [each for each in last.segments if (each.predicate, each.node) not in merged]
        new = [each for found in merged.values() for each in found]
        names = {**last.tables, **{predicate: NO_FIELDS for predicate, _ in facts}}
        tables.publish(Manifest(last.version + 1, tables.writer, "", batch, tables=names, segments=(*kept, *new)))


def read(path: Path, table: str) -> list[tuple[str, str, str, int, int]]:
    """All rows of a table, as any reader of Parquet sees them."""
    found = []
    for file in table_files(os.fspath(path)).get(table, ()):
        node = Path(file).parent.name.removeprefix("node=")
        rows = pq.ParquetFile(file).read().to_pylist()
        found += [(node, row["arguments"][0], row["start"], row["end"], row["last_seq"]) for row in rows]
    return sorted(found)


def expected(batches: Sequence[Facts], predicate: str) -> list[tuple[str, str, str, int, int]]:
    nodes = {node for facts in batches for name, node in facts if name == predicate}
    found = []
    for node in nodes:
        runs = coalesce([each for facts in batches for each in facts.get((predicate, node), ())], integer=False)
        found += [(node, str(each.key[0]), each.start or "", each.end or "", each.last_seq) for each in runs]
    return sorted(found)


BATCHES: list[Facts] = [
    {("p", "n1"): [run(0, 2, 1), run(5, 6, 2)], ("_odd name", "n/1"): [run(0, 0, 1)]},
    {("p", "n1"): [run(2, 5, 3)], ("p", "n2"): [run(9, 9, 1)]},
    {("q", "n2"): [run(7, 9, 2)], ("p", "n1"): [run(20, 21, 4), run(-5, -4, 5)]},
]


def test_intervals_coalesce_across_batches(tmp_path: Path) -> None:
    """What one batch leaves apart and the next one joins is one row."""
    for number, facts in enumerate(BATCHES):
        write(tmp_path, number, facts)
    assert read(tmp_path, "p") == expected(BATCHES, "p")
    assert [row[2:4] for row in read(tmp_path, "p")] == [("-5", "-4"), ("0", "6"), ("20", "21"), ("9", "9")]
    assert read(tmp_path, "_odd name") == [("n%2F1", '"k"', "0", "0", 1)]


def _crash(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Let the process die before the call number `at` that changes the disk."""
    calls = count()

    def patch(name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **options: object) -> object:
            if next(calls) >= at:
                raise _Killed
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)

    for name in ("replace", "rename", "link", "fsync", "mkdir", "symlink", "unlink"):
        patch(name)


class _Killed(BaseException):
    pass


@pytest.mark.slow
def test_a_batch_is_there_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any step of the second batch, tables are those of the first or the second; run again, of the second."""
    both = [{name: expected(BATCHES[:number], name) for name in ("p", "q")} for number in (1, 2)]
    states = []
    for at in range(200):
        folder = tmp_path / str(at)
        write(folder, 0, BATCHES[0])
        with monkeypatch.context() as patch:
            _crash(patch, at)
            try:
                write(folder, 1, BATCHES[1])
                is_killed = False
            except _Killed:
                is_killed = True
        seen = {name: read(folder, name) for name in ("p", "q")}
        assert seen in both
        states.append(both.index(seen))
        write(folder, 1, BATCHES[1])
        assert {name: read(folder, name) for name in ("p", "q")} == both[1]
        if not is_killed:
            break
    assert not is_killed
    assert len(states) > 10
    assert states == sorted(states)
    assert states[0] == 0
    assert states[-2] == 1


def test_a_batch_written_again_changes_nothing(tmp_path: Path) -> None:
    """Batches that the tables hold already change no row, to the last column."""
    for number in (0, 1, 2, 2, 1):
        write(tmp_path, number, BATCHES[number])
    assert read(tmp_path, "p") == expected(BATCHES, "p")


def test_of_two_writers_one_is_told(tmp_path: Path) -> None:
    """Who comes second with a version is told, and loses nothing of the other; its files are taken away in the end."""
    with Tables(os.fspath(tmp_path)) as first, Tables(os.fspath(tmp_path)) as second:
        first.publish(Manifest(1, first.writer))
        with pytest.raises(ConnectorError, match="another process has written version 1"):
            second.publish(Manifest(1, second.writer))
    for number in range(KEPT + 2):
        write(tmp_path, number, {("p", "n1"): [run(2 * number, 2 * number, number)]})
    left = tmp_path / "_data/p/node=n1/part-00000001-dead-000.parquet"
    left.write_bytes(b"of a process that died")
    Tables(os.fspath(tmp_path)).__enter__()
    assert not left.exists()
    assert len(read(tmp_path, "p")) == KEPT + 2


def test_a_writer_that_slept_makes_no_version_of_the_past(tmp_path: Path) -> None:
    """Where another one has made so many versions meanwhile that one's own number is free again, it is told, too."""
    with Tables(os.fspath(tmp_path)) as sleeper, Tables(os.fspath(tmp_path)) as other:
        for version in range(1, KEPT + 5):
            other.publish(Manifest(version, other.writer))
        for version in (1, 4, 5):
            with pytest.raises(ConnectorError, match=f"another process has written version {version} "):
                sleeper.publish(Manifest(version, sleeper.writer))
        assert sleeper.manifest.version == 0
    assert len(list((tmp_path / "_log").iterdir())) == KEPT


def test_what_is_no_version_stays(tmp_path: Path) -> None:
    """A file of somebody else's beside the manifests is not taken away with old versions."""
    for number in range(KEPT + 2):
        write(tmp_path, number, {("p", "n1"): [run(0, 0, 1)]})
    note = tmp_path / "_log/README"
    note.write_text("ours")
    Tables(os.fspath(tmp_path)).__enter__()
    assert note.exists()


def test_a_lost_reply_is_no_second_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who hears that a version is there already, and finds it to be its own, has written it."""
    with Tables(os.fspath(tmp_path)) as tables:
        put = LocalStore.put_new
        monkeypatch.setattr(LocalStore, "put_new", lambda store, name, data: put(store, name, data) and False)
        tables.publish(Manifest(1, tables.writer))
        assert tables.manifest.version == 1


def test_older_versions_are_kept_for_a_while(tmp_path: Path) -> None:
    """The files that `table_files` tells stay as they are for some batches to come, and are then taken away."""
    write(tmp_path, 0, {("p", "n1"): [run(0, 0, 1)]})
    (first,) = table_files(os.fspath(tmp_path))["p"]
    for number in range(1, KEPT + 1):
        assert pq.ParquetFile(first).read().num_rows == 1
        write(tmp_path, number, {("p", "n1"): [run(number, number, number)]})
    assert not Path(first).exists()
    assert len(list((tmp_path / "_log").iterdir())) == KEPT
    assert len(read(tmp_path, "p")) == KEPT + 1


def test_readers_while_versions_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks for the newest version while it is taken away looks again; whose files are gone is told to read anew."""
    place = os.fspath(tmp_path)
    write(place, 0, {("p", "n1"): [run(0, 0, 1)]})
    reader = TableReader(Table(place, "p"))
    (part,) = reader.partitions()
    assert [batch.num_rows for batch in reader.read(part)] == [1]
    for number in range(1, KEPT + 1):
        write(place, number, {("p", "n1"): [run(number, number, number)]})
    with pytest.raises(ConnectorError, match=r"part-00000001-.*\.parquet` is gone: read the newest version anew"):
        list(reader.read(part))
    names, looks = LocalStore.names, count()

    def late(store: LocalStore, folder: str) -> list[str]:
        """What there was when the first version was the newest one, at the first look."""
        return [f"{folder}/{1:020d}.json"] if next(looks) == 0 else names(store, folder)

    monkeypatch.setattr(LocalStore, "names", late)
    assert (newest(LocalStore(place)).version, next(looks)) == (KEPT + 1, 2)
    monkeypatch.setattr(LocalStore, "names", lambda store, folder: [f"{folder}/{1:020d}.json"])
    with pytest.raises(ConnectorError, match="their versions go faster than they can be read"):
        newest(LocalStore(place))


@pytest.mark.slow
def test_files_stay_few_and_old_ones_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full files are left alone, and merged when there are eight of one size; late facts find the file that they touch."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(segments_module, "FULL", 4)
    monkeypatch.setattr(segments_module, "LARGEST", 4 * 8 * 8)
    draw = random.Random(7)
    batches: list[Facts] = []
    for number in range(40):
        late = draw.randrange(0, 40 * number + 1)
        runs = [run(40 * number + 3 * each, 40 * number + 3 * each + 1, 100 * number + each) for each in range(8)]
        batches.append({("p", "n1"): [*runs, run(late, late + 2, 100 * number + 50)]})
        write(tmp_path, number, batches[-1])
    assert read(tmp_path, "p") == expected(batches, "p")
    assert len(table_files(os.fspath(tmp_path))["p"]) < 30


def test_damaged_tables_are_told(tmp_path: Path) -> None:
    """A manifest that cannot be read, or a format of another version, is told; no tables at all, too."""
    with pytest.raises(SpecError, match="there are no tables"):
        table_files(os.fspath(tmp_path))
    write(tmp_path, 0, BATCHES[0])
    (manifest,) = (tmp_path / "_log").iterdir()
    manifest.write_text(manifest.read_text().replace('"format":2', '"format":9'))
    with pytest.raises(SpecError, match=r"in format 9, and this is tidelog .* knows formats up to 2"):
        table_files(os.fspath(tmp_path))
    manifest.write_text("{")
    with pytest.raises(ConnectorError, match=r"version 1 of the tables .* is damaged"):
        write(tmp_path, 1, BATCHES[1])


@pytest.mark.parametrize("archive", sorted(STORED.glob("*/tables.zip")), ids=lambda path: path.parent.name)
def test_tables_of_earlier_versions_go_on(archive: Path, tmp_path: Path) -> None:
    """They are read as they were, and written on; what a newer version of tidelog has written is refused by name."""
    with zipfile.ZipFile(archive) as stored:
        stored.extractall(tmp_path)
    before = [("n1", '"k"', "0", "3", 1), ("n1", '"k"', "7", "9", 2), ("n1", '"other"', "4", "5", 3)]
    assert read(tmp_path, "hot") == before
    write(tmp_path, 2, {("hot", "n1"): [run(11, 12, 4)]})
    assert read(tmp_path, "hot") == sorted([*before, ("n1", '"k"', "11", "12", 4)])
    assert read(tmp_path, "cold") == [("n2", '"k"', "5", "6", 1)]
    with another():
        write(tmp_path, 3, {("cold", "n2"): [run(8, 9, 2)]})
    with pytest.raises(
        SpecError, match=rf"was stored by tidelog {later()} in format 2, and this is tidelog .*, which is older"
    ):
        write(tmp_path, 4, {("cold", "n2"): [run(10, 11, 3)]})


def test_manifests_of_an_older_form_are_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version reads them by its steps."""
    write(tmp_path, 0, {("hot", "n1"): [run(0, 3, 1)]})
    form = tables_module.TABLES
    steps = {form.version: lambda data: {**data, "format": form.version + 1, "batch": data["batch"] + 41}}
    monkeypatch.setattr(tables_module, "TABLES", replace(form, version=form.version + 1, steps=steps))
    assert newest(LocalStore(os.fspath(tmp_path))).batch == 41
