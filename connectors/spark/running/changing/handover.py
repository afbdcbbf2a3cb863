"""The states of a stream's sessions, handed over to another program.

They are read from the checkpoint of the program before, by Spark's reader of state. Each bucket of each stage goes on as
one of the program now. What comes of it is written to files: states, what is told at the change, what becomes of answers.
The first batch of the program now takes them, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F

from tidelog.connectors.lake.places import uri_of
from tidelog.connectors.spark.running.clock import Clock
from tidelog.connectors.spark.running.history import owner
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.kept_state import pack_state, unpack_state
from tidelog.connectors.spark.running.parcels import COLUMNS, FATE, JOURNAL, OUT, STATE, Block, Parcels, decode_block
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.stages.stages import Stage
from tidelog.runtime.ports.stage_changes import ChangeStage, StageStanding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ReachOf = Callable[[bytes], tuple[int, tuple[str, ...]]]
"""When the last fact ends that a session was told, by its snapshot, and of which predicates facts have no end; no name
stands for any."""
_NONE = -1
"""The kind of a row that tells only that there is a bucket."""


class Pair(NamedTuple):
    """A stage now, and the one before from which it goes on, by their numbers; 0 where there is none. Of the predicates
    `other` it gets other facts than that one did."""

    now: int
    before: int
    other: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint of Spark's, the last batch that has ended, and the watermark that it was told, in Spark's time. The
    `latest` fact, read by a stage or not, begins at that time (encoded)."""

    uri: str
    batch: int
    watermark: int
    latest: int


