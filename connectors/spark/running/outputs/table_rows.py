"""Facts as rows of a table, one table a predicate: the columns that the tables of `ingest` have, but for whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.connectors.lake.arguments import column_of
from tidelog.connectors.lake.times import has_dates
from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.spark.columns import interval_columns, row_type
from tidelog.connectors.spark.running.parcels import facts_of
from tidelog.plans.data.timeline import Timeline
from tidelog.runtime.frames.exact import StoredFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def table_type(schema: OutboxSchema, predicate: str) -> StructType:
    """The columns of a predicate's table."""
    return row_type(interval_columns(column_of(schema.predicates[predicate]), has_dates([schema])))


def table_rows(facts: DataFrame, predicate: str, schema: OutboxSchema, timeline: Timeline) -> DataFrame:
    """These parcels of facts, all of one predicate, as rows of its table."""

    def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        maker = _maker(predicate, schema, timeline)
        return (_rows(maker, batch.column("row").to_pylist()) for batch in batches)

    return facts.select("row").mapInArrow(convert, table_type(schema, predicate))


def rows_of_table(packs: Sequence[bytes], predicate: str, schema: OutboxSchema, timeline: Timeline) -> pa.RecordBatch:
    """The same of packs that are here. ConnectorError where a fact is not as its program declares it."""
    return _rows(_maker(predicate, schema, timeline), packs)


def _maker(predicate: str, schema: OutboxSchema, timeline: Timeline) -> StoredFacts:
    known = schema.predicates[predicate]
    return StoredFacts(predicate, known.fields, known.types, timeline)


def _rows(maker: StoredFacts, packs: Sequence[bytes]) -> pa.RecordBatch:
    found: pa.RecordBatch = maker.batch([fact[1:] for fact in facts_of(packs)])
    return found
