"""Facts from the records of topics, by Spark's own connector, and how a worker makes facts of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.mapper import MapMapper, PayloadFormat
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals
from tidelog.connectors.spark.running.inputs.locations import ROWS, Input
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.kafka import cluster_options, need_connector, parse_topics
from tidelog.connectors.spark.running.parcels import COLUMNS
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD = ("key", "value", "topic", "partition", "offset", "at", "headers")
"""The columns of a record that workers get; `at` is Kafka's own time, in milliseconds since 1970."""


class Maps(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a gateway's file says of a source of messages: the format of payloads, and how they are taken apart."""

    map: tuple[MapSettings, ...]
    format: PayloadFormat = "json"


def read_maps(path: str) -> Maps:
    """The maps of a file; SpecError where it cannot be read, or says something else."""
    try:
        return msgspec.convert(tomllib.loads(Path(path).read_text("utf-8")), Maps)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot read `{path}`: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SpecError(f"`{path}`: {error}: expected `format` and `[[map]]` as in a source of a gateway's file") from None


def options_of(item: Input, *, streaming: bool, rows: int | None = ROWS) -> dict[str, str]:
    """What Spark's connector is told: which records, from where on, and that none may be missing unnoticed."""
    topics = parse_topics(item.path, written=False)
    told = {**cluster_options(topics), "subscribe": topics.names, "includeHeaders": "true", "failOnDataLoss": "true"}
    told["startingOffsets"] = topics.options.get("start", "earliest") if streaming else "earliest"
    if streaming and rows is not None:
        told["maxOffsetsPerTrigger"] = str(rows)
    return told


def read_records(spark: SparkSession, item: Input, job: Job, *, streaming: bool, rows: int | None = ROWS) -> DataFrame:
    """The parcels of topics: over history of all that is there, as a stream of all that will be, so many `rows` a batch.

    SpecError where Spark's connector is missing, or maps do not fit the program.
    """
    maps = maps_of(item, job.plan.schema)
    need_connector(spark)
    reader = (spark.readStream if streaming else spark.read).format("kafka")
    return records_as_parcels(reader.options(**options_of(item, streaming=streaming, rows=rows)).load(), item, job, maps)


def maps_of(item: Input, schema: Schema) -> Maps | None:
    """The maps that an input names; SpecError where they do not fit the program."""
    path = parse_topics(item.path, written=False).options.get("map")
    maps = None if path is None else read_maps(path)
    if maps is not None:
        MapMapper("kafka", schema, maps.map, format=maps.format)
    return maps


def records_as_parcels(records: DataFrame, item: Input, job: Job, maps: Maps | None = None) -> DataFrame:
    """The parcels of records that have the columns of Spark's connector."""
    at = F.unix_millis("timestamp").alias("at")
    columns = records.select("key", "value", "topic", "partition", "offset", at, "headers")
    plain = None if maps is None else msgspec.json.encode(maps)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return RecordsOfTask(item, job, plain).read(batches)

    return columns.mapInArrow(read, COLUMNS)


class RecordsOfTask:
    """What a worker does with records, which come partition by partition, each in its order."""

    def __init__(self, item: Input, job: Job, maps: bytes | None) -> None:
        self._schema = job.plan.schema
        self._format = parse_topics(item.path, written=False).format
        found = None if maps is None else msgspec.json.decode(maps, type=Maps)
        self._mapper = None if found is None else MapMapper("kafka", self._schema, found.map, format=found.format)
        self._arrivals = Arrivals(job, item.number)

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of records: columns of `RECORD`."""
        for batch in batches:
            rows = batch.to_pylist()
            for first, last in _stretches(rows):
                some = rows[first:last]
                topic, number, offset = some[0]["topic"], some[0]["partition"], some[0]["offset"]
                place = f"kafka:{topic}:{number}"
                self._arrivals.begin(place, offset)
                made = self._of_lines(place, some) if self._mapper is None else self._of_messages(place, some)
                yield from self._arrivals.take(made.records, made.rejected)
        yield from self._arrivals.finish()

    def _of_lines(self, place: str, rows: Sequence[dict[str, Any]]) -> Batch:
        """Each value is a line; the number of a line, in dead letters, is the record's offset."""
        decoder = make_decoder(self._format, self._schema, place, None)
        return decoder.decode([row["value"] or b"" for row in rows], rows[0]["offset"])

    def _of_messages(self, place: str, rows: Sequence[dict[str, Any]]) -> Batch:
        """As a gateway takes them: headers are properties, and so is the key, as `key`."""
        messages, refused = [], []
        for row in rows:
            value = row["value"] or b""
            where = f"{place}:{row['offset']}"
            try:
                told = {item["key"]: item["value"].decode() for item in row["headers"] or () if item["value"] is not None}
                if row["key"] is not None:
                    told["key"] = row["key"].decode()
            except UnicodeDecodeError:
                refused.append(Rejected(where, "its key, or a header, is not UTF-8", value[:RAW_LIMIT]))
            else:
                messages.append(Message(row["topic"], value, row["at"] / 1000, False, told, where))
        if self._mapper is None or not messages:
            return Batch(rejected=refused)
        made = self._mapper.batch(messages)
        made.rejected += refused
        return made


def _stretches(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Where records follow each other, offset by offset."""
    begin = 0
    for i in range(1, len(rows) + 1):
        if i == len(rows) or not _follows(rows[i - 1], rows[i]):
            yield begin, i
            begin = i


def _follows(row: dict[str, Any], after: dict[str, Any]) -> bool:
    same = row["topic"] == after["topic"] and row["partition"] == after["partition"]
    return bool(same and row["offset"] + 1 == after["offset"])
