"""Tables of Delta and Iceberg: a batch that comes again counts once.

The jar of Iceberg cannot be had here. For it stand its tables of snapshots, and a writer that fills them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import Mock

import pyarrow as pa
import pytest
from lake.buckets import bucket

from tests.spark.test_run_delivery import TOLD, Said, facts, frame
from tidelog.connectors.lake.arguments import PLAIN
from tidelog.connectors.lake.delta.lake import open_delta_lake, open_table
from tidelog.connectors.lake.delta.library import deltalake
from tidelog.connectors.spark import read_delta
from tidelog.connectors.spark.running.outputs.sinks import Tables
from tidelog.connectors.spark.running.outputs.table_sinks import IcebergTables, table_sink
from tidelog.connectors.spark.running.outputs.taken import TableRows
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow


def held(place: Path | str, predicate: str) -> list[tuple[Any, ...]]:
    """The rows of a table of Delta Lake, as a reader of its own sees them."""
    table = open_table(open_delta_lake(os.fspath(place)).uri(predicate))
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    found = [(*_values(each["arguments"]), each["start"], each["end"], str(each["date"])) for each in rows]
    return sorted(found, key=str)


def _values(arguments: Any) -> list[Any]:
    return list(arguments.values()) if isinstance(arguments, dict) else list(arguments)


@pytest.mark.parametrize("is_remote", [False, True])
def test_delta_has_a_batch_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool
) -> None:
    """A batch has the stream's name and its number, by which it is known again; two streams add to one table."""

    def check(place: str) -> None:
        for stream, batch, told in (
            ("c1", 0, TOLD),
            ("c1", 1, TOLD[:2]),
            ("c1", 1, TOLD[:2]),
            ("c2", 0, TOLD[:1]),
            ("c1", 2, []),
        ):
            Said([f"delta:{place}"], checkpoint=stream).delivery.deliver(frame(spark, facts(told)), batch)
        assert len(held(place, "hot")) == 4 + 2 + 1
        assert held(place, "a b") == [('"Ä"', None, None, "None")]
        assert held(place, "temp") == [("s1", 2.5, "4", "4", "1970-01-01")]
        assert open_delta_lake(place).predicates() == ["a b", "hot", "temp"]

    if is_remote:
        with bucket(monkeypatch) as uri:
            check(uri)
    else:
        check(os.fspath(tmp_path / "tables"))


def test_delta_has_history_in_new_tables(spark: SparkSession, tmp_path: Path) -> None:
    """History is no transaction of a stream's, also has empty tables, and is refused where a table is there."""
    place = tmp_path / "tables"
    said = Said([f"delta:{place}"])
    said.delivery.open(spark)
    said.delivery.deliver(frame(spark, facts(TOLD)))
    assert [row[:4] for row in held(place, "hot")] == [
        ('"s1"', "2.5", "0", "4"),
        ('"s1"', "2.5", "2", "4"),
        ('"s10"', "2.5", "2", "4"),
        ('"s2"', "3", "2", "5"),
    ]
    assert held(place, "off") == []
    with pytest.raises(SpecError, match=r"is there already: history goes to a new one"):
        Said([f"delta:{place}"]).delivery.open(spark)


def test_delta_takes_new_fields(spark: SparkSession, tmp_path: Path) -> None:
    """Another program adds a field to a table that is there; what it cannot add is named, and so is a table of others."""
    place = tmp_path / "tables"
    program = "timeline rational, unit 1 s, resolution 1.\ninput hot({}).\noutput hot.\n"
    for number, (fields, row) in enumerate((("s: text", ("a",)), ("s: text, limit: integer", ("b", 3)))):
        said = Said([f"delta:{place}"], program.format(fields), checkpoint=f"c{number}")
        said.delivery.deliver(frame(spark, facts([("hot", row, 0, 0)])), 0)
    assert [row[:2] for row in held(place, "hot")] == [("a", None), ("b", 3)]
    said = Said([f"delta:{place}"], program.format("s: number"), checkpoint="c3")
    with pytest.raises(SpecError, match="field `s` of `hot` is text in the table, and number of the program"):
        said.delivery.deliver(frame(spark, facts([("hot", (1,), 0, 0)])), 0)
    deltalake().write_deltalake(place / "cold", pa.table({"a": [1]}))
    said = Said([f"delta:{place}"], program.replace("hot", "cold").format("s: text"), checkpoint="c3")
    with pytest.raises(SpecError, match="has the columns a, and is none of tidelog's"):
        said.delivery.deliver(frame(spark, facts([("cold", ("a",), 0, 0)])), 0)


def test_delta_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads a table without a jar, with its days, also where fields came later; what is none is told."""
    place = tmp_path / "odd place"
    program = "timeline rational, unit 1 s, resolution 1.\ninput hot({}).\noutput hot.\n"
    for number, (fields, row) in enumerate((("s: text", ("a",)), ("s: text, limit: integer", ("b", 3)))):
        said = Said([f"delta:{place}"], program.format(fields), checkpoint=f"c{number}")
        said.delivery.deliver(frame(spark, facts([("hot", row, 0, 200_000 * number)])), 0)
    rows = read_delta(spark, f"{place}/hot").selectExpr("arguments.*", "end", "cast(date as string)").collect()
    assert sorted(map(tuple, rows)) == [("a", None, "0", "1970-01-01"), ("b", 3, "100000", "1970-01-02")]
    with pytest.raises(SpecError, match="is no table of Delta Lake: it has no log"):
        read_delta(spark, os.fspath(place))
    with pytest.raises(SpecError, match="tables of Delta Lake are read in a folder, or at `s3://BUCKET/PATH`"):
        read_delta(spark, "hdfs://plant/hot")


def test_what_is_missing_is_named(spark: SparkSession) -> None:
    """Without the jar, or the catalog, or at an unknown place, a run is refused before it reads anything."""
    with pytest.raises(SpecError, match="tables are in a folder of this machine, or at `s3://BUCKET/PATH`"):
        Said(["delta:hdfs://plant/tables"])
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


def with_spark(rows: Rows) -> TableRows:
    """Rows of a table that are with Spark."""
    found = Mock(spec=TableRows)
    found.frame.return_value, found.here.return_value = rows, None
    return cast("TableRows", found)


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
        sink.write(with_spark(Rows(lake, 5)), predicate, batch, PLAIN)
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
    IcebergTables("lake.plant", "").write(with_spark(Rows(lake, 5)), "hot", None, PLAIN)
    assert lake.snapshots == {"`lake`.`plant`.`hot`": [{"added-records": "5"}]}


def test_where_tables_are() -> None:
    """A checkpoint belongs to its tables: their format counts, and where they are."""
    places = [Tables("t"), Tables("t", "delta"), Tables("lake.t", "iceberg"), Tables("s3a://b/t", "delta")]
    here = f"file://{os.path.abspath('t')}"
    assert [each.place for each in places] == [here, f"delta:{here}", "iceberg:lake.t", "delta:s3a://b/t"]
