"""Tables of Delta and Iceberg: what is asked of Spark for them, and that a batch that comes again counts once.

Their jars cannot be had here. For Delta stands a data source of Python's, which passes over what it has as Delta says it
does; for Iceberg stand its tables of snapshots, and a writer that fills them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from tests.spark.test_run_delivery import TOLD, Said, facts, frame
from tidelog.connectors.spark.running.outputs.sinks import Tables
from tidelog.connectors.spark.running.outputs.table_sinks import IcebergTables, table_sink
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture
def delta(spark: SparkSession) -> None:
    """A format `delta`: a folder has its rows, and the versions that it has of each application."""

    @dataclass
    class Message(WriterCommitMessage):
        rows: int

    class Writer(DataSourceArrowWriter):
        def __init__(self, options: dict[str, str], overwrite: bool) -> None:
            self.options, self.overwrite = dict(options), overwrite

        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            return Message(sum(batch.num_rows for batch in iterator))

        def commit(self, messages: list[Any]) -> None:
            log = Path(self.options["path"].removeprefix("file://")) / "_delta_log"
            log.mkdir(parents=True, exist_ok=True)
            app, version = self.options.get("txnappid", ""), int(self.options.get("txnversion", -1))
            before = [json.loads(file.read_text()) for file in sorted(log.iterdir())]
            if app and any(each["app"] == app and each["version"] >= version for each in before):
                return
            entry = {"app": app, "version": version, "rows": sum(message.rows for message in messages)}
            (log / f"{len(before):05}").write_text(json.dumps(entry | {"overwrite": self.overwrite}))

    class Delta(DataSource):
        @classmethod
        def name(cls) -> str:
            return "delta"

        def writer(self, schema: Any, overwrite: bool) -> Writer:
            return Writer({key.lower(): value for key, value in self.options.items()}, overwrite)

    spark.dataSource.register(Delta)


def log(tmp_path: Path, predicate: str) -> list[tuple[str, int, int]]:
    """The application, the version and the number of rows of each commit of a table."""
    folder = tmp_path / "tables" / predicate / "_delta_log"
    entries = [json.loads(file.read_text()) for file in sorted(folder.iterdir())]
    assert not any(entry["overwrite"] for entry in entries)
    return [(entry["app"], entry["version"], entry["rows"]) for entry in entries]


@pytest.mark.usefixtures("delta")
def test_delta_has_a_batch_once(spark: SparkSession, tmp_path: Path) -> None:
    """A batch has the stream's name and its number, by which Delta knows it again; two streams add to one table."""
    sink = [f"delta:{tmp_path}/tables"]
    for stream, batch, told in (
        ("c1", 0, TOLD),
        ("c1", 1, TOLD[:2]),
        ("c1", 1, TOLD[:2]),
        ("c2", 0, TOLD[:1]),
        ("c1", 2, []),
    ):
        Said(sink, checkpoint=stream).delivery.deliver(frame(spark, facts(told)), batch)
    assert log(tmp_path, "hot") == [("c1", 0, 4), ("c1", 1, 2), ("c2", 0, 1)]
    assert log(tmp_path, "temp") == [("c1", 0, 1)]
    assert not (tmp_path / "tables/off").exists()