class Handover:
    """From one program to another, over the states in a checkpoint. Both have the same buckets and the same timeline."""

    def __init__(self, spark: SparkSession, before: Job, now: Job, place: Place, pairs: Sequence[Pair]) -> None:
        self._spark, self._before, self._now, self._place = spark, before, now, place
        used = {pair.before for pair in pairs}
        ends = [Pair(0, stage.number) for stage in before.stages if stage.number not in used]
        self._pairs = [*pairs, *ends]
        spark.streams.active  # noqa: B018 - the first look at streams starts what reads states

    def parcels(self, change: ChangeStage, reach_of: ReachOf) -> DataFrame:
        """What comes of it, as parcels: states and blocks of journals for the stages now, what is told, and fates."""
        reach, endless = self._reach(reach_of)
        found = [self._of_pair(pair, change, reach, endless) for pair in self._pairs]
        return reduce(lambda one, other: one.unionAll(other), found)

    def _stored(self, stage: int, variable: str) -> DataFrame:
        operator = len(self._before.stages) - stage  # Spark counts from the last one
        reader = self._spark.read.format("statestore").option("operatorId", operator).option("stateVarName", variable)
        return reader.option("batchId", self._place.batch).load(self._place.uri)

    def _reach(self, reach_of: ReachOf) -> tuple[int, frozenset[str]]:
        """The latest end of a fact that any session was told, and the predicates of those without one."""

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                known = [reach_of(unpack_state(state)) for state in batch.column("state").to_pylist()]
                reach = max((last for last, _ in known), default=NEG)
                names = sorted({name for _, some in known for name in some})
                yield pa.RecordBatch.from_pydict({"reach": [reach], "names": [names]})

        states = [self._stored(stage.number, "sessions").select("user_map_value.state") for stage in self._before.stages]
        all_states = reduce(lambda one, other: one.unionAll(other), states)
        rows = all_states.mapInArrow(read, "reach bigint, names array<string>").collect()
        reach = max((row.reach for row in rows), default=NEG)
        names = {name for row in rows for name in row.names}
        if "" in names:
            names |= {item.name for stage in (*self._before.stages, *self._now.stages) for item in stage.inputs}
        return max(reach, self._place.latest), frozenset(names)

    def _of_pair(self, pair: Pair, change: ChangeStage, reach: int, endless: frozenset[str]) -> DataFrame:
        rows = []
        if pair.before:
            states = self._stored(pair.before, "sessions")
            zero = F.lit(0).cast("long")
            bucket = F.col("user_map_key.bucket").alias("bucket")
            kind = F.lit(STATE).alias("kind")
            state = F.col("user_map_value.state").alias("row")
            rows.append(states.select(bucket, kind, zero.alias("lo"), zero.alias("hi"), state))
            if self._before.keep is not None:
                key, block = F.col("user_map_key"), F.col("user_map_value.block").alias("row")
                kind = F.lit(JOURNAL).alias("kind")
                blocks = self._stored(pair.before, "journal")
                rows.append(blocks.select(bucket, kind, key.first.alias("lo"), key.at.alias("hi"), block))
        if pair.now:  # also a bucket that was not there has to know from when on it knows all
            buckets = 1 if self._now.stages[pair.now - 1].key is None else self._now.buckets
            there = self._spark.range(buckets).select(
                F.col("id").cast("int").alias("bucket"),
                F.lit(_NONE).alias("kind"),
                F.lit(0).cast("long").alias("lo"),
                F.lit(0).cast("long").alias("hi"),
                F.lit(b"").alias("row"),
            )
            rows.append(there)
        work = _Work(self._before, self._now, pair, self._place.watermark, reach, endless, change)

        def convert(table: pa.Table) -> pa.Table:  # Spark wants a function, not an object
            return work.convert(table)

        union = reduce(lambda one, other: one.unionAll(other), rows)
        return union.groupBy("bucket").applyInArrow(convert, COLUMNS)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a worker does for one bucket of a pair of stages."""

    before: Job
    now: Job
    pair: Pair
    watermark: int
    reach: int
    endless: frozenset[str]
    change: ChangeStage

    def convert(self, table: pa.Table) -> pa.Table:
        """The parcels of a bucket."""
        rows = table.to_pylist()
        bucket = rows[0]["bucket"]
        states = [row["row"] for row in rows if row["kind"] == STATE]
        blocks: list[Block] = [(row["lo"], row["hi"], row["row"]) for row in rows if row["kind"] == JOURNAL]
        clock = Clock.of(self.now.plan.timeline)
        standing = StageStanding(
            unpack_state(states[0]) if states else None,
            self.now.start,
            clock.watermark(self.watermark),
            self.reach,
            self.endless,
            self.pair.other,
            [block for *_, block in blocks],
            self.before.keep is not None,
        )
        was, is_now = self._stage(self.before, self.pair.before), self._stage(self.now, self.pair.now)
        dealt = is_now or was
        owns = (lambda _: True) if dealt is None else owner(dealt, bucket, self.now.buckets)
        changed = self.change(was, is_now, owns, emit=self.now.emit, standing=standing)
        parcels = Parcels()
        if self.pair.now and (states or not changed.keeps_all):
            if changed.noted is not None:
                first, _, _, at, _ = decode_block(changed.noted)
                blocks = [(first, at, changed.noted)]
            due = clock.reaches(changed.deadline)
            parcels.handed_over(self.pair.now, bucket, pack_state(changed.state), due, sorted(blocks))
        told: dict[str, list[Record]] = {}
        for record in changed.told:
            told.setdefault(record[0], []).append(record)
        for records in told.values():
            parcels.facts(OUT, bucket, records)
        self.now.routes.send_all(self.pair.now, changed.passed, parcels)
        parcels.fate(self.pair.now, changed.becomings)
        return pa.Table.from_batches([parcels.take()])

    def _stage(self, job: Job, number: int) -> Stage | None:
        return job.stages[number - 1] if number else None


def fates(parcels: DataFrame) -> dict[int, list[bytes]]:
    """What becomes of answers, by stages; each text once."""
    found: dict[int, list[bytes]] = {}
    for row in parcels.where(F.col("kind") == FATE).select("stage", "row").collect():
        found.setdefault(row.stage, []).append(bytes(row.row))
    return found


def told_at_the_change(spark: SparkSession, place: str) -> DataFrame:
    """What is told, to users and to later stages, as a stream of parcels; `place` is where all of it was written."""
    return spark.readStream.schema(COLUMNS).parquet(uri_of(place)).where(f"kind NOT IN ({STATE}, {JOURNAL}, {FATE})")


def states_at_the_change(spark: SparkSession, place: str, groups: int) -> Callable[[Stage], DataFrame]:
    """For each stage, the states with which it begins, each with its group."""
    handed = spark.read.schema(COLUMNS).parquet(uri_of(place)).where(f"kind IN ({STATE}, {JOURNAL})")
    group = F.pmod(F.col("bucket"), F.lit(groups)).alias("session")

    def of(stage: Stage) -> DataFrame:
        return handed.where(F.col("stage") == stage.number).select(group, "bucket", "kind", "lo", "hi", "row")

    return of
