"""The files of one table and one node: which of them new facts touch, and what they become.

The rows of a file lie close together in time, since rows are sorted by their end before they are cut into files. So new
facts touch few files, mostly the newest, small one; the others stay as they are. Of the files that are full, eight of about
one size become one, so that there are never many: each row is written some ten times in all, however long the table grows.
"""

from __future__ import annotations

import io
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructType

from tidelog.connectors.spark.arguments import ArgumentColumn
from tidelog.connectors.spark.tables.columns import TOLD_COLUMNS, TimeColumn, exact, interval_columns, row_type
from tidelog.connectors.spark.tables.intervals import Key, Run, Time, coalesce
from tidelog.connectors.spark.tables.stores import Store
from tidelog.connectors.spark.tables.tables import NodeTime, Segment
from tidelog.plans.diagnostics.errors import ConnectorError

FULL = 4096
"""How many rows a file has before it is left alone."""
MERGED = 8
"""How many files of about one size become one."""
LARGEST = FULL * MERGED * MERGED
"""Files of so many rows stay as they are."""


def table_type(arguments: ArgumentColumn, dates: bool) -> StructType:
    """The columns of a table, beside `node`, by which it is partitioned."""
    numbers = (("first_seq", LongType(), False), ("last_seq", LongType(), False))
    return row_type((*interval_columns(arguments, dates), *numbers, *TOLD_COLUMNS))


@dataclass(frozen=True, slots=True)
class Partition:
    """One table's files of one node: where they are, who makes new ones, and how their columns are made."""

    predicate: str
    node: str
    time: NodeTime
    arguments: ArgumentColumn
    dates: bool
    store: Store
    writer: str
    version: int

    def merge(self, facts: Sequence[Run], segments: Sequence[Segment]) -> list[Segment]:
        """The files of the next version: those that stay, and new ones, written, with these facts merged in.

        The same facts and files give the same new files: a task that is run again writes them anew.
        """
        integer = self.time.timeline == "integer"
        touched, untouched = _split(segments, coalesce(facts, integer=integer), integer)
        stored = [run for segment in touched for run in self._read(segment)]
        runs = coalesce([*stored, *facts], integer=integer)
        names = (f"{self._own}{number:03d}.parquet" for number in count())
        cut = (runs[begin : begin + FULL] for begin in range(0, len(runs), FULL))
        written = [self._write(next(names), piece) for piece in cut]
        return self._compact([*untouched, *written], names)

    @property
    def _own(self) -> str:
        """The first part of the names of files that this writer makes for this version."""
        return f"part-{self.version:08d}-{self.writer}-"

    def _compact(self, segments: list[Segment], names: Iterator[str]) -> list[Segment]:
        """Eight full files of about one size become one, until there are no eight."""
        size = FULL
        while size < LARGEST:
            alike = [each for each in segments if size <= each.rows < size * MERGED]
            while len(alike) >= MERGED:
                merged, alike = alike[:MERGED], alike[MERGED:]
                names_of_merged = {each.name for each in merged}
                segments = [each for each in segments if each.name not in names_of_merged]
                segments.insert(0, self._concatenate(next(names), merged))
            size *= MERGED
        return segments

    def _concatenate(self, name: str, segments: Sequence[Segment]) -> Segment:
        table = pa.concat_tables(map(self._table, segments))
        for each in segments:
            if each.name.startswith(self._own):  # made just now, and no longer needed
                self.store.remove(each.path)
        lows, highs = [each.low for each in segments], [each.high for each in segments]
        low = None if None in lows else min(lows, key=lambda text: exact(text or "0"))
        high = None if None in highs else max(highs, key=lambda text: exact(text or "0"))
        return self._store(Segment(self.predicate, self.node, name, table.num_rows, low, high), table)

    def _table(self, segment: Segment) -> pa.Table:
        return pq.ParquetFile(io.BytesIO(self.store.get(segment.path))).read()

    def _read(self, segment: Segment) -> Iterator[Run]:
        table = self._table(segment)
        keys = map(_key, table.column("arguments").to_pylist())
        names = ("start", "end", "start_open", "end_open", "first_seq", "last_seq", "horizon")
        columns = [table.column(name).to_pylist() for name in names]
        columns.append(table.column("emitted_at").cast(pa.int64()).to_pylist())
        return (Run(*values) for values in zip(keys, *columns, strict=True))

    def _write(self, name: str, runs: Sequence[Run]) -> Segment:
        time = TimeColumn(self.time.unit, self.dates).value
        fields = self.arguments.fields
        columns: list[list[Any]] = [
            [dict(zip(fields, run.key, strict=True)) if fields else list(run.key) for run in runs],
            [run.start for run in runs],
            [run.end for run in runs],
            [time(run.start) for run in runs],
            [time(run.end) for run in runs],
            [run.start_open for run in runs],
            [run.end_open for run in runs],
            [run.first_seq for run in runs],
            [run.last_seq for run in runs],
            [run.horizon for run in runs],
            [run.emitted_at for run in runs],
        ]
        schema = to_arrow_schema(table_type(self.arguments, self.dates))
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        low, high = min(runs, key=lambda run: run.low).start, runs[-1].end
        segment = Segment(self.predicate, self.node, name, len(runs), low, high)
        return self._store(segment, pa.Table.from_arrays(arrays, schema=schema))

    def _store(self, segment: Segment, table: pa.Table) -> Segment:
        """Write a file, before any version names it."""
        data = io.BytesIO()
        pq.write_table(table, data, compression="zstd")
        self.store.put(segment.path, data.getvalue())
        return segment


