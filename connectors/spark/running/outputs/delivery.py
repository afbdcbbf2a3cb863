"""Delivery: parcels for users leave Spark, each kind to where it belongs.

A stream's batch may be delivered again after a crash. Tables then hold it once, since it replaces what it had written;
lines, records of Kafka, and what is said of violations and of records that could not be used, come again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.json.hypothetical import HypotheticalEncoder
from tidelog.connectors.lake.arguments import column_of
from tidelog.connectors.outbox.file import describe
from tidelog.connectors.spark.running.outputs.kafka_sink import KafkaRecords
from tidelog.connectors.spark.running.outputs.lines import lines_here, sorted_lines, writing
from tidelog.connectors.spark.running.outputs.sinks import Lines, Tables, parse_sinks
from tidelog.connectors.spark.running.outputs.table_sinks import TableSink, table_sink
from tidelog.connectors.spark.running.outputs.taken import TableRows, Taken
from tidelog.connectors.spark.running.parcels import (
    ASKED,
    COUNT,
    FACT,
    LETTER,
    SPAN,
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

_LETTERS_AT_ONCE = 1000


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
            taken = Taken(kept)
            self._count(taken)
            self._say(taken)
            self._write(taken, batch)
        except BaseException as error:
            self.failure = error  # Spark hands on the text of it alone
            raise
        finally:
            kept.unpersist()

    def _count(self, taken: Taken) -> None:
        for row in taken.short:
            if row.kind == COUNT:
                self.counts[row.name] += row.lo
            elif row.kind == SPAN:
                self.reached[row.name] = max(row.hi, self.reached.get(row.name, row.hi))
            else:
                self.notes[row.name] = None
        for name, kind in ((FACTS, FACT), (ANSWERS, ASKED)):
            if number := taken.number(kind):
                self.counts[name] += number

    def _say(self, taken: Taken) -> None:
        if taken.number(LETTER):
            here = taken.here(LETTER)
            rows = taken.frame(LETTER).toLocalIterator() if here is None else iter(here)
            letters = (letter_of(bytes(row.row)) for row in rows)
            while some := list(islice(letters, _LETTERS_AT_ONCE)):
                self.counts[LETTERS] += len(some)
                self._on_letters(some)
        if taken.number(VIOLATION):
            for told in _violations(taken):
                self.counts[VIOLATIONS] += 1
                self._on_violation(told)

    def _write(self, taken: Taken, batch: int | None) -> None:
        for sink in self._sinks:
            if isinstance(sink, Lines):
                with writing(sink.path) as write:
                    self._write_lines(taken, sink.format, write)
                    if sink.format == "jsonl" and taken.number(ASKED):
                        self._write_asked(taken, write)
            elif isinstance(sink, KafkaRecords):
                if taken.sizes:
                    sink.write(taken.frame(FACT), taken.sizes.total(), batch)
            else:
                self._write_tables(taken, batch, sink)

    def _write_lines(self, taken: Taken, format: str, write: Callable[[bytes], None]) -> None:
        if not taken.sizes:
            return
        here = taken.here(FACT)
        if here is None:
            size = taken.sizes.total()
            pieces = sorted_lines(taken.frame(FACT), size, self._schema, format, emit=self._emit, iso=self._iso)
        else:
            packs = [bytes(row.row) for row in here]
            pieces = lines_here(packs, self._schema, format, emit=self._emit, iso=self._iso)
        for piece in pieces:
            write(piece)

    def _write_asked(self, taken: Taken, write: Callable[[bytes], None]) -> None:
        """Lines about answers to questions, by when they became known; those of one answer in their order."""
        for row in taken.in_order(ASKED, "lo", "bucket", "hi"):
            write(self._asked.encode(asked_of(bytes(row.row))))

    def _write_tables(self, taken: Taken, batch: int | None, sink: TableSink) -> None:
        """Over history a table for each output, also an empty one; on a stream for those that the batch has facts of."""
        for predicate in self._outputs if batch is None else taken.sizes:
            rows = TableRows(taken, predicate, self._tables, self._schema.timeline)
            sink.write(rows, predicate, batch, column_of(self._tables.predicates[predicate]))


def _violations(taken: Taken) -> Iterator[Told]:
    """Each violation once, by its end and begin, though several buckets have found it."""
    last: tuple[int, int, bytes] | None = None
    for row in taken.in_order(VIOLATION, "hi", "lo", "row"):
        found = (row.hi, row.lo, bytes(row.row))
        if found != last:
            yield violation_of(found[2], row.lo, row.hi)
        last = found
