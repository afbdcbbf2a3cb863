"""Answers to a topic, by Spark's own connector: at least once, each with an id by which who reads drops what comes again.

What Spark's connector promises is that a batch that is run again is sent again. So each record has the header `id`: the
checkpoint, the batch, and what the answer says, which are the same each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from tidelog.connectors.formats.formats import make_encoder
from tidelog.connectors.mapping.templates import TopicTemplate
from tidelog.connectors.spark.running.kafka import cluster_options, need_connector
from tidelog.connectors.spark.running.outputs.sinks import Records
from tidelog.connectors.spark.running.parcels import facts_of
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema
from tidelog.runtime.ports.interfaces import StageMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = (
    "first bigint, second bigint, key binary, value binary, headers array<struct<key: string not null, value: binary>>"
)
_SCHEMA = pa.schema(
    [
        pa.field("first", pa.int64()),
        pa.field("second", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([pa.field("key", pa.string(), False), pa.field("value", pa.binary())]))),
    ]
)
_PART_BYTES = 16_000_000


class KafkaRecords:
    """Sends facts as records to the topic of a sink. `checkpoint` tells a stream from all others; nothing over history."""

    def __init__(
        self, sink: Records, schema: Schema, outputs: Iterable[str], checkpoint: str, *, emit: StageMode, iso: bool
    ):
        self._sink, self._schema, self._emit, self._iso = sink, schema, emit, iso
        self._outputs = tuple(outputs)
        self._run = checkpoint or uuid4().hex
        key = sink.topics.options.get("key")
        if key is not None:
            TopicTemplate(key, schema, iso=iso, outputs=self._outputs)

    def open(self, spark: SparkSession) -> None:
        """SpecError where Spark's connector is missing."""
        need_connector(spark)

    def options(self) -> dict[str, str]:
        """What Spark's connector is told."""
        return {**cluster_options(self._sink.topics), "topic": self._sink.topics.names, "includeHeaders": "true"}

    def write(self, facts: DataFrame, size: int, batch: int | None) -> None:
        """Send these parcels of facts, which have about `size` bytes, in the order of time."""
        writer = self.records(facts, size, batch).write.format("kafka")
        writer.options(**self.options()).save()

    def records(self, facts: DataFrame, size: int, batch: int | None) -> DataFrame:
        """The records: columns as Spark's connector takes them. What fits into one part is sent in the order of time."""
        maker = _Maker(
            self._sink.topics.format,
            self._sink.topics.options.get("key"),
            self._schema,
            self._outputs,
            f"{self._run}-{batch or 0}",
            self._emit,
            self._iso,
        )

        def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return maker.make(batches)

        made = facts.select("row").mapInArrow(make, _COLUMNS)
        order = ("first", "second", "value")
        parted = made.repartitionByRange(1 + size // _PART_BYTES, *order).sortWithinPartitions(*order)
        return parted.select("key", "value", "headers")


class _Maker:
    """What a worker makes of facts. Plain data until it is used."""

    def __init__(
        self,
        kind: str,
        key: str | None,
        schema: Schema,
        outputs: tuple[str, ...],
        batch: str,
        emit: StageMode,
        iso: bool,
    ) -> None:
        self._kind, self._key, self._schema, self._outputs = kind, key, schema, outputs
        self._batch, self._emit, self._iso = batch, emit, iso

    def make(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encode = make_encoder(self._kind, self._schema, self._iso).encode
        key = None if self._key is None else TopicTemplate(self._key, self._schema, iso=self._iso, outputs=self._outputs)
        for batch in batches:
            facts = facts_of(batch.column("row").to_pylist())
            records: list[Record] = [ChangeRecord(*fact) for fact in facts] if self._emit == "changes" else facts
            rows = [self._row(record, encode([record]).rstrip(b"\n"), key) for record in records]
            yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)

    def _row(self, record: Record, line: bytes, key: TopicTemplate | None) -> dict[str, Any]:
        first, second = record.order if isinstance(record, ChangeRecord) else (record[3], record[2])
        number = hashlib.blake2b(line, digest_size=12).hexdigest()
        return {
            "first": first,
            "second": second,
            "key": None if key is None else key.topic(record).encode(),
            "value": line,
            "headers": [{"key": "id", "value": f"{self._batch}-{number}".encode()}],
        }
