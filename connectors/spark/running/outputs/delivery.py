"""Delivery: parcels for users leave Spark, each kind to where it belongs.

A stream's batch may be delivered again after a crash. Tables then hold it once, since it replaces what it had written;
lines, records of Kafka, and what is said of violations and of records that could not be used, come again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.json.hypothetical import HypotheticalEncoder
from tidelog.connectors.lake.arguments import column_of
from tidelog.connectors.outbox.file import describe
from tidelog.connectors.spark.running.outputs.kafka_sink import KafkaRecords
from tidelog.connectors.spark.running.outputs.lines import sorted_lines, writing
from tidelog.connectors.spark.running.outputs.sinks import Lines, Tables, parse_sinks
from tidelog.connectors.spark.running.outputs.table_rows import table_rows
from tidelog.connectors.spark.running.outputs.table_sinks import TableSink, table_sink
from tidelog.connectors.spark.running.parcels import (
    ASKED,
    COUNT,
    FACT,
    LETTER,
    NOTE,
    SPAN,
    TOLD,
    VIOLATION,
    asked_of,
    letter_of,
    violation_of,
)
from tidelog.plans.data.facts import Schema
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Rejected, StageMode, Told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FACTS, LETTERS, VIOLATIONS = "facts told", "records that could not be used", "violations"
ANSWERS = "lines about answers to questions"
"""What `Delivery.counts` counts besides what parcels count."""

FILE_BYTES = 32_000_000
"""How many bytes of facts, about, one file of a table takes."""
_SHORT = f"kind IN ({COUNT}, {NOTE}, {SPAN}, {TOLD})"
"""The parcels of which there are few, whatever is told."""
_LETTERS_AT_ONCE = 1000
_ROW_BYTES = 32
"""What a fact counts besides its arguments."""


class Delivery:
    """Delivers a run's parcels to its sinks (SPECs), and says what else there is to say.

    `on_letters` is told of records that could not be used, `on_violation` of each violation, once in a delivery. A stream
    has a `checkpoint`, which tells it from all others. SpecError where a sink cannot be, or a folder of tables holds
    something else; for folders that only Spark reaches by `open`.

    `counts` is what was delivered and counted, `notes` what users should know, `reached` the last begin (encoded)
    of the facts of each input, `failure` with what a delivery has ended.
    """

    def __init__(
        self,
        plan: Plan,
        sinks: Sequence[str],
        *,
        emit: StageMode = "intervals",
        iso: bool = False,
        checkpoint: str = "",
        on_letters: Callable[[Sequence[Rejected]], None],
        on_violation: Callable[[Told], None],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: dict[str, None] = {}
        self.reached: dict[str, int] = {}
        self.failure: BaseException | None = None
        self._schema = Schema(plan.timeline)
        self._tables = describe(plan, "", "")
        self._outputs = tuple(plan.outputs)
        self._asked = HypotheticalEncoder(plan.schema, TimeFormatter(plan.timeline, iso))
        parsed = parse_sinks(sinks, self._schema, iso=iso, is_stream=bool(checkpoint))
        self._sinks: list[Lines | TableSink | KafkaRecords] = [
            sink
            if isinstance(sink, Lines)
            else table_sink(sink, checkpoint)
            if isinstance(sink, Tables)
            else KafkaRecords(sink, self._schema, self._outputs, checkpoint, emit=emit, iso=iso)
            for sink in parsed
        ]
        self._emit, self._iso = emit, iso
        self._on_letters, self._on_violation = on_letters, on_violation

    def open(self, spark: SparkSession) -> None:
        """Look at the tables that only Spark reaches."""
        for sink in self._sinks:
            if isinstance(sink, KafkaRecords):
                sink.open(spark)
            elif not isinstance(sink, Lines):
                sink.open(spark, self._outputs)

    def deliver(self, parcels: DataFrame, batch: int | None = None) -> None:
        """Deliver all of these parcels; `batch` is the number of a stream's batch, None over history.

        ConnectorError where a sink cannot take its facts.
        """
        kept = parcels.cache()
        try:
            sizes = self._count(kept)
            self._say(kept)
            self._write(kept, sizes, batch)
        except BaseException as error:
            self.failure = error  # Spark hands on the text of it alone
            raise
        finally:
            kept.unpersist()

    def _count(self, parcels: DataFrame) -> Mapping[str, int]:
        """Count what there is; about how many bytes the facts of each predicate have."""
        sizes = Counter[str]()
        self._present = set[int]()
        # the only work for Spark in a batch that tells nothing, so it is one job without a shuffle
        for kind, name, number, first, last in parcels.where(_SHORT).select("kind", "name", "number", "lo", "hi").collect():
            if kind == COUNT:
                self.counts[name] += first
            elif kind == SPAN:
                self.reached[name] = max(last, self.reached.get(name, last))
            elif kind == NOTE:
                self.notes[name] = None
            else:
                self._present.add(last)
                if last == FACT:
                    self.counts[FACTS] += number
                    sizes[name] += first + _ROW_BYTES * number
                elif last == ASKED:
                    self.counts[ANSWERS] += number
        return sizes

    def _say(self, parcels: DataFrame) -> None:
        if LETTER in self._present:
            rows = parcels.where(f"kind = {LETTER}").select("row").toLocalIterator()
            letters = (letter_of(bytes(row.row)) for row in rows)
            while some := list(islice(letters, _LETTERS_AT_ONCE)):
                self.counts[LETTERS] += len(some)
                self._on_letters(some)
        if VIOLATION in self._present:
            for told in _violations(parcels.where(f"kind = {VIOLATION}")):
                self.counts[VIOLATIONS] += 1
                self._on_violation(told)

    def _write(self, parcels: DataFrame, sizes: Mapping[str, int], batch: int | None) -> None:
        facts = parcels.where(f"kind = {FACT}")
        for sink in self._sinks:
            if isinstance(sink, Lines):
                with writing(sink.path) as write:
                    self._write_lines(facts, sum(sizes.values()), sink.format, write)
                    if sink.format == "jsonl" and ASKED in self._present:
                        self._write_asked(parcels, write)
            elif isinstance(sink, KafkaRecords):
                if sizes:
                    sink.write(facts, sum(sizes.values()), batch)
            else:
                self._write_tables(facts, sizes, batch, sink)

    def _write_lines(self, facts: DataFrame, size: int, format: str, write: Callable[[bytes], None]) -> None:
        if size:
            for piece in sorted_lines(facts, size, self._schema, format, emit=self._emit, iso=self._iso):
                write(piece)

    def _write_asked(self, parcels: DataFrame, write: Callable[[bytes], None]) -> None:
        """Lines about answers to questions, by when they became known; those of one answer in their order."""
        lines = parcels.where(f"kind = {ASKED}").orderBy("lo", "bucket", "hi").select("row").toLocalIterator()
        for row in lines:
            write(self._asked.encode(asked_of(bytes(row.row))))

    def _write_tables(self, facts: DataFrame, sizes: Mapping[str, int], batch: int | None, sink: TableSink) -> None:
        """Over history a table for each output, also an empty one; on a stream for those that the batch has facts of."""
        for predicate in self._outputs if batch is None else sizes:
            own = facts.where(f"name = '{predicate}'").coalesce(1 + sizes.get(predicate, 0) // FILE_BYTES)
            rows = table_rows(own, predicate, self._tables, self._schema.timeline)
            sink.write(rows, predicate, batch, column_of(self._tables.predicates[predicate]))


def _violations(parcels: DataFrame) -> Iterator[Told]:
    """Each violation once, by its end and begin, though several buckets have found it."""
    last: tuple[int, int, bytes] | None = None
    for hi, lo, row in parcels.select("hi", "lo", "row").orderBy("hi", "lo", "row").toLocalIterator():
        found = (hi, lo, bytes(row))
        if found != last:
            yield violation_of(found[2], lo, hi)
        last = found
