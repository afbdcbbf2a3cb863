"""A run on Spark: it is started, waited for and stopped, and what it has to say is said. PySpark has to be there."""

from __future__ import annotations

import argparse
import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import anyio

from tidelog.commands.given import say_unusable
from tidelog.commands.lake.access import access_of
from tidelog.commands.outcome import BAD, DONE, say
from tidelog.commands.signals import noted_signals
from tidelog.commands.spark.replacing import change_program
from tidelog.commands.spark.settings import settings_of
from tidelog.commands.spark.streaming import Streaming, opener
from tidelog.commands.streams.unused import unused_note
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.lake.places import is_remote, local_path, uri_of
from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
from tidelog.connectors.spark.cluster.queries import told_in_a_line
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS
from tidelog.connectors.spark.cluster.session import spark_session
from tidelog.connectors.spark.cluster.shipping import prepare_workers
from tidelog.connectors.spark.places import environment
from tidelog.connectors.spark.running.changing.checkpoints import BUCKETS, Checkpoint, buckets_in
from tidelog.connectors.spark.running.clock import Clock
from tidelog.connectors.spark.running.history import run_history
from tidelog.connectors.spark.running.inputs.arrivals import UNUSED, unused_names
from tidelog.connectors.spark.running.inputs.inputs import Input, read_input
from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.kafka import parse_topics
from tidelog.connectors.spark.running.outputs.delivery import LETTERS, VIOLATIONS, Delivery
from tidelog.connectors.spark.running.outputs.folders import Folder, LocalFolder, RemoteFolder
from tidelog.connectors.spark.running.outputs.sinks import Tables, parse_sinks
from tidelog.connectors.spark.running.stream import needs_quiet_batches
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError, TidelogError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.stages.staged import open_history
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.ports.interfaces import Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOKS = 0.2
"""How many seconds pass between two looks for a signal."""
_REPLANS = "spark.sql.adaptive.enabled"
_SMALL_PLANS = {
    # a batch is planned anew each time, and moves its facts in few rows: to write and compile code for them costs more
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    _REPLANS: "false",
}
"""How Spark plans the batches of a stream."""
_QUIET_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
"""Whether a batch is run for the watermark alone, when it has moved."""
_PARTITIONS = 2
"""How many partitions a stage of a stream has on this machine, at least, if there are so many buckets."""
LOCAL_CHECKPOINT = {
    # Hadoop keeps a checksum beside each file of a local file system anyway
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # the default starts ten processes for each file that it writes, `readlink` and `chmod`; this one two
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""How Spark writes the files of a checkpoint that lies in a folder of this machine."""
_PATIENCE = 10.0
"""How many seconds jobs that are cancelled have to end."""


def start(plan: Plan, job: Job, inputs: Sequence[Input], lateness: int, options: argparse.Namespace) -> int:
    """Run a job from its inputs to the sinks of the options; returns the exit code. `lateness` is encoded."""
    return _Run(plan, job, inputs, lateness, options).main()


class _Run:
    """One run: its ends, and what is said at its end."""

    def __init__(self, plan: Plan, job: Job, inputs: Sequence[Input], lateness: int, options: argparse.Namespace) -> None:
        self._plan, self._job, self._inputs, self._lateness, self._options = plan, job, inputs, lateness, options
        self._times = TimeFormatter(plan.timeline, options.iso)
        self._access = access_of(options)
        self._is_stream = options.checkpoint is not None
        self._spark: SparkSession | None = None
        self._delivery: Delivery | None = None
        self._arrived: Sequence[int] = ()
        self._checkpoint: Checkpoint | None = None
        self._outcome: int | None = None

    def main(self) -> int:
        with noted_signals() as self._arrived:
            # beside the main thread, in which PySpark would take SIGINT for itself, and where a call could not be left
            interruptible(self._run, self._is_stopped, self._cancel)
        return self._close()

    def _is_stopped(self) -> bool:
        return bool(self._arrived)

    def _cancel(self) -> None:
        with suppress(Exception):  # the signal may have ended Spark, too
            if self._spark is not None:
                self._spark.sparkContext.cancelAllJobs()

    def _run(self) -> None:
        """Deliver all there is, and end Spark."""
        try:
            with closing(self._letters()) as letters:
                claim = self._claim()
                if not self._change(letters):
                    return
                delivery = self._delivery = self._delivery_of(self._plan, claim, letters)
                spark = self._session()
                if not self._is_stopped():
                    self._go(spark, delivery)
        finally:
            with suppress(Exception):  # it may have ended before us, and what is written is written
                if self._spark is not None:
                    self._spark.stop()

    def _delivery_of(self, plan: Plan, claim: str, letters: DeadLetterWriter) -> Delivery:
        return Delivery(
            plan,
            self._options.sinks or ["-"],
            emit=self._job.emit,
            iso=self._options.iso,
            checkpoint=claim,
            on_letters=lambda rejected: anyio.run(letters.send, rejected),
            on_violation=self._show_violation,
        )

    def _stream(self, spark: SparkSession, checkpoint: Checkpoint) -> Streaming:
        return Streaming(spark, checkpoint, self._inputs, self._lateness, self._options, self._folder, self._is_stopped)

    def _change(self, letters: DeadLetterWriter) -> bool:
        """Let the stream go on with the program now; False where it was only asked what would become of it."""
        checkpoint = self._checkpoint
        if checkpoint is None or not checkpoint.has_changed:
            return True
        before = checkpoint.before()
        spark = self._session()
        stream = self._stream(spark, checkpoint)
        delivery = self._delivery_of(before.plan, checkpoint.claim.id, letters)
        delivery.open(spark)
        self._telling(delivery, lambda: stream.catch_up(before, delivery))
        if self._is_stopped():
            return False
        with told_in_a_line(self._is_stopped):
            self._outcome = change_program(spark, checkpoint, stream, before, self._job, self._options.reload)
        return self._outcome is None

    def _telling(self, delivery: Delivery, work: Callable[[], None]) -> None:
        """Do what delivers, and raise with what it has ended, if it was one of ours."""
        try:
            work()
        except ConnectorError:
            if isinstance(delivery.failure, TidelogError):  # what Spark has made of it is only text
                raise delivery.failure from delivery.failure.__cause__
            raise

    def _letters(self) -> DeadLetterWriter:
        path = self._options.dead_letter
        try:
            return DeadLetterWriter(path, append=self._is_stream)
        except OSError as error:
            raise SpecError(f"cannot write `{path}`: {error.strerror}") from error

    def _claim(self) -> str:
        """What tells the checkpoint from others; nothing over history."""
        path = self._options.checkpoint
        if path is None:
            return ""
        places = [sink.place for sink in self._tables()]
        folder = self._folder(path)
        known = None if self._options.buckets else buckets_in(folder)
        if known is not None:  # another program, or another version, may have another default
            self._job = replace(self._job, buckets=known)
        run = described(self._job, self._inputs, self._lateness, places)
        self._checkpoint = Checkpoint(folder, run, self._job)
        return self._checkpoint.claim.id

    def _tables(self) -> list[Tables]:
        """The tables, which hold what a checkpoint has told; lines hold nothing."""
        sinks = parse_sinks(
            self._options.sinks or ["-"], self._plan.schema, iso=self._options.iso, is_stream=self._is_stream
        )
        return [sink for sink in sinks if isinstance(sink, Tables)]

    def _folder(self, path: str) -> Folder:
        return RemoteFolder(self._session(), path) if is_remote(path) else LocalFolder(local_path(path))

    def _session(self) -> SparkSession:
        """Spark, started when it is first needed."""
        if self._spark is None:
            options = self._options
            cores = options.cores or os.cpu_count() or 1
            settings = history_settings(self._inputs)
            if self._is_stream:
                settings = stream_settings(self._job, None if options.master else cores)
            if self._is_stream and not is_remote(options.checkpoint):
                settings |= LOCAL_CHECKPOINT
            settings |= settings_of(options)
            with told_in_a_line():
                try:
                    self._spark = spark_session(
                        "tidelog run",
                        cores=cores,
                        master=options.master,
                        log=options.log,
                        settings=settings,
                        python=None if options.archives is None else environment(options.archives)[1],
                        classes=options.classes,
                    )
                except OSError as error:
                    raise SpecError(f"cannot write `{options.log}`: {error.strerror}") from error
            prepare_workers(self._spark)
            if options.ui:
                say(f"note: Spark's page is at {self._spark.sparkContext.uiWebUrl}")
        return self._spark

    def _go(self, spark: SparkSession, delivery: Delivery) -> None:
        delivery.open(spark)
        if self._checkpoint is None:
            frames = [read_input(spark, item, self._job, streaming=False, access=self._access) for item in self._inputs]

            def tell() -> None:
                with told_in_a_line(self._is_stopped):
                    delivery.deliver(run_history(frames, self._job, open_history))

            self._telling(delivery, tell)
        else:
            stream = self._stream(spark, self._checkpoint)
            self._telling(delivery, lambda: stream.run(self._job, delivery))

    def _show_violation(self, told: Told) -> None:
        violation = Violation(*told)
        say(violation.told(self._times.at(violation.lo, violation.hi)))

    def _close(self) -> int:
        """Say what there was, as `tidelog run` does; returns the exit code."""
        counts = Counter[str]() if self._delivery is None else self._delivery.counts
        for line in () if self._delivery is None else self._delivery.notes:
            say(f"note: {line}")
        self._note_far_ahead()
        if note := unused_note(counts[UNUSED], unused_names(counts), self._plan.schema):
            say(f"note: {note}")
        if counts[LETTERS]:
            say_unusable(counts[LETTERS], is_strict=self._options.strict)
        if self._options.stats:
            for name, number in sorted(counts.items()):
                say(f"{name}: {number}")
        if self._arrived:
            return 128 + self._arrived[0]
        if self._outcome is not None:
            return self._outcome
        return BAD if counts[VIOLATIONS] or (self._options.strict and counts[LETTERS]) else DONE

    def _note_far_ahead(self) -> None:
        """Say where time has stopped, since facts begin beyond what Spark's watermark can tell."""
        clock = Clock.of(self._plan.timeline)
        if self._is_stream and self._delivery is not None and max(self._delivery.reached.values(), default=0) > clock.limit:
            reached = self._plan.timeline.format_point(clock.limit)
            say(f"note: facts begin after {reached}, and beyond that what waits for time to move on is not told")


def history_settings(inputs: Sequence[Input]) -> dict[str, str]:
    """What Spark is set to for history. What it reads is planned anew while it runs only where a table may be a view."""
    return {} if any(item.format == "table" for item in inputs) else {_REPLANS: "false"}


def stream_settings(job: Job, cores: int | None) -> dict[str, str]:
    """What Spark is set to for a job as a stream; `cores` are those of this machine, None on a cluster.

    A checkpoint keeps the number of partitions for good. On a cluster each group has one. On this machine each core has one,
    since each costs something in every batch; two at least, so that another machine that goes on can use as many.
    """
    partitions = job.groups if cores is None else min(job.groups, max(_PARTITIONS, cores))
    chosen = {"spark.sql.shuffle.partitions": str(partitions)}
    if not needs_quiet_batches(job, opener(job)):
        chosen[_QUIET_BATCHES] = "false"
    return {**STREAM_SETTINGS, **_SMALL_PLANS, **chosen}


def interruptible(work: Callable[[], None], is_stopped: Callable[[], bool], cancel: Callable[[], None]) -> None:
    """Wait for some work in a thread; raises what it raises. Once it `is_stopped`, it is cancelled, and soon left alone."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive() and not is_stopped():
        thread.join(_LOOKS)
    if is_stopped():
        patience = monotonic() + _PATIENCE
        while thread.is_alive() and monotonic() < patience:  # what is being planned may begin new jobs
            cancel()
            thread.join(_LOOKS)
    elif failures:
        raise failures[0]


def described(job: Job, inputs: Sequence[Input], lateness: int, tables: Sequence[str] = ()) -> dict[str, str]:
    """What a checkpoint is good for, each by what users call it."""
    return {
        "program": hashlib.sha256(job.program.encode()).hexdigest(),
        "background": hashlib.sha256(job.facts).hexdigest(),
        "--in": ", ".join(f"{item.format} {_place(item)} {item.predicate or ''}".rstrip() for item in inputs),
        "--out": ", ".join(sorted(tables)),
        "--emit": job.emit,
        BUCKETS: str(job.buckets),
        "--lateness": str(lateness),
        "--start": str(job.start),
    } | ({} if job.keep is None else {"--keep": f"{job.keep:g} s"})


def _place(item: Input) -> str:
    if item.format == "kafka":  # brokers come and go, and how they are reached changes: the offsets are those of the topics
        return parse_topics(item.path, written=False).names
    return item.path if item.format == "table" else uri_of(item.path)
