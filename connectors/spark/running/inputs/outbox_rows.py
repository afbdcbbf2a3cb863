"""Facts of outboxes on Spark, each of its own predicate, and how a worker makes facts of the program of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.decoding import Admission
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.lake.gateways.origins import Access, read_schemas, source_options
from tidelog.connectors.spark.running.inputs.arrivals import Arrivals
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.inputs.outboxes import origin_of, scale_of
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS
from tidelog.connectors.spark.source import register
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.layout import EXACT
from tidelog.runtime.frames.times import ExactTimes
from tidelog.runtime.frames.values import read_json
from tidelog.runtime.ports.interfaces import Rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FACT = ("predicate", "arguments", *EXACT)
"""The columns of a fact."""


def read_outbox(
    spark: SparkSession, item: Input, job: Job, *, streaming: bool, access: Access, rows: int | None
) -> DataFrame:
    """The parcels of an outbox: of all that is not acknowledged; as a stream, which acknowledges what a finished batch has
    read, in batches of so many `rows` at most. SpecError where its times cannot be those of the program."""
    origin = origin_of(item, access)
    scale = scale_of(read_schemas([origin])[0], job.plan.timeline, origin.place)
    register(spark)
    reader = spark.readStream.format("tidelog") if streaming else spark.read.format("tidelog")
    if streaming and rows is not None:
        reader = reader.option("maxRowsPerBatch", str(rows))
    facts = reader.options(**source_options([origin])).load()

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return FactsOfTask(item, job, scale).read(batches)

    return facts.select("node", "seq", *FACT).mapInArrow(read, COLUMNS)


class FactsOfTask:
    """What a worker does with the facts of one outbox, in their order: columns `node`, `seq`, and those of `FACT`."""

    def __init__(self, item: Input, job: Job, scale: Fraction) -> None:
        self._reader = FactReader(job.plan.schema, scale)
        self._arrivals = Arrivals(job, item.number)
        self._has_begun = False

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of these facts."""
        for batch in batches:
            if batch.num_rows:
                node, seqs = batch.column("node")[0].as_py(), batch.column("seq").to_pylist()
                if not self._has_begun:
                    self._arrivals.begin(node, seqs[0])
                    self._has_begun = True
                columns = [batch.column(name).to_pylist() for name in FACT]
                yield from self._arrivals.take(*self._reader.read(node, seqs, columns))
        yield from self._arrivals.finish()


class FactReader:
    """Makes facts of a program of those of an outbox, a unit of whose time is `scale` units of the program's."""

    def __init__(self, schema: Schema, scale: Fraction) -> None:
        self._admission = Admission(schema)
        self._times = ExactTimes(schema.timeline, scale)
        self._rows: BoundedCache[tuple[str, ...], Row] = BoundedCache(self._read_row, lambda key, _: sum(map(len, key)))

    def read(self, node: str, seqs: list[int], columns: list[list[Any]]) -> tuple[list[Record], list[Rejected]]:
        """The facts among those of a node with these numbers, columns as in `FACT`, and what is none to the program."""
        records: list[Record] = []
        rejected: list[Rejected] = []
        rows, read_range = self._rows, self._times.read
        for seq, *fact in zip(seqs, *columns, strict=True):
            predicate, arguments, *ends = fact
            try:
                row = rows[predicate, *arguments]
                lo, hi = read_range(*ends)
            except DataError as error:
                rejected.append(Rejected(f"{node}:{seq}", error.reason, _raw(fact)))
            else:
                records.append((predicate, row, lo, hi))
        return records, rejected

    def _read_row(self, key: tuple[str, ...]) -> Row:
        predicate, *texts = key
        return self._admission.row(predicate, tuple(map(read_json, texts)))


def _raw(fact: list[Any]) -> bytes:
    """The fact as JSON."""
    shown = dict(zip(FACT, fact, strict=True))
    shown["arguments"] = [msgspec.Raw(text.encode()) for text in shown["arguments"]]
    return msgspec.json.encode(shown)[:RAW_LIMIT]
