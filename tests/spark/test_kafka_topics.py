"""Topics of Kafka: what Spark's own connector is told, and what becomes of the records that it brings and takes.

The connector is a jar that comes from elsewhere. So records here come from a frame with its columns, and go to one.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import tidelog
from spark.packs import facts_in
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.inputs.kafka_records import maps_of, options_of, records_as_parcels
from tidelog.connectors.spark.running.job import job_of
from tidelog.connectors.spark.running.kafka import parse_topics
from tidelog.connectors.spark.running.outputs.delivery import Delivery
from tidelog.connectors.spark.running.outputs.kafka_sink import KafkaRecords
from tidelog.connectors.spark.running.outputs.sinks import Records, parse_sinks
from tidelog.connectors.spark.running.parcels import LETTER, OUT, Parcels, letter_of
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = (
    "timeline integer, unit 1 s.\ninput temp(sensor: text, celsius: number).\noutput hot.\nhot(S) :- temp(S, C), C > 30.\n"
)
COLUMNS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField(
            "headers", ArrayType(StructType([StructField("key", StringType(), False), StructField("value", BinaryType())]))
        ),
    ]
)
"""The columns of Spark's connector, with `includeHeaders`."""
AT = datetime.fromtimestamp(100, UTC)


def record(
    offset: int, value: bytes | None, key: bytes | None = None, partition: int = 0, **headers: bytes
) -> tuple[Any, ...]:
    return (key, value, "plant", partition, offset, AT, 0, list(headers.items()) or None)


def taken(spark: SparkSession, spec: str, *records: tuple[Any, ...]) -> tuple[list[Record], list[tuple[str, str]]]:
    """The facts of these records, and what is said of those that are none."""
    job = job_of(tidelog.compile(PROGRAM), 2)
    item = parse_input(spec, 0)
    frame = spark.createDataFrame(list(records), COLUMNS).coalesce(1)
    rows = records_as_parcels(frame, item, job, maps_of(item, job.plan.schema)).collect()
    letters = [letter_of(bytes(row.row)) for row in rows if row.kind == LETTER]
    return sorted(facts_in(rows)), [(letter.place, letter.reason) for letter in letters]


def test_values_are_lines(spark: SparkSession) -> None:
    """Each value is a fact as a line; of what is none, the place is the topic, the partition and the offset.

    One without a value is passed over, as an empty line is.
    """
    facts, letters = taken(
        spark,
        "kafka:k:9092/plant",
        record(7, b'{"temp":{"sensor":"a","celsius":31},"time":5}'),
        record(8, b"oh"),
        record(11, None),
        record(12, b'{"temp":{"sensor":"b","celsius":40},"time":6}', b"key"),
        record(3, b'{"predicate":"temp","args":["c",50],"time":7}', partition=1),
    )
    assert facts == [("temp", ("a", 31), 5, 5), ("temp", ("b", 40), 6, 6), ("temp", ("c", 50), 7, 7)]
    assert [place for place, _ in letters] == ["kafka:plant:0:8"]


def test_values_are_facts_as_text(spark: SparkSession) -> None:
    """The other format of lines is named in front, as it is everywhere."""
    assert taken(spark, "facts+kafka:k:9092/plant", record(0, b"temp(a,31)@5"))[0] == [("temp", ("a", 31), 5, 5)]


def test_maps_take_records_as_a_gateway_does(spark: SparkSession, tmp_path: Path) -> None:
    """Topic, key, headers and Kafka's own time are what a gateway's maps have; a key that is no text is told."""
    maps = tmp_path / "maps.toml"
    maps.write_text(
        """
[[map]]
topic = "plant"
predicate = "temp"
fields = { sensor = { property = "key" }, celsius = "value.now" }
time = "arrival"
"""
    )
    spec = f"kafka:k:9092/plant?map={maps}"
    facts, letters = taken(spark, spec, record(1, b'{"value":{"now":31}}', b"a"), record(2, b"{}", b"\xff"))
    assert facts == [("temp", ("a", 31), 100, 100)]
    assert letters == [("kafka:plant:0:2", "its key, or a header, is not UTF-8")]


