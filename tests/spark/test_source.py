"""The data source: what Spark reads of an outbox, in batches and in streams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from tidelog.connectors.lake.gateways.origins import Origin
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.spark import TidelogDataSource
from tidelog.connectors.spark.source import OutboxStreamReader, Reading, share
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

from .conftest import Fill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows(**options: str) -> list[dict[str, Any]]:
    """What a batch read gives, without Spark."""
    source = TidelogDataSource(CaseInsensitiveDict(options))
    reader = source.reader(source.schema())
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_every_column(fill: Fill) -> None:
    """Each fact is there with its number, arguments, exact and computable times, horizon, clock and node."""
    path = fill("n1", [("hot", ("s 1", 21.5), 2, 5), ("on", (), NEG, POS)], frontier=9)
    emitted = [datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)] * 2
    assert rows(path=path) == [
        {
            "node": "n1",
            "seq": 1,
            "predicate": "hot",
            "arguments": ['"s 1"', "21.5"],
            "start": "1",
            "end": "3",
            "start_time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "end_time": datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC),
            "start_open": False,
            "end_open": True,
            "horizon": "5",
            "emitted_at": emitted[0],
        },
        {
            "node": "n1",
            "seq": 2,
            "predicate": "on",
            "arguments": [],
            "start": None,
            "end": None,
            "start_time": None,
            "end_time": None,
            "start_open": True,
            "end_open": True,
            "horizon": "5",
            "emitted_at": emitted[1],
        },
    ]


def test_times_without_unit_are_numbers(fill: Fill) -> None:
    """Where one program does not say what a unit is, times are numbers."""
    path = fill("n1", [("p", ("a",), 7, 9)], "timeline integer.\noutput p.\np(X) :- q(X).\n")
    other = fill("n2", [("seen", ("a",), 0, 1)])
    found = [(row["start_time"], row["end_time"], row["end"]) for row in rows(path=f"{path},{other}")]
    assert found == [(7.0, 9.0, "9"), (0.0, 1.0, "1")]


def test_dates_that_no_calendar_has(fill: Fill) -> None:
    """A time beyond the year 9999 keeps its exact text, and has no date."""
    path = fill("n1", [("seen", ("a",), 0, 1 << 40)])
    assert [(row["end"], row["end_time"]) for row in rows(path=path)] == [(str(1 << 39), None)]


def test_fields_make_a_struct(fill: Fill) -> None:
    """One predicate alone, with fields that the reader names, has a struct of typed arguments."""
    path = fill("n1", [("seen", ("s1",), 0, 0), ("hot", ("s1", 21), 0, 0)])
    found = rows(path=path, predicate="hot", fields="sensor: text, value: number")
    assert [(row["seq"], row["arguments"]) for row in found] == [(2, {"sensor": "s1", "value": 21.0})]


def test_declared_fields_make_a_struct(fill: Fill) -> None:
    """The fields that the program declares are those of the struct."""
    program = "input temp(sensor: text, value: integer, ok: boolean, x).\noutput temp.\n"
    path = fill("n1", [("temp", ("s1", 3, "true", "y"), 0, 0)], program)
    assert [row["arguments"] for row in rows(path=path, predicate="temp")] == [
        {"sensor": "s1", "value": 3, "ok": True, "x": '"y"'}
    ]


def test_arguments_of_another_type_are_told(fill: Fill) -> None:
    """An argument that is not of the type that the reader names is an error with the fact's place."""
    path = fill("n1", [("hot", ("s1", "much"), 0, 0)])
    told = 'fact 1 of node `n1`, `hot`: field `value` is declared as number, got "much"'
    with pytest.raises(ConnectorError, match=told):
        rows(path=path, predicate="hot", fields="sensor: text, value: number")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": ""}, "say where the outbox is"),
        ({"path": "/nowhere"}, "there is no outbox in `/nowhere`"),
        ({"address": "udp:9"}, "`udp:9` is not of the form `http://HOST:PORT/outbox/NAME`"),
        ({"predicate": "warm"}, "no outbox holds `warm`; there are `hot`, `on`, `seen`"),
        ({"fields": "a"}, "give `predicate`, too"),
        ({"predicate": "hot", "fields": "a: text"}, "`hot` takes 2 arguments, and `fields` names 1"),
        ({"predicate": "hot", "fields": "a: tekst, b"}, "`tekst` is no type"),
        ({"predicate": "hot", "fields": "a, a"}, "field `a` is there twice"),
        ({"predicate": "hot", "fields": "a b"}, "expected fields such as"),
    ],
)
def test_wrong_options_are_told(fill: Fill, options: dict[str, str], message: str) -> None:
    """An option that cannot be understood is named, with what is wrong."""
    with pytest.raises(SpecError, match=message):
        rows(**{"path": fill("n1", []), **options})


