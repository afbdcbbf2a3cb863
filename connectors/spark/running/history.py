"""A program over history: all facts are there, each bucket gets its own in order of time, and then the stream has ended.

A stage's facts go to the partition of their bucket, sorted by time, and run through its session as a stream would, so that a
worker holds what the operators keep, not the bucket's facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from time import thread_time_ns
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from tidelog.connectors.spark.running.column_routes import ColumnRoutes
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import (
    COLUMN,
    COLUMNS,
    FACT,
    OUT,
    SCHEMA,
    SPAN,
    WAKE,
    InOrder,
    Parcels,
    Routes,
    bucket_of,
    facts_of,
    needs_places,
)
from tidelog.connectors.spark.running.workers import begin_task
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.frames.columns import Pool, unpacked
from tidelog.runtime.frames.stages import ColumnHistory
from tidelog.runtime.ports.interfaces import OpenHistory, StageHistory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH = 10_000
"""How many facts a session is handed at once, and about how many go out together."""
COLUMNS_OUT = 1 << 16
"""The same of one that tells in columns."""
_PACK = ("kind", "name", "row", "lo")
BUSY = "nanoseconds of CPU in operators"
"""What the computing time is counted as that sessions take."""


def run_history(inputs: Sequence[DataFrame], job: Job, open_history: OpenHistory) -> DataFrame:
    """What follows from all facts of these inputs, as parcels for users. Nothing runs before it is asked for, but for a look
    at when the stream starts and ends, where the program needs to know."""
    parcels = reduce(lambda one, other: one.unionAll(other), inputs)
    if job.needs_span:
        job = _with_span(parcels, job)
    for stage in job.stages:
        parcels = _run_stage(parcels, stage, job, open_history)
    return parcels


def _with_span(parcels: DataFrame, job: Job) -> Job:
    """The job with the start of the stream, unless it was told, and its last begin."""
    spans = parcels.where(F.col("kind") == SPAN)
    row = spans.agg(F.min("lo").alias("first"), F.max("hi").alias("last")).collect()[0]
    if row["first"] is None:
        return job
    start = row["first"] if job.start is None else job.start
    gap = 0 if job.plan.timeline.is_integer else 1  # what begins in the gap behind a time arrives at that time
    return replace(job, start=start, last=row["last"] - (row["last"] & gap))


def _run_stage(parcels: DataFrame, stage: Stage, job: Job, open_history: OpenHistory) -> DataFrame:
    """The stage's parcels become what it tells, and all others stay as they are."""
    buckets = job.buckets if stage.key is not None else 1
    number = stage.number
    id = F.col("id").cast("int")
    wake = parcels.sparkSession.range(buckets).select(
        F.lit(number).alias("stage"),
        id.alias("bucket"),
        F.lit(WAKE).alias("kind"),
        F.lit("").alias("name"),
        F.lit(1).alias("number"),
        F.lit(b"").alias("row"),
        F.lit(NEG).alias("lo"),
        F.lit(NEG).alias("hi"),
    )

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Spark wants a function, not an object
        return _HistoryOfBucket(job, number, open_history).run(batches)

    parted = parcels.unionAll(wake).repartitionById(job.buckets, F.col("bucket"))
    ordered = parted.sortWithinPartitions(F.col("stage") == number, "lo")
    return ordered.mapInArrow(run, COLUMNS)


