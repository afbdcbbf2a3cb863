"""A program over a stream: the session of each bucket of a stage is kept as Spark's state, and is there only while it works.

Spark tells all operators of a batch the same watermark: what it was when the batch began. What begins at or before it is
late. A bucket is worked on in a batch that has facts for it, and in the first whose watermark has reached its deadline, at
which its session has something to tell. Nothing else is read or written, so a batch costs what is in it and what is due,
whatever is remembered. What a session tells passes on to later stages within the batch.

To Spark a key is a group of buckets: it has one timer, at the least deadline of its buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from time import thread_time_ns, time
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidelog.connectors.spark.running.clock import ORIGIN, Clock
from tidelog.connectors.spark.running.history import BUSY, owner, tell
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.kept_state import pack_state, unpack_state
from tidelog.connectors.spark.running.parcels import (
    COLUMN,
    COLUMNS,
    FACT,
    JOURNAL,
    SCHEMA,
    SPAN,
    InOrder,
    Parcels,
    decode_block,
    facts_of,
    needs_places,
)
from tidelog.connectors.spark.running.shipped import ShippedProcessor, States
from tidelog.connectors.spark.running.workers import begin_task
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.stages.stages import Stage
from tidelog.runtime.frames.columns import Pool, unpacked
from tidelog.runtime.frames.stages import ColumnSession
from tidelog.runtime.ports.interfaces import OpenStage, Rejected, StageSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

_TIDIES = 60.0
"""After so many seconds, or more, it is looked for what need not be kept any more."""
_Pack = tuple[int, str, bytes]
"""Facts of a batch, as the parcel has them that brought them: its kind, its name and its row."""

_decode_dues = msgspec.msgpack.Decoder(dict[int, int]).decode


def run_stream(
    inputs: Sequence[DataFrame],
    job: Job,
    open_stage: OpenStage,
    lateness: int,
    states: Callable[[Stage], DataFrame] | None = None,
) -> DataFrame:
    """What follows from streams of facts, as a stream of parcels for users.

    Each input has a watermark of its own, the last begin of its facts less the `lateness` (encoded), and the least of them
    counts; it moves between batches. Facts behind it become letters. Where the program took the place of another one,
    `states` has the sessions of each stage with which it begins: parcels, with their groups as `session`.
    """
    clock = Clock.of(job.plan.timeline)
    parcels = reduce(lambda one, other: one.unionAll(other), [_timed(each, clock, lateness) for each in inputs])
    for stage in job.stages:
        others = -1 - F.pmod(F.col("bucket"), F.lit(job.groups))
        own = F.pmod(F.col("bucket"), F.lit(job.groups))
        parted = parcels.withColumn("session", F.when(F.col("stage") == stage.number, own).otherwise(others))
        parcels = parted.groupBy("session").transformWithState(
            ShippedProcessor(job, stage.number, open_stage),
            COLUMNS,
            outputMode="Append",
            timeMode="EventTime",
            initialState=_beginning(parcels, job, stage, states),
        )
    return parcels


def _beginning(
    parcels: DataFrame, job: Job, stage: Stage, states: Callable[[Stage], DataFrame] | None
) -> GroupedData | None:
    if states is not None:
        return states(stage).groupBy("session")
    return _wake(parcels, job, stage) if works_from_the_start(stage) else None


def works_from_the_start(stage: Stage) -> bool:
    """Whether sessions may have something to tell though no fact ever comes."""
    return stage.key is None or stage.seeds is not None


def needs_quiet_batches(job: Job, open_stage: OpenStage) -> bool:
    """Whether a batch without facts may have something to tell: not where no session ever waits for time to move."""
    return any(
        works_from_the_start(stage) or open_stage(stage, lambda _: True, emit=job.emit, start=job.start).may_wait()
        for stage in job.stages
    )


def _wake(parcels: DataFrame, job: Job, stage: Stage) -> GroupedData:
    """The groups of a stage whose buckets work from the start."""
    groups = job.groups if stage.key is not None else 1
    return parcels.sparkSession.range(groups).select(F.col("id").cast("int").alias("session")).groupBy("session")


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
    """One stage as Spark's stateful operator: a key is a group of buckets, or negative for parcels of others, which pass.

    Its state is the snapshot of each bucket of which there is more to say than that it is new, and for each group when which
    of its buckets is due (in Spark's time), with the timer that is set.
    """

    def __init__(self, job: Job, number: int, open_stage: OpenStage) -> None:
        self._states = States(keeps_journal=job.keep is not None)
        self._job = job
        self._number = number
        self._open = open_stage

    def init(self, handle: Any) -> None:
        """A task begins."""
        begin_task()
        self._handle = handle
        self._sessions, self._dues, *others = self._states.declare(handle)
        if others:
            self._journal, self._tidied = others
        self._stage = self._job.stages[self._number - 1]
        self._clock = Clock.of(self._job.plan.timeline)
        self._routes = self._job.routes
        self._reported = self._job.first_read_by(self._number)
        self._is_placed = needs_places(self._job.stages)
        self._parcels = Parcels()
        self._pool = Pool()

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """The stream begins: with its first watermark all sessions of the group do; or it goes on, with another program."""
        if initialState is not None and "kind" in initialState:
            self._receive(initialState)
            return
        buckets = range(key[0], self._job.buckets, self._job.groups) if self._stage.key is not None else [0]
        self._keep(dict.fromkeys(buckets, 1), 0)

    def _receive(self, row: Row) -> None:
        """Take over the state of a bucket, or a block of its journal, from the program before."""
        bucket, number = row["bucket"], row["lo"]
        if row["kind"] == JOURNAL:
            if self._job.keep is not None:
                self._journal.updateValue((bucket, row["hi"], number), (bytes(row["row"]),))
            return
        self._sessions.updateValue((bucket,), (bytes(row["row"]),))
        dues, timer = self._dues.get() or (None, 0)
        known = {} if dues is None else _decode_dues(bytes(dues))
        self._keep({**known, bucket: number} if number else known, timer)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """A batch brings parcels: facts for buckets of this group, or what passes."""
        if key[0] < 0:
            for row in rows:
                yield Row(**{name: row[name] for name in SCHEMA.names})
            return
        packs: dict[int, list[_Pack]] = {}
        for row in rows:
            if row["kind"] in (FACT, COLUMN):
                packs.setdefault(row["bucket"], []).append((row["kind"], row["name"], bytes(row["row"])))
        yield from self._work(timerValues.getCurrentWatermarkInMs(), packs)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """The watermark has reached a deadline, and no fact came."""
        yield from self._work(timerValues.getCurrentWatermarkInMs(), {})

    def close(self) -> None:
        """The task ends."""

    def _work(self, now: int, packs: dict[int, list[_Pack]]) -> Iterator[Row]:
        """Let the buckets work for which there is something to do; yields what they tell."""
        dues, timer = self._dues.get() or (None, 0)
        due = {} if dues is None else _decode_dues(bytes(dues))
        left = dict(due)
        began = thread_time_ns()
        for bucket in sorted({*packs, *(bucket for bucket, at in due.items() if at <= now)}):
            at = self._step(bucket, now, packs.get(bucket, ()))
            left.pop(bucket, None)
            if at is not None:
                left[bucket] = at
        self._parcels.count(BUSY, thread_time_ns() - began)
        if left != due or timer <= now:
            self._keep(left, timer, now)
        if self._job.keep is not None:
            self._tidy(self._job.keep)
        return (Row(**row) for row in self._parcels.take().to_pylist())

    def _tidy(self, keep: float) -> None:
        """Let go what was noted longer ago than it has to be kept."""
        present, (last,) = int(time() * 1e6), self._tidied.get() or (0,)
        if last == 0:
            self._tidied.update((present,))
        elif present > last + max(_TIDIES, keep / 10) * 1e6:
            kept: Iterator[tuple[int, int, int]] = self._journal.keys()
            old = [key for key in kept if key[1] < present - keep * 1e6]
            for key in old:
                self._journal.removeKey(key)
            self._tidied.update((present,))

    def _keep(self, dues: dict[int, int], timer: int, now: int = 0) -> None:
        """Note which bucket is due when, and see to it that the first of them is woken."""
        first = min(dues.values(), default=0)
        if first != timer:
            if timer > now:  # one that has come goes by itself
                self._handle.deleteTimer(timer)
            if first:
                self._handle.registerTimer(first)
        self._dues.update((msgspec.msgpack.encode(dues), first))

    def _step(self, bucket: int, now: int, packs: Sequence[_Pack]) -> int | None:
        """Let a bucket's session take facts, tell it the watermark, and keep its state; when it is due, if ever."""
        session = self._resume(bucket)
        watermark = self._clock.watermark(now)
        if watermark is not None:
            session.promise(watermark)
        self._parcels.letters(self._letters(self._take(session, packs)))
        if watermark is not None:
            session.advance(watermark)
        tell(session, self._stage, bucket, self._routes, self._parcels)
        if self._job.keep is not None and (block := session.noted()) is not None:
            first, _, _, at, _ = decode_block(block)
            self._journal.updateValue((bucket, at, first), (block,))
        self._sessions.updateValue((bucket,), (pack_state(session.snapshot()),))
        return self._clock.reaches(session.deadline())

    def _take(self, session: StageSession, packs: Iterable[_Pack]) -> list[tuple[Record, str]]:
        """Hand a session facts: in columns where it takes these, else as records; returns those that are late, and why."""
        if not isinstance(session, ColumnSession):
            return session.take(self._records(packs))
        late: list[tuple[Record, str]] = []
        for kind, name, row in packs:
            if kind == COLUMN:
                late += session.take_columns(name, unpacked(row, session.pool))
            else:
                late += session.take(facts_of([row]))
        return late

    def _records(self, packs: Iterable[_Pack]) -> list[Record]:
        """The facts of a batch in order of time; those of the same time in order of arrival, where it matters."""
        facts = InOrder(placed=self._is_placed)
        columns = [(name, row) for kind, name, row in packs if kind == COLUMN]
        others = ((name, *fact) for name, row in columns for fact in unpacked(row, self._pool).facts(self._pool))
        return [*facts.take([row for kind, _, row in packs if kind == FACT], 0, others), *facts.rest()]

    def _letters(self, late: list[tuple[Record, str]]) -> Iterator[Rejected]:
        """What is late, as it was read; told by the first of the stages to which it goes."""
        for (name, row, lo, hi), reason in late:
            found = self._reported.get(name)
            if found is not None and not any(needed(row) for needed in found.earlier):
                text = format_record((found.predicate, row, lo, hi), self._clock.timeline)
                yield Rejected("stream", reason, text.encode())

    def _resume(self, bucket: int) -> StageSession:
        """The bucket's session as it was left, or a new one."""
        kept = self._sessions.getValue((bucket,))
        state = None if kept is None else unpack_state(bytes(kept[0]))
        owns = owner(self._stage, bucket, self._job.buckets)
        return self._open(self._stage, owns, emit=self._job.emit, start=self._job.start, state=state)
