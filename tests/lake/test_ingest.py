"""The pipeline: facts of many gateways become tables, each fact once, whatever is killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from tidelog.cli import main
from tidelog.connectors.lake import writing
from tidelog.connectors.lake.arguments import parse_fields
from tidelog.connectors.lake.delta import files as files_module
from tidelog.connectors.lake.delta import syncing
from tidelog.connectors.lake.delta import table as table_module
from tidelog.connectors.lake.delta.files import TableFiles
from tidelog.connectors.lake.gateways.ingest import Ingestion
from tidelog.connectors.lake.gateways.sites import Sites
from tidelog.connectors.lake.iceberg import synced
from tidelog.connectors.lake.iceberg import table as iceberg_module
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from waiting import eventually

from .buckets import bucket
from .filling import Fill, facts, fill_outbox, is_taken, read_tables, rows_of, table_rows
from .golden import golden
from .homes import Home


def ingest(paths: Sequence[str], tables: str | Path, **options: Any) -> Ingestion:
    """Take all that there is."""
    with Ingestion(paths, os.fspath(tables), **options) as ingestion:
        assert ingestion.run(once=True)
    return ingestion


def _check_golden(fill: Fill, tables: str) -> None:
    expected = []
    for number in range(2):
        paths = [fill(node, facts(10 * number + place, 40)) for place, node in enumerate(("n1", "2"))]
        expected += rows_of(*paths)
        ingest(paths, tables, rows=30)
        assert read_tables(tables) == golden(expected)
        assert all(map(is_taken, paths))


def test_tables_equal_the_golden_ones(fill: Fill, tables: str) -> None:
    """Over several runs and batches tables hold the maximal intervals, and all that they hold is acknowledged."""
    _check_golden(fill, tables)


def test_tables_in_a_bucket_equal_the_golden_ones(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is in an object store."""
    with bucket(monkeypatch) as uri:
        _check_golden(fill, uri)