class _HistoryOfBucket:
    """What a worker does with one partition: the parcels of one bucket of a stage, in order, and others before them."""

    def __init__(self, job: Job, number: int, open_history: OpenHistory) -> None:
        self._job = job
        self._stage = job.stages[number - 1]
        self._open = open_history
        self._routes = job.routes
        self._is_placed = needs_places(job.stages)
        self._facts = InOrder(placed=self._is_placed)
        self._column_routes: ColumnRoutes | None = None
        self._pool = Pool()
        self._parcels = Parcels()
        self._bucket: int | None = None
        self._busy = 0

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels for others, and what the stage tells."""
        begin_task()
        session: StageHistory | None = None
        for batch in batches:
            is_own = pc.equal(batch.column("stage"), self._stage.number)
            others = batch.filter(pc.invert(is_own))
            if others.num_rows:
                yield pa.RecordBatch.from_arrays(others.columns, schema=SCHEMA)  # as what we make, to the last flag
            own = batch.filter(is_own)
            if own.num_rows:
                session = self._begin(own) if session is None else session
                yield from self._take(session, own)
        if session is not None:
            yield from self._finish(session)

    def _begin(self, own: pa.RecordBatch) -> StageHistory:
        self._bucket = own.column("bucket")[0].as_py()
        began = thread_time_ns()
        owns = owner(self._stage, self._bucket, self._job.buckets)
        session = self._open(self._stage, owns, emit=self._job.emit, start=self._job.start)
        self._busy += thread_time_ns() - began
        if isinstance(session, ColumnHistory) and not self._is_placed:
            self._column_routes = ColumnRoutes(self._job.stages, self._job.buckets, session.pool)
        return session

    def _take(self, session: StageHistory, own: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        low, high = pc.min_max(own.column("bucket")).as_py().values()
        if (low, high) != (self._bucket, self._bucket):
            raise ConnectorError(f"parcels of buckets {low} and {high} came to one partition")
        if isinstance(session, ColumnHistory) and self._column_routes is not None:
            yield from self._take_columns(session, self._column_routes, own)
            return
        facts = own.filter(pc.equal(own.column("kind"), FACT))
        reached = own.column("lo")[own.num_rows - 1].as_py()
        records = self._facts.take(facts.column("row").to_pylist(), reached, self._unpacked(own))
        yield from self._go_on(session, records)

    def _take_columns(self, session: ColumnHistory, routes: ColumnRoutes, own: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Hand a session packs as they are: it keeps what is not due."""
        for kind, name, row, lo in zip(*(own.column(name).to_pylist() for name in _PACK), strict=True):
            began = thread_time_ns()
            self._advance(session, lo)
            if kind == COLUMN:
                session.take_columns(name, unpacked(row, session.pool))
            elif kind == FACT:
                session.take(facts_of([row]))
            self._busy += thread_time_ns() - began
            self._tell(session)
            if len(self._parcels) + len(routes) >= COLUMNS_OUT:
                routes.drain(self._parcels)
                yield self._parcels.take()

    def _unpacked(self, own: pa.RecordBatch) -> Iterator[Record]:
        """The facts of packs of columns, for a session that takes rows."""
        packs = own.filter(pc.equal(own.column("kind"), COLUMN))
        for name, row in zip(packs.column("name").to_pylist(), packs.column("row").to_pylist(), strict=True):
            for fact in unpacked(row, self._pool).facts(self._pool):
                yield name, *fact

    def _go_on(self, session: StageHistory, records: Sequence[Record]) -> Iterator[pa.RecordBatch]:
        """Hand the session facts, piece by piece, so that what it tells is sent on meanwhile."""
        for begin in range(0, len(records), BATCH):
            some = records[begin : begin + BATCH]
            began = thread_time_ns()
            session.take(some)
            self._advance(session, some[-1][2])
            self._busy += thread_time_ns() - began
            self._tell(session)
            if len(self._parcels) >= BATCH:
                yield self._parcels.take()

    def _advance(self, session: StageHistory, reached: int) -> None:
        """All that begins before a time has come."""
        watermark = min(reached - 1, POS if self._job.last is None else self._job.last)
        if watermark > NEG:
            session.advance(watermark)

    def _finish(self, session: StageHistory) -> Iterator[pa.RecordBatch]:
        yield from self._go_on(session, self._facts.rest())
        began = thread_time_ns()
        session.finish(self._job.last)
        self._busy += thread_time_ns() - began
        self._tell(session)
        self._parcels.notes(session.unfinished())
        self._parcels.count(BUSY, self._busy)
        if self._column_routes is not None:
            self._column_routes.drain(self._parcels)
        yield self._parcels.take()

    def _tell(self, session: StageHistory) -> None:
        """Address what the stage's session has to say; what it has in columns goes on in columns."""
        routes = self._column_routes
        if routes is not None and isinstance(session, ColumnHistory):
            for name, batch in session.pull_columns():
                routes.send(self._stage.number, name, batch)
        tell(session, self._stage, self._bucket or 0, self._routes, self._parcels)


def tell(session: StageHistory, stage: Stage, bucket: int, routes: Routes, parcels: Parcels) -> None:
    """Address what a stage's session has to say."""
    answers = session.pull()
    told: dict[str, list[Record]] = {}
    for record in answers.told:
        told.setdefault(record[0], []).append(record)
    for records in told.values():
        parcels.facts(OUT, bucket, records)
    routes.send_all(stage.number, answers.passed, parcels)
    parcels.violations(answers.violations)
    parcels.asked(bucket, answers.asked)


def owner(stage: Stage, bucket: int, buckets: int) -> Callable[[Value], bool]:
    """Whether a value of the stage's key falls into the bucket."""
    if stage.key is None:
        return lambda _: True
    return lambda value: bucket_of(value, buckets) == bucket