def test_what_the_connector_is_told(tmp_path: Path) -> None:
    """Topics, where to begin, how much a batch takes, and how the cluster is reached, by a file as Kafka's tools take it."""
    config = tmp_path / "client.properties"
    config.write_text("# how\nsecurity.protocol = SASL_SSL\nsasl.mechanism=PLAIN\n")
    item = parse_input(f"kafka:k1:9092,k2:9093/plant,yard?start=latest&config={config}", 0)
    told = options_of(item, streaming=True, rows=500)
    assert told == {
        "kafka.bootstrap.servers": "k1:9092,k2:9093",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "subscribe": "plant,yard",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "500",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }
    history = options_of(item, streaming=False)
    assert history["startingOffsets"] == "earliest"
    assert "maxOffsetsPerTrigger" not in history


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("kafka:k/plant", "expected a broker as `HOST:PORT`, got `k`"),
        ("kafka:k:9092", "names no topic: expected `kafka:HOST:PORT/TOPIC`"),
        ("kafka:k:9092/a+b", "names no topic"),
        ("csv+kafka:k:9092/plant", "has the format `csv`: records hold facts as jsonl or facts"),
        ("kafka:k:9092/plant?by=x", "has an unknown option `by`: the options are start, map, config"),
        ("kafka:k:9092/plant?start=5", "`start` is `earliest` or `latest`, got `5`"),
        ("kafka:k:9092/plant?start=latest&start=latest", "`start` is told once"),
        ("kafka:k:9092/plant?config=nowhere", "cannot read `nowhere`: No such file or directory"),
    ],
)
def test_what_is_no_topic(spec: str, message: str) -> None:
    """A SPEC that cannot be is refused by name, before Spark is started."""
    with pytest.raises(SpecError, match=message.replace("?", r"\?").replace("+", r"\+")):
        parse_input(spec, 0)


def test_what_answers_cannot_go_to() -> None:
    """Answers have one topic, and a key that the outputs have."""
    plan = tidelog.compile(PROGRAM)
    for spec, message in (
        ("kafka:k:9092/a,b", "answers go to one topic"),
        ("kafka:k:9092/a?start=latest", "unknown option `start`"),
    ):
        with pytest.raises(SpecError, match=message):
            parse_sinks([spec], Schema(plan.timeline), iso=False, is_stream=True)
    with pytest.raises(SpecError, match="nothing"):
        Delivery(
            plan, ["kafka:k:9092/a?key={nothing}"], checkpoint="c", on_letters=lambda _: None, on_violation=lambda _: None
        )


def test_without_the_jar_the_package_is_named(spark: SparkSession) -> None:
    """Reading and writing need a jar; the error says which, in Spark's own version."""
    job = job_of(tidelog.compile(PROGRAM), 2)
    package = f"`--packages org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}`"
    with pytest.raises(SpecError, match=package):
        read_input(spark, parse_input("kafka:k:9092/plant", 0), job, streaming=True)
    delivery = Delivery(
        job.plan, ["kafka:k:9092/out"], checkpoint="c", on_letters=lambda _: None, on_violation=lambda _: None
    )
    with pytest.raises(SpecError, match=package):
        delivery.open(spark)


def sent(spark: SparkSession, spec: str, batch: int, *records: Record) -> DataFrame:
    plan = tidelog.compile(PROGRAM)
    parcels = Parcels()
    parcels.facts(OUT, 0, list(records))
    rows = [row for row in parcels.take().to_pylist() if row["name"] == "hot" and row["kind"] == 0]
    sink = KafkaRecords(
        Records(parse_topics(spec, written=True)), Schema(plan.timeline), plan.outputs, "run", emit="intervals", iso=False
    )
    return sink.records(spark.createDataFrame(rows), 100, batch)


def test_answers_are_records_with_an_id(spark: SparkSession) -> None:
    """Value, key and header; what is sent again has the same id, another answer or batch has another."""
    spec = "kafka:k:9092/out?key=plant-{predicate}"
    answers: list[Record] = [("hot", ("b",), 7, 9), ("hot", ("a",), 5, 5)]
    first, again, next_batch = (sent(spark, spec, batch, *answers).collect() for batch in (3, 3, 4))
    assert [bytes(row.key) for row in first] == [b"plant-hot"] * 2
    lines = [json.loads(bytes(row.value)) for row in first]
    assert [(line["predicate"], line["args"]) for line in lines] == [("hot", ["a"]), ("hot", ["b"])]
    ids = [[bytes(row.headers[0].value).decode() for row in rows] for rows in (first, again, next_batch)]
    assert all(text.startswith("run-3-") for text in ids[0])
    assert ids[0] == ids[1]
    assert len({*ids[0], *ids[2]}) == 4