@pytest.mark.slow
@pytest.mark.long
def test_iceberg_in_a_bucket_equals_the_golden_ones(fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with a catalog whose files are in an object store; a vacuum lists and clears them there."""
    with bucket(monkeypatch) as uri:
        tables = Home("iceberg", tmp_path / "homes", monkeypatch).tables
        monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__S3__ENDPOINT", os.environ["AWS_ENDPOINT_URL_S3"])
        _check_golden(fill, tables)
        table = open_lake(tables).open("hot")
        assert table is not None
        rows = table_rows(tables, "hot")
        assert table.vacuum(0)
        assert len(table_rows(tables, "hot")) == len(rows)


def test_named_fields_are_columns(fill: Fill, tables: str) -> None:
    """The fields that are named become a struct, merged as such across batches, and stay with the tables."""
    path = fill("n1", [("hot", ("a", 1), 0, 4), ("hot", ("a", 2), 1, 1)])
    named = {"hot": parse_fields("sensor: text, value: number")}
    ingest([path], tables, fields=named)
    fill("n1", [("hot", ("a", 1), 4, 6)])
    ingest([path], tables, fields=named)
    names = ("arguments", "start", "end", "first_seq", "last_seq", "node")
    rows = [tuple(row[name] for name in names) for row in table_rows(tables, "hot")]
    assert sorted(rows, key=str) == [
        ({"sensor": "a", "value": 1.0}, "0", "3", 1, 3, "n1"),
        ({"sensor": "a", "value": 2.0}, "0", "1", 2, 2, "n1"),
    ]
    fill("n1", [("hot", ("a", 1), 9, 9)])
    with pytest.raises(
        SpecError, match=r"the fields of `hot` are \(sensor: text, value: number\) in the table, and none at"
    ):
        ingest([path], tables)


_STRIDE = int(os.environ.get("TIDELOG_KILL_STRIDE", "5"))
"""Of how many steps one is tried."""


class _Killed(BaseException):
    pass


def _seams() -> list[tuple[Any, str]]:
    """Where a process may die: around each file, each sync, each commit, and the acknowledgement."""
    return [
        (TableFiles, "write"),
        (files_module, "sync"),
        (table_module, "commit"),
        (syncing, "sync"),
        (iceberg_module, "write_file"),
        (synced, "sync"),
        (SqlCatalog, "create_table"),
        (SqlCatalog, "commit_table"),
        (writing, "keep_up"),
        (Sites, "acknowledge"),
        (DeltaTable, "create"),
    ]


def _die(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Let the process die before, or behind, the seam number `at // 2`."""
    calls = count()

    def patch(owner: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            number = next(calls)
            if 2 * number >= at:
                raise _Killed
            found = real(*args, **options)
            if 2 * number + 1 >= at:
                raise _Killed
            return found

        monkeypatch.setattr(owner, name, call)

    for owner, name in _seams():
        patch(owner, name)


@pytest.mark.slow
def test_killed_at_each_step(fill: Fill, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any step of a batch, each table has all of it or nothing; run again, tables are the golden ones."""
    path = fill("n1", facts(1, 60))
    first = rows_of(path)
    tables = home.tables
    ingest([path], tables)
    fill("n1", facts(2, 60))
    second = rows_of(path)
    wholes = [golden(first), golden(first + second)]
    draw = random.Random()
    is_killed = True
    killed = 0
    for at in range(draw.randrange(_STRIDE), 400, _STRIDE):
        box = os.fspath(tmp_path / "boxes" / str(at))
        home.use("0")
        home.copy(f"at-{at}")
        home.use(f"at-{at}")
        shutil.copytree(path, box)
        with monkeypatch.context() as patch:
            _die(patch, at)
            try:
                ingest([box], tables)
                is_killed = False
            except _Killed:
                killed += 1
        seen = read_tables(tables)
        for predicate in ("hot", "seen", "on"):
            own = [{key: rows for key, rows in found.items() if key[0] == predicate} for found in (seen, *wholes)]
            assert own[0] in own[1:]
        ingest([box], tables)
        assert read_tables(tables) == wholes[1]
        assert is_taken(box)
        home.drop(f"at-{at}")
        if not is_killed:
            break
    assert not is_killed
    assert killed > 20 // _STRIDE


def _command(paths: Sequence[str], tables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidelog", "ingest", "--from", *paths, "--to", tables, "--rows", "60", "--once"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _check_killed(fill: Fill, tables: str) -> None:
    paths = [fill(node, facts(place, 300)) for place, node in enumerate(("n1", "n2"))]
    expected = golden(rows_of(*paths))
    draw = random.Random()
    for kills in range(4):
        target = _versions(tables) + draw.randrange(1, 5)
        process = _command(paths, tables)
        if kills < 3:
            eventually(lambda target=target, process=process: _versions(tables) >= target or process.poll() is not None)
            time.sleep(draw.random() / 20)  # a drawn moment of the next commit
            process.kill()
        told = process.communicate()[0]
    assert process.returncode == 0, told
    assert told == ""
    assert read_tables(tables) == expected
    assert all(map(is_taken, paths))


@pytest.mark.slow
def test_killed_at_random_points(fill: Fill, tmp_path: Path) -> None:
    """The process killed while it writes: in the end the tables are the golden ones."""
    _check_killed(fill, os.fspath(tmp_path / "tables"))


@pytest.mark.slow
@pytest.mark.long
def test_killed_at_random_points_of_iceberg(fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with a catalog."""
    _check_killed(fill, Home("iceberg", tmp_path / "homes", monkeypatch).tables)


@pytest.mark.slow
@pytest.mark.long
def test_killed_at_random_points_in_a_bucket(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is in an object store."""
    with bucket(monkeypatch) as uri:
        _check_killed(fill, uri)


def _versions(tables: str) -> int:
    """How many versions all tables have."""
    try:
        lake = open_lake(tables)
        return sum(table.version + 1 for name in lake.predicates() if (table := lake.open(name)) is not None)
    except ConnectorError:  # it is being made
        return 0


def test_several_processes_side_by_side(fill: Fill, tables: str) -> None:
    """Several ingest the same outboxes at the same time, and others of their own: each fact is there once."""
    shared = fill("n0", facts(0, 120))
    own = [fill(f"n{number}", facts(number, 120)) for number in (1, 2)]
    expected = golden(rows_of(shared, *own))
    failures: list[BaseException] = []

    def run(paths: Sequence[str]) -> None:
        try:
            ingest(paths, tables, rows=40)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=run, args=([shared, each],)) for each in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert read_tables(tables) == expected


def test_a_batch_that_comes_again_counts_once(fill: Fill, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that are told again, since nobody has heard the acknowledgement, change no row, to the last column."""
    path = fill("n1", facts(3, 50))
    with monkeypatch.context() as patch:
        patch.setattr(OutboxReader, "acknowledge", lambda *_: None)
        ingest([path], tables)
        before = {name: (table_rows(tables, name), _versions(tables)) for name in ("hot", "seen", "on")}
        ingest([path], tables)
    assert not is_taken(path)
    assert {name: (table_rows(tables, name), _versions(tables)) for name in ("hot", "seen", "on")} == before


def test_an_older_copy_is_refused(fill: Fill, home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    """Tables that lack what was acknowledged since are told, and are gone on with only if asked; new ones are told of."""
    path = fill("n1", [("seen", ("x",), 0, 0)])
    tables = home.tables
    ingest([path], tables)
    home.copy("older")
    fill("n1", [("seen", ("x",), 10, 10)])
    ingest([path], tables)
    fill("n1", [("seen", ("x",), 18, 18)])
    home.use("older")
    call = ["ingest", "--from", path, "--to", tables, "--once"]
    assert main(call) == 2
    said = capfd.readouterr().err
    assert "lack facts 2 to 2 of node `n1`, which were acknowledged: they are an older copy" in said
    assert not is_taken(path)
    assert main([*call, "--accept-gap"]) == 0
    assert "facts 2 to 2 of node `n1` were acknowledged before" in capfd.readouterr().err
    assert sorted(row["start"] for row in table_rows(tables, "seen")) == ["0", "9"]
    assert main(["ingest", "--from", path, "--to", f"{tables}-new", "--once", "--stats"]) == 0
    said = capfd.readouterr().err
    assert "facts 1 to 3 of node `n1` were acknowledged before" in said
    assert "facts: 0" in said


def test_a_gap_that_another_process_has_filled_is_none(fill: Fill, tables: str) -> None:
    """Who has looked at the tables before another process wrote and acknowledged looks again."""
    path = fill("n1", [("seen", ("x",), 0, 0)])
    ingest([path], tables)
    with Ingestion([path], tables) as late:
        fill("n1", [("seen", ("x",), 10, 10)])
        ingest([path], tables)
        late._sites.all[0].schema = None  # as if it joined just now
        late._look()


def test_facts_that_another_process_acknowledges_first(fill: Fill, tables: str) -> None:
    """Who comes second to an outbox goes on behind what another process has written and acknowledged; where that process has
    other tables, it is told."""
    path = fill("n1", [("seen", ("x",), 0, 0)])
    said: list[str] = []
    with Ingestion([path], tables, tell=said.append) as late:
        ingest([path], tables)
        assert late.run(once=True)
        assert late.counts.facts == 0
        fill("n1", [("seen", ("x",), 10, 10)])
        late._look()
        ingest([path], tables, accept_gap=True)
        fill("n1", [("seen", ("x",), 18, 18)])
        late._look()
        ingest([path], f"{tables}-other")
        late._take()
    assert said[-1].startswith("a gateway is away")
    assert f"the tables in `{late._lake.place}` lack facts 3 to 3 of node `n1`, which were acknowledged" in said[-1]
    assert sorted(row["start"] for row in table_rows(tables, "seen")) == ["0", "5"]


def test_a_program_whose_outputs_change(tables: str, tmp_path: Path) -> None:
    """Another program fills a new outbox of the same node, with more fields, wider ones and another output."""

    def declared(fields: str, more: str = "") -> str:
        return f"timeline rational, unit 1 s, resolution 1.\ninput hot({fields}).\noutput hot.\n{more}"

    old = fill_outbox(tmp_path / "1", "n1", [("hot", ("a", 1), 0, 8)], declared("sensor: text, value: integer"))
    ingest([old], tables)
    program = declared("sensor: text, value: number, limit: number", "input cold(sensor: text).\noutput cold.\n")
    records = [("hot", ("a", 1.5, 3), 10, 12), ("hot", ("a", 1, 3), 8, 8), ("cold", ("b",), 14, 14)]
    ingest([fill_outbox(tmp_path / "2", "n1", records, program)], tables)
    rows = [(*row["arguments"].values(), row["start"], row["end"]) for row in table_rows(tables, "hot")]
    assert sorted(rows, key=str) == [("a", 1.0, 3.0, "4", "4"), ("a", 1.0, None, "0", "4"), ("a", 1.5, 3.0, "5", "6")]
    assert [row["arguments"] for row in table_rows(tables, "cold")] == [{"sensor": "b"}]
    bad = declared("sensor: text, value: text, limit: number")
    with pytest.raises(SpecError, match="field `value` of `hot` is number in the table, and text at node `n1`"):
        ingest([fill_outbox(tmp_path / "3", "n1", [], bad)], tables)


def test_changes_make_no_tables(fill: Fill, tmp_path: Path) -> None:
    """A table holds facts, and what has only begun is none yet: an outbox of changes is refused before anything is made."""
    path = fill("n1", [], holds_changes=True)
    with pytest.raises(SpecError, match="holds changes: only `--emit intervals`, `final` and `points` fill it with facts"):
        Ingestion([path], os.fspath(tmp_path / "tables")).__enter__()
    assert not (tmp_path / "tables").exists()


def test_a_signal_ends_it(fill: Fill, tmp_path: Path) -> None:
    """Without `--once` it goes on until SIGTERM, and ends with what it has written."""
    path, tables = fill("n1", facts(5, 20)), os.fspath(tmp_path / "tables")
    expected = golden(rows_of(path))
    command = [sys.executable, "-m", "tidelog", "ingest", "--from", path, "--to", tables, "--every", "0.1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        eventually(partial(is_taken, path))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143, process.communicate()
    finally:
        process.kill()
        process.communicate()
    assert read_tables(tables) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "/nowhere"], "error: there is no outbox in `/nowhere`"),
        (["--from", "a,b"], "error: the name of an outbox must not hold a comma, got `a,b`"),
        (
            ["--from", "a", "--fields", "hot"],
            "error: expected fields such as `hot(sensor: text, value: number)`, got `hot`",
        ),
        (["--from", "a", "--fields", "hot(x: y)"], "error: `y` is no type"),
        (["--from", "a", "--rows", "0"], "expected a whole number above 0, got `0`"),
        (["--from", "s3a://b/box"], "outboxes are in a folder of this machine"),
    ],
)
def test_command_line_mistakes(
    options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake on the command line is told in one line, with exit code 2, before anything is made."""
    monkeypatch.chdir(tmp_path)
    assert main(["ingest", "--to", "t", *options]) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "t").exists()