@pytest.mark.parametrize("options", [{"maxRowsPerBatch": "0"}, {"maxRowsPerBatch": "x"}, {"acknowledge": "maybe"}])
def test_wrong_stream_options_are_told(fill: Fill, options: dict[str, str]) -> None:
    """So are those of streams."""
    source = TidelogDataSource(CaseInsensitiveDict({"path": fill("n1", []), **options}))
    with pytest.raises(SpecError, match=next(iter(options))):
        source.streamReader(source.schema())


def test_one_outbox_is_not_read_twice(fill: Fill) -> None:
    """The same outbox twice, and two gateways of one name, are refused."""
    path = fill("n1", [])
    with pytest.raises(SpecError, match="are one outbox"):
        rows(path=f"{path},{path}/.")


def test_shares_are_fair_and_full() -> None:
    """A limit is shared equally, and what one does not need goes to the others."""
    assert share({"a": 0, "b": 7, "c": 100}, 20) == {"a": 0, "b": 7, "c": 13}
    assert share({"a": 5, "b": 5}, 3) == {"a": 2, "b": 1}
    assert share({}, 3) == {}


class _Gateway(Origin):
    """The outbox of a gateway that is out of reach at times."""

    failures: Iterator[bool] = iter(())
    is_remote = True

    def open(self) -> Any:
        if next(type(self).failures, False):
            raise ConnectorError("the gateway is out of reach")
        return OutboxReader(self.place)


def test_gateway_out_of_reach_holds_back_nobody(fill: Fill) -> None:
    """A stream goes on with the other outboxes, and a batch waits for the gateway that it needs, within bounds."""
    gateway, other = _Gateway(fill("n1", [("on", (), 0, 0)])), Origin(fill("n2", [("on", (), 0, 0)]))
    reading = Reading([gateway, other])
    reader = OutboxStreamReader(reading, None, acknowledge=True)
    start = reader.initialOffset()
    _Gateway.failures = iter([True])
    mine, its = reading.schemas[1].identity, reading.schemas[0].identity
    assert reader.latestOffset() == dict(sorted({mine: 1, its: 0}.items()))
    parts = reader.partitions(start, {mine: 1, its: 1})
    _Gateway.failures = iter([True])
    assert sum(batch.num_rows for part in parts for batch in reader.read(part)) == 2
    _Gateway.failures = iter([True])
    reader.commit({mine: 1, its: 1})
    with OutboxReader(other.place) as outbox:
        assert outbox.first() == 2


def test_full_outbox_is_acknowledged_though_nothing_comes(fill: Fill) -> None:
    """Where there is nothing new, what is done is acknowledged, since a full outbox would bring nothing new."""
    origin = Origin(fill("n1", [("on", (), 0, 0)]))
    reader = OutboxStreamReader(Reading([origin]), None, acknowledge=True)
    start, end = reader.initialOffset(), reader.latestOffset()
    reader.partitions(start, end)
    assert reader.latestOffset() == end
    with OutboxReader(origin.place) as outbox:
        assert outbox.first() == 2


