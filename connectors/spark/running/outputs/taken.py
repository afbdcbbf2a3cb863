"""What a delivery takes of its parcels: what is little comes with one job; what is much stays with Spark, for further jobs.

A job costs Spark about as much whether it has one row or a hundred thousand. So what most batches tell leaves it with the
counts, and the driver writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.connectors.lake.times import has_dates
from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.spark.running.outputs.table_rows import rows_of_table, table_rows
from tidelog.connectors.spark.running.parcels import COUNT, FACT, NOTE, SPAN, TOLD
from tidelog.plans.data.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

FILE_BYTES = 32_000_000
"""How many bytes of facts, about, one file of a table takes."""
AT_ONCE = 256
"""How many parcels of facts, letters, violations and lines about answers come at once, at most, each of so many bytes."""
LARGE = 65_536
_SHORT = f"kind IN ({COUNT}, {NOTE}, {SPAN}, {TOLD})"
"""The parcels of which there are few, whatever is told."""
_PLACE = "(monotonically_increasing_id() & 8589934591L)"
"""How many rows of its partition came before a row: Spark gives numbers so."""
_PARTITIONS = "spark.sql.shuffle.partitions"
_ROW_BYTES = 32
"""What a fact counts besides its arguments."""


class Taken:
    """Parcels for users, of which some are here. Of a kind (`FACT`, `LETTER` …) it is known how many were told, and about
    how many bytes the facts of each predicate have (`sizes`)."""

    def __init__(self, parcels: DataFrame) -> None:
        """Run the job; `parcels` has to be cached, if it is to run no more than once."""
        self._parcels = parcels
        self.sizes = Counter[str]()
        self.short: list[Row] = []
        self._numbers = Counter[int]()
        self._here: dict[int, list[Row]] = {}
        for row in parcels.where(_condition(parcels)).collect():
            if row.kind == TOLD:
                self._numbers[row.hi] += row.number
                if row.hi == FACT:
                    self.sizes[row.name] += row.lo + _ROW_BYTES * row.number
            elif row.kind in (COUNT, NOTE, SPAN):
                self.short.append(row)
            else:
                self._here.setdefault(row.kind, []).append(row)

    def number(self, kind: int) -> int:
        """How many of a kind were told."""
        return self._numbers[kind]

    def here(self, kind: int) -> Sequence[Row] | None:
        """All parcels of a kind; None where some of them are with Spark."""
        found = self._here.get(kind, ())
        return found if sum(row.number for row in found) == self._numbers[kind] else None

    def frame(self, kind: int) -> DataFrame:
        """All parcels of a kind, with Spark."""
        return self._parcels.where(f"kind = {kind}")

    def in_order(self, kind: int, *columns: str) -> Iterator[Row]:
        """All parcels of a kind, in the order of some columns."""
        here = self.here(kind)
        if here is None:
            return self.frame(kind).orderBy(*columns).toLocalIterator()
        return iter(sorted(here, key=lambda row: tuple(row[name] for name in columns)))


def _condition(parcels: DataFrame) -> str:
    """What is taken. There is a bound for each partition, as each is looked at by itself."""
    partitions = int(parcels.sparkSession.conf.get(_PARTITIONS) or 1)
    return f"{_SHORT} OR (octet_length(row) <= {LARGE} AND {_PLACE} < {max(1, AT_ONCE // partitions)})"


class TableRows:
    """The facts of one predicate, as rows of its table."""

    def __init__(self, taken: Taken, predicate: str, schema: OutboxSchema, timeline: Timeline) -> None:
        self._taken, self._predicate, self._schema, self._timeline = taken, predicate, schema, timeline
        self.has_dates = has_dates([schema])

    def here(self) -> pa.RecordBatch | None:
        """All of them, if the facts are here. ConnectorError where one is not as its program declares it."""
        facts = self._taken.here(FACT)
        if facts is None:
            return None
        own = [bytes(row.row) for row in facts if row.name == self._predicate]
        return rows_of_table(own, self._predicate, self._schema, self._timeline)

    def frame(self) -> DataFrame:
        """All of them, with Spark, in as many partitions as the table gets files."""
        own = self._taken.frame(FACT).where(f"name = '{self._predicate}'")
        parted = own.coalesce(1 + self._taken.sizes.get(self._predicate, 0) // FILE_BYTES)
        return table_rows(parted, self._predicate, self._schema, self._timeline)