def runs_of(facts: pa.Table, arguments: ArgumentColumn) -> list[Run]:
    """The rows of the data source (with arguments as JSON texts) as runs of one fact each.

    ConnectorError where an argument is not of its declared type.
    """
    keys = _keys(facts, arguments)
    names = ("start", "end", "start_open", "end_open", "seq", "seq", "horizon")
    columns = [facts.column(name).to_pylist() for name in names]
    columns.append(facts.column("emitted_at").cast(pa.int64()).to_pylist())
    return [Run(*values) for values in zip(keys, *columns, strict=True)]


def _keys(facts: pa.Table, arguments: ArgumentColumn) -> list[Key]:
    convert = arguments.converter()
    keys = []
    for number, texts in enumerate(facts.column("arguments").to_pylist()):
        try:
            keys.append(_key(convert("[" + ",".join(texts) + "]")))
        except ConnectorError as error:
            seq, node, name = (facts.column(column)[number].as_py() for column in ("seq", "node", "predicate"))
            raise ConnectorError(f"fact {seq} of node `{node}`, `{name}`: {error}") from None
    return keys


def _key(arguments: Any) -> tuple[Any, ...]:
    return tuple(arguments.values()) if isinstance(arguments, dict) else tuple(arguments)


def _split(segments: Sequence[Segment], facts: Sequence[Run], integer: bool) -> tuple[list[Segment], list[Segment]]:
    """The files that some fact may touch, or that are not full yet, and the others."""
    spans = coalesce([replace(fact, key=()) for fact in facts], integer=integer)
    is_touched = _toucher([span.low[0] for span in spans], [span.high[0] for span in spans])
    touched: list[Segment] = []
    untouched: list[Segment] = []
    for segment in segments:
        (touched if segment.rows < FULL or is_touched(segment) else untouched).append(segment)
    return touched, untouched


def _toucher(lows: Sequence[Time], highs: Sequence[Time]) -> Callable[[Segment], bool]:
    def is_touched(segment: Segment) -> bool:
        """Whether a span comes within 1 of it: on integers that touches, elsewhere the row itself decides."""
        low = -math.inf if segment.low is None else exact(segment.low) - 1
        high = math.inf if segment.high is None else exact(segment.high) + 1
        place = bisect_left(highs, low)
        return place < len(lows) and lows[place] <= high

    return is_touched
