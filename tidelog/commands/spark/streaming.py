"""A program over a stream: its query, from where the checkpoint stands; first what a program before has left to do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.commands.lake.access import access_of
from tidelog.connectors.spark.cluster.queries import run_query
from tidelog.connectors.spark.running.changing.checkpoints import Checkpoint
from tidelog.connectors.spark.running.changing.handover import states_at_the_change, told_at_the_change
from tidelog.connectors.spark.running.changing.spark_files import SparkFiles
from tidelog.connectors.spark.running.clock import Clock
from tidelog.connectors.spark.running.inputs.inputs import Input, read_input
from tidelog.connectors.spark.running.inputs.locations import FILES, ROWS
from tidelog.connectors.spark.running.inputs.outboxes import acknowledge
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.outputs.delivery import Delivery
from tidelog.connectors.spark.running.outputs.folders import Folder
from tidelog.connectors.spark.running.reached import Reached
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.runtime.columns.stages.flow import open_flow
from tidelog.runtime.migration.staged import open_noting_stage
from tidelog.runtime.ports.interfaces import OpenStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_EVERY = 1.0
"""How many seconds pass between two batches unless told otherwise."""
_BEGUN = "tidelog-begun"
"""The file in the folder of a program that took the place of another one, once its own stream can go on."""


def opener(job: Job) -> OpenStage:
    """What opens the sessions of a job."""
    return open_flow if job.keep is None else open_noting_stage


class Streaming:
    """The stream of a checkpoint. `is_stopped` tells whether a signal has come."""

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: Checkpoint,
        inputs: Sequence[Input],
        lateness: int,
        options: argparse.Namespace,
        folder: Callable[[str], Folder],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._spark, self._checkpoint, self._inputs, self._lateness = spark, checkpoint, inputs, lateness
        self._options, self._folder, self._is_stopped = options, folder, is_stopped
        self._access = access_of(options)
        self._query: StreamingQuery | None = None

    @property
    def files(self) -> SparkFiles:
        """Spark's own checkpoint of the program that counts."""
        return self._files(self._checkpoint.claim.program)

    def _files(self, program: int) -> SparkFiles:
        return SparkFiles(self._spark, f"{self._options.checkpoint}/{self._checkpoint.within(program)}".rstrip("/"))

    def run(self, job: Job, delivery: Delivery) -> None:
        """Go on until there is nothing more (`--once`), or a signal comes. ConnectorError where it fails for good."""
        self._begin(job, delivery)
        if self._is_stopped():
            return
        every = self._options.every or _EVERY
        trigger: dict[str, Any] = {"availableNow": True}  # it also lets time move on behind the last batch that has facts
        if not self._options.once:
            trigger = {"processingTime": f"{round(every * 1000)} milliseconds"}
        run_query(partial(self._start, job, delivery, trigger), self._is_stopped)
        if self._options.once and not self._is_stopped():
            self._acknowledge()

    def catch_up(self, job: Job, delivery: Delivery) -> None:
        """End the batch that the program before has begun and not ended, so that nothing of it is told twice, or never."""
        self._begin(job, delivery)
        begun, ended = self.files.last("offsets"), self.files.last("commits")
        if begun is not None and begun != ended and not self._is_stopped():
            run_query(partial(self._start, job, delivery, {"once": True}), self._is_stopped)

    def latest(self, job: Job) -> int:
        """When the last fact begins (encoded) of those that were read; `NEG` where none was."""
        files = self.files
        watermark = Clock.of(job.plan.timeline).watermark(files.next_watermark(files.last("commits") or 0))
        by_inputs = Reached(self._options.checkpoint, self._folder).latest
        return by_inputs if watermark is None else max(by_inputs, watermark + 1 + self._lateness)

    def _start(self, job: Job, delivery: Delivery, trigger: dict[str, Any]) -> StreamingQuery:
        frames = self._read(job)
        reached = Reached(self._options.checkpoint, self._folder) if len(frames) > 1 else None
        if reached is not None:
            frames = [frame.unionAll(reached.tell(self._spark, number)) for number, frame in enumerate(frames)]
        parcels = run_stream(frames, job, opener(job), self._lateness)

        def take(batch: DataFrame, number: int) -> None:
            delivery.deliver(batch, self._checkpoint.claim.batches + number)
            if reached is not None:
                reached.remember(delivery.reached)

        self._query = self._writer(parcels, take).trigger(**trigger).start()
        return self._query

    def _writer(self, parcels: DataFrame, take: Callable[[DataFrame, int], None]) -> DataStreamWriter:
        return parcels.writeStream.foreachBatch(take).outputMode("append").option("checkpointLocation", self.files.uri)

    def _read(self, job: Job) -> list[DataFrame]:
        """The parcels of each input. With `--once` an outbox is asked once, and its facts are one batch (Spark 4.1)."""
        rows = None if self._options.once else ROWS
        files = self._options.files or FILES
        return [
            read_input(self._spark, item, job, streaming=True, files=files, rows=rows, access=self._access)
            for item in self._inputs
        ]

    def _begin(self, job: Job, delivery: Delivery) -> None:
        """Let a program that took the place of another one take over what it left, unless that is done."""
        number = self._checkpoint.claim.program
        if not number or self.files.exists(_BEGUN):
            return
        if self.files.last("commits") is None:
            place = handed_over(self._files(number).uri)
            frame = told_at_the_change(self._spark, place)
            states = states_at_the_change(self._spark, place, job.groups)
            parcels = run_stream([frame], job, opener(job), self._lateness, states)

            def take(batch: DataFrame, batch_number: int) -> None:
                delivery.deliver(batch, self._checkpoint.claim.batches + batch_number)

            run_query(lambda: self._writer(parcels, take).trigger(once=True).start(), self._is_stopped)
            if self._is_stopped():
                return
        before = self._files(number - 1)
        batch = before.last("commits")
        self.files.go_on_behind(before, batch or 0)
        self.files.write(_BEGUN, [])
        for name in ("offsets", "commits", "sources", "state", "metadata"):
            before.remove(name)
        root = self._files(0)
        root.remove(handed_over(self._checkpoint.within(number)))
        if number > 1:
            root.remove(self._checkpoint.within(number - 1))

    def forget(self, program: int) -> None:
        """Let go what a program would have taken over that does not go on."""
        self._files(0).remove(handed_over(self._checkpoint.within(program)))

    def _acknowledge(self) -> None:
        """Let go what is read of outboxes, once the stream has come to its end."""
        progress = None if self._query is None else self._query.lastProgress
        if progress is not None:
            acknowledge(self._inputs, self._access, progress.json)


def handed_over(place: str) -> str:
    """Where it is written what the program in a folder takes over."""
    return f"{place}.handover"