@pytest.mark.usefixtures("delta")
def test_delta_has_history_in_new_tables(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """History is no transaction of a stream's, and is refused where a table is there."""
    monkeypatch.setattr("tidelog.connectors.spark.running.outputs.table_sinks._check_class", lambda *_: None)
    said = Said([f"delta:{tmp_path}/tables"])
    said.delivery.open(spark)
    said.delivery.deliver(frame(spark, facts(TOLD)))
    assert log(tmp_path, "hot") == [("", -1, 4)]
    with pytest.raises(SpecError, match=r"is there already: history goes to a new one"):
        Said([f"delta:{tmp_path}/tables"]).delivery.open(spark)


def test_what_is_missing_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """Without the jars, or the catalog, a run is refused before it reads anything, with what to pass."""
    with pytest.raises(SpecError, match=r"io.delta.sql.DeltaSparkSessionExtension is missing: .*--packages io.delta:"):
        Said([f"delta:{tmp_path}/tables"]).delivery.open(spark)
    with pytest.raises(SpecError, match=r"no catalog `lake`: name it with `--conf spark.sql.catalog.lake="):
        Said(["iceberg:lake.plant"]).delivery.open(spark)
    spark.conf.set("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    try:
        with pytest.raises(SpecError, match=r"SparkCatalog is missing: .*--packages org.apache.iceberg:"):
            Said(["iceberg:lake.plant"]).delivery.open(spark)
    finally:
        spark.conf.unset("spark.sql.catalog.lake")


class Lake:
    """Tables of Iceberg: of each its snapshots' summaries. It stands for a session, its catalog and its writers."""

    def __init__(self, spark: SparkSession) -> None:
        self.snapshots: dict[str, list[dict[str, str]]] = {}
        self.catalog = self
        self._spark = spark

    def tableExists(self, name: str) -> bool:
        return name in self.snapshots

    def table(self, name: str) -> DataFrame:
        summaries = self.snapshots[name.removesuffix(".`snapshots`")]
        return self._spark.createDataFrame([(each,) for each in summaries], "summary map<string,string>")


class Rows:
    """Rows that are written to a lake."""

    def __init__(self, lake: Lake, number: int) -> None:
        self.sparkSession, self._number = lake, number

    def limit(self, number: int) -> Rows:
        return Rows(self.sparkSession, min(self._number, number))

    def writeTo(self, name: str) -> Rows:
        self._name, self._summary = name, {"added-records": str(self._number)}
        return self

    def using(self, name: str) -> Rows:
        assert name == "iceberg"
        return self

    def option(self, name: str, value: str) -> Rows:
        assert name.startswith("snapshot-property.")
        self._summary[name.removeprefix("snapshot-property.")] = value
        return self

    def create(self) -> None:
        assert self._name not in self.sparkSession.snapshots
        self.sparkSession.snapshots[self._name] = [self._summary]

    def append(self) -> None:
        self.sparkSession.snapshots[self._name].append(self._summary)


def test_iceberg_has_a_batch_once(spark: SparkSession) -> None:
    """The summary of a snapshot says which batch of which stream it has, and a batch that is there is not added again."""
    lake = Lake(spark)
    for stream, predicate, batch in (
        ("c1", "hot", 0),
        ("c1", "hot", 0),
        ("c1", "a`b", 0),
        ("c1", "hot", 10),
        ("c1", "hot", 9),
        ("c2", "hot", 2),
        ("c1", "hot", 11),
    ):
        sink = table_sink(Tables("lake.plant.cold", "iceberg"), stream)
        sink.write(cast("DataFrame", Rows(lake, 5)), predicate, batch)
    own = ("tidelog.checkpoint", "tidelog.batch", "added-records")
    found = {name: [tuple(map(each.get, own)) for each in told] for name, told in lake.snapshots.items()}
    assert found == {
        "`lake`.`plant`.`cold`.`hot`": [
            (None, None, "0"),
            ("c1", "0", "5"),
            ("c1", "10", "5"),
            ("c2", "2", "5"),
            ("c1", "11", "5"),
        ],
        "`lake`.`plant`.`cold`.`a``b`": [(None, None, "0"), ("c1", "0", "5")],
    }


def test_iceberg_has_history_in_new_tables(spark: SparkSession) -> None:
    """History makes the table with its rows."""
    lake = Lake(spark)
    IcebergTables("lake.plant", "").write(cast("DataFrame", Rows(lake, 5)), "hot", None)
    assert lake.snapshots == {"`lake`.`plant`.`hot`": [{"added-records": "5"}]}


def test_where_tables_are() -> None:
    """A checkpoint belongs to its tables: their format counts, and where they are."""
    places = [Tables("t"), Tables("t", "delta"), Tables("lake.t", "iceberg"), Tables("s3a://b/t", "delta")]
    here = f"file://{os.path.abspath('t')}"
    assert [each.place for each in places] == [here, f"delta:{here}", "iceberg:lake.t", "delta:s3a://b/t"]