def test_facts_that_are_gone_are_told(fill: Fill) -> None:
    """A stream that is behind the acknowledgement of another one, or before an older copy, stops with the reason."""
    origin = Origin(fill("n1", [("on", (), 0, 0)] * 3))
    reading = Reading([origin])
    identity = reading.schemas[0].identity
    with OutboxReader(origin.place) as outbox:
        outbox.acknowledge(2)
    reader = OutboxStreamReader(reading, None, acknowledge=True)
    with pytest.raises(ConnectorError, match="facts up to 2 are acknowledged, and gone"):
        list(reader.read(reader.partitions({identity: 0}, {identity: 3})[0]))
    reader.partitions({identity: 3}, {identity: 7})
    with pytest.raises(ConnectorError, match="an older copy has been put in its place"):
        reader.latestOffset()


@pytest.mark.slow
def test_spark_reads_outboxes_as_partitions(spark: SparkSession, fill: Fill) -> None:
    """Spark reads several outboxes together, each as a partition, and a batch read leaves them as they are."""
    paths = [fill(node, [("hot", (node, 1), 2, 4)]) for node in ("n1", "n2", "n3")]
    frame = spark.read.format("tidelog").load(",".join(paths))
    assert frame.rdd.getNumPartitions() == 3
    start = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC).replace(tzinfo=None)
    found = frame.selectExpr("node", "seq", "arguments", "start", "cast(start_time as string)").collect()
    assert sorted(map(tuple, found)) == [(node, 1, [f'"{node}"', "1"], "1", str(start)) for node in ("n1", "n2", "n3")]
    for path in paths:
        with OutboxReader(path) as reader:
            assert reader.first() == 1


@pytest.mark.slow
def test_stream_reads_on_and_acknowledges(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """A stream takes each fact once, in batches within the limit, goes on after a restart, and acknowledges."""
    path = fill("n1", [("seen", (number,), 0, 0) for number in range(5)])
    assert _stream(spark, tmp_path, path, maxRowsPerBatch="2") == [[1, 2], [3, 4], [5]]
    with OutboxReader(path) as reader:
        assert reader.first() == 6
    fill("n1", [("seen", (number,), 0, 0) for number in range(3)])
    other = fill("n2", [("seen", ("x",), 0, 0)])
    assert _stream(spark, tmp_path, f"{path},{other}", maxRowsPerBatch="3") == [[1, 6, 7], [8]]


@pytest.mark.slow
def test_failed_batch_comes_again(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """A batch that failed is not acknowledged, and has the same facts when it is run again; `availableNow` ends."""
    path = fill("n1", [("seen", (number,), 0, 0) for number in range(3)])

    def fail(frame: DataFrame, number: int) -> None:
        raise RuntimeError("on purpose")

    writer = _read_stream(spark, path, maxRowsPerBatch="2").writeStream.foreachBatch(fail)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    with pytest.raises(Exception, match="on purpose"):
        writer.start().awaitTermination()
    with OutboxReader(path) as reader:
        assert reader.first() == 1
    fill("n1", [("seen", (3,), 0, 0)])
    assert _stream(spark, tmp_path, path) == [[1, 2], [3, 4]]


def _read_stream(spark: SparkSession, path: str, **options: str) -> DataFrame:
    return spark.readStream.format("tidelog").options(**options).load(path)


def _stream(spark: SparkSession, folder: Path, path: str, **options: Any) -> list[list[int]]:
    """Run a stream until there is nothing new; the numbers of the facts of each batch."""
    batches: list[list[int]] = []
    query = (
        _read_stream(spark, path, **options)
        .writeStream.foreachBatch(lambda frame, _: batches.append(sorted(row.seq for row in frame.collect())))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="50 milliseconds")
        .start()
    )
    query.processAllAvailable()
    query.processAllAvailable()
    query.stop()
    return batches
