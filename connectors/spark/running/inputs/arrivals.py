"""What a worker has read of an input, on its way to the stages: facts are addressed, counted and sent in batches."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.spark.running.column_routes import ColumnRoutes
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import Parcels, needs_places
from tidelog.connectors.spark.running.workers import begin_task
from tidelog.plans.data.facts import Record
from tidelog.runtime.frames.columns import ColumnBatch, Pool
from tidelog.runtime.ports.interfaces import MOST_NAMES, Rejected

FACTS, UNUSED = "facts", "unused"
"""What is counted: facts that are accepted, and facts of predicates that no stage reads; these also by name."""
_NAMED = f"{UNUSED} "
BATCH, COLUMNS = 50_000, 200_000
"""About how many facts go out together, as rows and in columns: the more, the less of them overlap in time."""

_number = struct.Struct(">Q").pack


class Arrivals:
    """The facts of one input that one task reads, and the records in it that are none.

    The *origin* of facts is what they are read from in order, a part of a file: input number `number`, the file, and where
    in it the part begins. Where a stage needs the order of arrival, facts are sorted by origin, and within it as they come.
    """

    def __init__(self, job: Job, number: int) -> None:
        begin_task()
        self._number = number
        self._input = struct.pack(">I", number)
        self._routes = job.routes
        self.pool = Pool()
        self._column_routes = ColumnRoutes(job.stages, job.buckets, self.pool, whole=job.keep is not None)
        self._is_ordered = needs_places(job.stages)
        self._parcels = Parcels()
        self._origin = b""
        self._place = self._facts = self._unused = 0
        self._unused_names: dict[str, int] = {}
        self._span: tuple[int, int] | None = None

    def begin(self, path: str, start: int) -> None:
        """What comes now is read from this file, or partition, beginning at this byte."""
        # no path holds a 0, so that what is sorted as bytes is sorted by path, then by start
        self._origin = self._input + path.encode() + b"\0" + _number(start)
        self._place = 0

    def take(self, records: Sequence[Record], rejected: Sequence[Rejected] = ()) -> Iterator[pa.RecordBatch]:
        """Facts, and what is none; yields what is enough for a batch."""
        if records:
            self._send(records)
            begins = [record[2] for record in records]
            self._count(len(records), min(begins), max(begins))
        self._parcels.letters(rejected)
        if len(self._parcels) >= BATCH:
            yield self._parcels.take()

    def take_columns(self, facts: ColumnBatch) -> Iterator[pa.RecordBatch]:
        """Facts of one predicate over the pool, which no stage needs in the order of their arrival, and what is none."""
        batch = facts.rows
        if len(batch):
            if not self._column_routes.send(None, facts.predicate, batch):
                self._note_unread(facts.predicate, len(batch))
            self._count(len(batch), int(batch.lo.min()), int(batch.lo.max()))
        self._parcels.letters(facts.rejected)
        if len(self._column_routes) >= COLUMNS:
            self._column_routes.drain(self._parcels)
            yield self._parcels.take()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is left, and what was counted."""
        self._parcels.count(FACTS, self._facts - self._unused)
        self._parcels.count(UNUSED, self._unused)
        for name, number in self._unused_names.items():
            self._parcels.count(_NAMED + name, number)
        if self._span is not None:
            self._parcels.span(self._number, *self._span)
        self._column_routes.drain(self._parcels)
        if len(self._parcels):
            yield self._parcels.take()

    def _send(self, records: Sequence[Record]) -> None:
        for predicate in self._routes.send_all(None, records, self._parcels, self._places(len(records))):
            self._note_unread(predicate, 1)

    def _note_unread(self, predicate: str, number: int) -> None:
        """So many facts are of a predicate that no stage reads."""
        self._unused += number
        names = self._unused_names
        if predicate in names or len(names) < MOST_NAMES:
            names[predicate] = names.get(predicate, 0) + number

    def _count(self, number: int, begin: int, last: int) -> None:
        """So many facts begin within these times."""
        first, end = self._span or (begin, last)
        self._span = min(first, begin), max(end, last)
        self._facts += number

    def _places(self, count: int) -> Iterable[bytes]:
        """What sorts so many facts by arrival; nothing where that does not matter."""
        if not self._is_ordered:
            return repeat(b"")
        first = self._place
        self._place += count
        return [self._origin + _number(place) for place in range(first, self._place)]


def unused_names(counts: Mapping[str, int]) -> dict[str, int]:
    """How many facts there were of each predicate that no stage reads, among all that was counted."""
    return {name.removeprefix(_NAMED): number for name, number in counts.items() if name.startswith(_NAMED)}


def runs(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Where the rows begin and end that are from one block of one file: columns `file_path` and `file_block_start`."""
    ends: set[int] = set()
    for name in ("file_path", "file_block_start"):
        ends.update(pc.run_end_encode(batch.column(name)).run_ends.to_pylist())
    begin = 0
    for end in sorted(ends):
        yield begin, end
        begin = end
