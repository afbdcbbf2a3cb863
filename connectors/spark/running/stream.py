"""A program over a stream: each bucket of a stage keeps its session's snapshot as Spark's state.

Spark tells all operators of a batch the same watermark: what it was when the batch began. A bucket is given the batch's
facts first, and then the watermark; one to which none came is woken by a timer, which it sets behind the last watermark
that it was told, so that a key that is silent learns of time as all others do. What it tells passes on to later stages
within the batch, before these get the same watermark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidelog.connectors.spark.running.clock import ORIGIN, Clock
from tidelog.connectors.spark.running.history import BUSY, owner, tell
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.parcels import COLUMNS, SCHEMA, SPAN, Parcels, Routes, RowCache
from tidelog.connectors.spark.running.workers import collect_seldom
from tidelog.plans.facts import Record, format_record
from tidelog.runtime.interfaces import OpenStage, Rejected, StageSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE = "state binary, timer bigint"


def run_stream(inputs: Sequence[DataFrame], job: Job, open_stage: OpenStage, lateness: int) -> DataFrame:
    """What follows from streams of facts, as a stream of parcels for users.

    Each input has a watermark of its own, the last begin of its facts less the `lateness` (encoded), and the least of them
    counts; it moves between batches. Facts behind it become letters.
    """
    clock = Clock.of(job.plan.timeline)
    parcels = reduce(lambda one, other: one.unionAll(other), [_timed(each, clock, lateness) for each in inputs])
    for stage in job.stages:
        processor = StageProcessor(job, stage.number, open_stage)
        buckets = job.buckets if stage.key is not None else 1
        wake = parcels.sparkSession.range(buckets).select(F.col("id").cast("int").alias("session")).groupBy("session")
        others = -1 - F.pmod(F.col("bucket"), F.lit(job.buckets))
        parted = parcels.withColumn("session", F.when(F.col("stage") == stage.number, F.col("bucket")).otherwise(others))
        parcels = parted.groupBy("session").transformWithStateInPandas(
            processor, COLUMNS, outputMode="Append", timeMode="EventTime", initialState=wake
        )
    return parcels


def _timed(parcels: DataFrame, clock: Clock, lateness: int) -> DataFrame:
    """The parcels of one input, with its watermark. The column itself goes, so that Spark drops nothing that is late: the
    sessions do, and tell."""
    reached = (
        f"least(hi, {clock.limit}L)"  # what begins too late moves time as far as it goes, what begins too early does not
    )
    ticks = f"({reached} - pmod({reached}, {clock.unit}L)) div {clock.unit}L"
    told = f"kind = {SPAN} AND hi > {-clock.limit}L"
    at = F.expr(f"timestamp_millis(CASE WHEN {told} THEN {ticks} + {ORIGIN}L ELSE 0L END)")
    return parcels.withColumn("at", at).withWatermark("at", f"{clock.delay(lateness)} milliseconds").drop("at")


class StageProcessor(StatefulProcessor):
    """One stage as Spark's stateful operator: a key is a bucket, or negative for parcels of others, which pass."""

    def __init__(self, job: Job, number: int, open_stage: OpenStage) -> None:
        self._job = job
        self._number = number
        self._open = open_stage

    def init(self, handle: Any) -> None:
        """A task begins."""
        collect_seldom()
        self._handle = handle
        self._state = handle.getValueState("session", _STATE)
        self._stage = self._job.stages[self._number - 1]
        self._clock = Clock.of(self._job.plan.timeline)
        self._routes = Routes(self._job.stages, self._job.buckets)
        self._reported = self._job.first_read_by(self._number)
        self._rows = RowCache()
        self._parcels = Parcels()

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """The stream begins: the bucket's session does, with the first watermark."""
        self._handle.registerTimer(1)
        self._state.update((b"", 1))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """A batch brings parcels: facts of this bucket, or what passes."""
        if key[0] < 0:
            for frame in rows:
                yield frame[SCHEMA.names]
        else:
            now = timerValues.getCurrentWatermarkInMs()
            yield self._step(key[0], now, _records_in(rows, self._rows), is_woken=False)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """The watermark has moved, and no fact came."""
        yield self._step(key[0], timerValues.getCurrentWatermarkInMs(), [], is_woken=True)

    def close(self) -> None:
        """The task ends."""

    def _step(self, bucket: int, now: int, records: list[Record], *, is_woken: bool) -> pd.DataFrame:
        """Let the bucket's session take facts, tell it the watermark, and keep its state; what it tells."""
        state, timer = self._state.get()
        began = thread_time_ns()
        session = self._resume(bucket, bytes(state))
        self._parcels.letters(self._letters(session.take(records)))
        watermark = self._clock.watermark(now)
        if watermark is not None:
            session.advance(watermark)
        tell(session, self._stage, bucket, self._routes, self._parcels)
        state = session.snapshot()
        self._parcels.count(BUSY, thread_time_ns() - began)
        self._state.update((state, now + 1))
        if timer != now + 1:
            if not is_woken:  # otherwise it would be now; the timer that has woken us goes by itself
                self._handle.deleteTimer(timer)
            self._handle.registerTimer(now + 1)
        return self._parcels.take().to_pandas()

    def _letters(self, late: list[tuple[Record, str]]) -> Iterator[Rejected]:
        """What is late, as it was read; told by the first of the stages that read it."""
        for (name, row, lo, hi), reason in late:
            if name in self._reported:
                text = format_record((self._reported[name], row, lo, hi), self._clock.timeline)
                yield Rejected("stream", reason, text.encode())

    def _resume(self, bucket: int, state: bytes) -> StageSession:
        """The bucket's session as the last batch left it."""
        owns = owner(self._stage, bucket, self._job.buckets)
        session = self._open(self._stage, owns, emit=self._job.emit, start=self._job.start)
        if state:
            session.restore(state)
        return session


def _records_in(frames: Iterator[pd.DataFrame], rows: RowCache) -> list[Record]:
    """The facts of a batch in order of time; those of the same time in order of arrival, where it matters."""
    found: list[tuple[int, bytes, Record]] = []
    for frame in frames:
        columns = [frame[name].tolist() for name in ("name", "row", "lo", "hi", "place")]
        for name, row, lo, hi, place in zip(*columns, strict=True):
            found.append((lo, place or b"", (name, rows[bytes(row)], lo, hi)))
    found.sort(key=lambda item: item[:2])
    return [record for *_, record in found]
