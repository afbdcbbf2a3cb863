"""One run on Spark, in a process of its own, since the cores of a JVM cannot change: prints what it took as JSON.

    python -m benchmarks.spark.probe history PROGRAM SPEC CORES BUCKETS FOLDER
    python -m benchmarks.spark.probe stream PROGRAM SPEC CORES BUCKETS FOLDER

What it writes goes to FOLDER, which is not there yet.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

import tidelog
from benchmarks.spark.found import History, Stream
from tidelog.connectors.spark import spark_session
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS
from tidelog.connectors.spark.running.history import BUSY, run_history
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import job_of
from tidelog.connectors.spark.running.outputs.delivery import FACTS as TOLD
from tidelog.connectors.spark.running.outputs.delivery import Delivery
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.runtime.columns.stages.flow import open_flow
from tidelog.runtime.columns.stages.staged import open_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Probe:
    """A program over one input, on so many cores of this machine."""

    def __init__(self, program: str, spec: str, cores: int, buckets: int, folder: Path, *, is_stream: bool) -> None:
        self._plan = tidelog.compile_path(program)
        self._job = job_of(self._plan, buckets, emit="intervals" if is_stream else "final")
        self._input = parse_input(spec, 0)
        self._folder = folder
        begin = perf_counter()
        self._spark = spark_session("benchmark", cores=cores, settings=STREAM_SETTINGS if is_stream else None)
        self._start = perf_counter() - begin

    def history(self) -> History:
        """Run it twice, and decode alone."""
        first, _ = self._deliver("first")
        again, delivery = self._deliver("again")
        begin = perf_counter()
        self._decoded().write.format("noop").mode("overwrite").save()
        decoding = perf_counter() - begin
        return History(delivery.counts[TOLD], self._start, first, again, decoding, delivery.counts[BUSY] / 1e9)

    def _deliver(self, name: str) -> tuple[float, Delivery]:
        begin = perf_counter()
        delivery = self._delivery(name)
        delivery.deliver(run_history([self._decoded()], self._job, open_history))
        return perf_counter() - begin, delivery

    def _decoded(self) -> DataFrame:
        return read_input(self._spark, self._input, self._job, streaming=False)

    def stream(self) -> Stream:
        """Run it to the end of what is there, a file a batch."""
        delivery = self._delivery("tables", "benchmark")
        parcels = read_input(self._spark, self._input, self._job, streaming=True, files=1)
        writer = run_stream([parcels], self._job, open_flow, 0).writeStream.foreachBatch(delivery.deliver)
        writer = writer.option("checkpointLocation", (self._folder / "checkpoint").as_uri())
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        batches = tuple(each.durationMs["triggerExecution"] / 1e3 for each in query.recentProgress)
        return Stream(delivery.counts[TOLD], self._start, batches, delivery.counts[BUSY] / 1e9)

    def _delivery(self, name: str, checkpoint: str = "") -> Delivery:
        sink = f"parquet:{self._folder / name}"
        return Delivery(self._plan, [sink], checkpoint=checkpoint, on_letters=_refuse, on_violation=_refuse)

    def stop(self) -> None:
        """End Spark."""
        self._spark.stop()


def _refuse(what: object) -> None:
    raise AssertionError(f"nothing is late or wrong here: {what}")


def main(kind: str, program: str, spec: str, cores: str, buckets: str, folder: str) -> None:
    """Run, and print."""
    probe = Probe(program, spec, int(cores), int(buckets), Path(folder), is_stream=kind == "stream")
    found = probe.stream() if kind == "stream" else probe.history()
    print(msgspec.json.encode(found).decode())
    probe.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
