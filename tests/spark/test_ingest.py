"""The pipeline: facts of many gateways become tables, each fact once, whatever is killed."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from spark.quick import environment
from tidelog.cli import main
from tidelog.connectors.outbox.file import OutboxPredicate, OutboxSchema
from tidelog.connectors.outbox.outbox import OutboxReader, OutboxRow
from tidelog.connectors.spark import Ingestion, parse_fields, table_files
from tidelog.connectors.spark.arguments import PLAIN
from tidelog.connectors.spark.ingest import check_order, layout_of
from tidelog.connectors.spark.tables.stores import open_store
from tidelog.connectors.spark.tables.tables import Manifest, NodeTime, TableFields, newest
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from waiting import eventually

from .buckets import bucket
from .conftest import Fill
from .golden import Golden, golden, stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def facts(seed: int, number: int) -> list[Record]:
    """Facts of a few rows that touch, overlap, come late and come twice."""
    draw = random.Random(seed)
    found: list[Record] = []
    for place in range(number):
        low = max(0, 2 * place + draw.randrange(-40, 4))
        high = low + draw.randrange(0, 9)
        row = draw.choice([("hot", ("a b", 1)), ("hot", ("a b", 1.5)), ("seen", ("x",)), ("seen", (1,)), ("on", ())])
        found.append((*row, low, high))
    return found


def rows_of(*paths: str) -> list[tuple[str, OutboxRow]]:
    found = []
    for path in paths:
        with OutboxReader(path) as reader:
            found += [(reader.schema().node, row) for row in reader.read(reader.first() - 1, 100_000)]
    return found


def read_tables(tables: str) -> Golden:
    """All tables, as a reader of plain Parquet sees them."""
    store = open_store(tables)
    rows: dict[str, list[dict[str, Any]]] = {}
    for segment in newest(store).segments:
        found = pq.ParquetFile(io.BytesIO(store.get(segment.path))).read().to_pylist()
        rows.setdefault(segment.predicate, []).extend({**row, "node": segment.node} for row in found)
    return {key: each for predicate in rows for key, each in stored(rows[predicate], predicate).items()}


@pytest.mark.slow
def test_tables_equal_the_golden_ones(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """Over several runs and batches the tables hold the maximal intervals, and all that they hold is acknowledged.

    A new checkpoint changes nothing of that, and Spark reads what Parquet holds.
    """
    tables, expected = tmp_path / "tables", []
    for number in range(2):
        paths = [fill(node, facts(10 * number + place, 40)) for place, node in enumerate(("n1", "2"))]
        expected += rows_of(*paths)
        with Ingestion(paths, os.fspath(tables), os.fspath(tmp_path / f"checkpoint-{number}"), rows=50) as ingestion:
            ingestion.run(spark, once=True)
        assert read_tables(os.fspath(tables)) == golden(expected)
        for path in paths:
            with OutboxReader(path) as reader:
                assert reader.first() == reader.last() + 1
    frame = spark.read.format("tidelog").option("tables", os.fspath(tables)).option("predicate", "hot").load()
    plain = spark.read.option("basePath", tables / "_data" / "hot").parquet(*table_files(os.fspath(tables))["hot"])
    assert plain.select(frame.columns).exceptAll(frame).count() == 0
    assert stored([row.asDict() for row in frame.collect()], "hot") == {
        key: each for key, each in golden(expected).items() if key[0] == "hot"
    }


@pytest.mark.slow
def test_named_fields_are_columns(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """The fields that are named become a struct, merged as such across batches, and stay with the tables."""
    path = fill("n1", [("hot", ("a", 1), 0, 4), ("hot", ("a", 2), 1, 1)])
    named = {"hot": parse_fields("sensor: text, value: number")}
    tables, checkpoint = os.fspath(tmp_path / "tables"), os.fspath(tmp_path / "checkpoint")
    with Ingestion([path], tables, checkpoint, fields=named) as ingestion:
        ingestion.run(spark, once=True)
    fill("n1", [("hot", ("a", 1), 4, 6)])
    with Ingestion([path], tables, checkpoint, fields=named) as ingestion:
        ingestion.run(spark, once=True)
    frame = spark.read.format("tidelog").options(tables=tables, predicate="hot").load()
    assert sorted(map(tuple, frame.select("arguments.*", "start", "end", "first_seq", "last_seq", "node").collect())) == [
        ("a", 1.0, "0", "3", 1, 3, "n1"),
        ("a", 2.0, "0", "1", 2, 2, "n1"),
    ]
    with pytest.raises(SpecError, match="do not agree on the fields of `hot`"):
        Ingestion([path], tables, checkpoint).__enter__()


@pytest.mark.long
@pytest.mark.parametrize("is_remote", [False, True])
def test_killed_at_random_points(fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool) -> None:
    """The driver, and with it all of Spark, killed while it writes: in the end the tables are the golden ones.

    So it is in a folder, and in an object store.
    """
    if not is_remote:
        _kill_and_compare(fill, tmp_path, os.fspath(tmp_path / "tables"))
        return
    with bucket(monkeypatch) as uri:
        _kill_and_compare(fill, tmp_path, uri)


def _kill_and_compare(fill: Fill, folder: Path, tables: str) -> None:
    paths = [fill(node, facts(place, 300)) for place, node in enumerate(("n1", "n2"))]
    expected = golden(rows_of(*paths))
    draw = random.Random()
    for kills in range(3):
        target = _version(tables) + draw.randrange(1, 3)
        process = _start(paths, tables, folder)
        if kills < 2:
            eventually(partial(_has_come_far, tables, target, process))
            time.sleep(draw.random())  # a drawn moment of the next commit
            if kills:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        told = process.communicate()[0]
    assert process.returncode == 0, told
    assert told == ""
    assert read_tables(tables) == expected
    for path in paths:
        with OutboxReader(path) as reader:
            assert reader.first() == reader.last() + 1


def _start(paths: Sequence[str], tables: str, folder: Path) -> subprocess.Popen[str]:
    places = ["--to", tables, "--checkpoint", folder / "checkpoint"]
    command = [
        sys.executable,
        "-m",
        "tidelog",
        "spark",
        "ingest",
        "--from",
        *paths,
        *places,
        "--rows",
        "100",
        "--once",
        "--cores",
        "1",
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True, env=environment()
    )


def _has_come_far(tables: str, version: int, process: subprocess.Popen[str]) -> bool:
    """Whether the tables have a version by now, or the process that writes them has ended before."""
    return _version(tables) >= version or process.poll() is not None


def _version(tables: str) -> int:
    try:
        return newest(open_store(tables)).version
    except SpecError:  # there are none yet
        return 0


def _schema(node: str = "n1", unit: str | None = "1", fields: Sequence[str] = ()) -> OutboxSchema:
    predicate = OutboxPredicate(1, tuple(fields), ("text",) * len(fields))
    return OutboxSchema(node, node, "rational", unit, {"p": predicate})


@pytest.mark.parametrize(
    ("schemas", "fields", "manifest", "message"),
    [
        (
            [_schema(), _schema("n2", fields=["a"])],
            "",
            Manifest(),
            "do not agree on the fields of `p`: none and \\(a: text\\)",
        ),
        ([_schema()], "a, b", Manifest(), "`p` takes 1 arguments, and 2 fields are named"),
        ([_schema(unit=None)], "", Manifest(1, dates=True), "times in the tables are dates, these are numbers"),
        (
            [_schema()],
            "",
            Manifest(1, dates=True, nodes={"n1": NodeTime("integer", "1")}),
            "counts time in another way",
        ),
        ([_schema()], "", Manifest(1, dates=True, tables={"p": TableFields(("a",), ("text",))}), "do not agree"),
    ],
)
def test_columns_that_do_not_agree(schemas: list[OutboxSchema], fields: str, manifest: Manifest, message: str) -> None:
    """Gateways that do not agree with each other, or with the tables, are told apart before anything is written."""
    with pytest.raises(SpecError, match=message):
        layout_of(schemas, {"p": parse_fields(fields)} if fields else {}, manifest)


def test_changes_make_no_tables(fill: Fill, tmp_path: Path) -> None:
    """A table holds facts, and what has only begun is none yet: an outbox of changes is refused before anything is made."""
    path = fill("n1", [], holds_changes=True)
    with pytest.raises(SpecError, match="holds changes: only `--emit intervals`, `final` and `points` fill it with facts"):
        Ingestion([path], os.fspath(tmp_path / "tables"), os.fspath(tmp_path / "checkpoint")).__enter__()
    assert not (tmp_path / "tables").exists()


def test_checkpoint_and_tables_belong_together() -> None:
    """A checkpoint that is ahead of the tables is refused; one that is behind them, and a new one, go on."""
    manifest = Manifest(version=9, checkpoint="a", batch=4)
    for checkpoint, batch in (("a", 3), ("a", 4), ("a", 5), ("b", 0)):
        check_order(manifest, checkpoint, batch)
    for checkpoint, batch in (("a", 6), ("b", 1)):
        with pytest.raises(ConnectorError, match=f"the checkpoint is at batch {batch}, and the tables lack"):
            check_order(manifest, checkpoint, batch)


def test_predicates_without_fields_are_plain() -> None:
    """A predicate whose fields nobody names has an array of JSON texts."""
    assert layout_of([_schema()], {}, Manifest()).arguments == {"p": PLAIN}


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
    ],
)
def test_command_line_mistakes(
    options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake on the command line is told in one line, with exit code 2, before Spark is started."""
    monkeypatch.chdir(tmp_path)
    assert main(["spark", "ingest", "--to", "t", "--checkpoint", "c", *options]) == 2
    assert message in capfd.readouterr().err
