"""How long a stream that remembers much takes to go on after it was killed.

    python -m benchmarks.spark.restart [MEGABYTES]

A stream remembers MEGABYTES (400) of facts, each of one kilobyte, in four batches. In snapshots of its sessions they have
three times as many bytes. It is killed with its JVM once the last batch is committed, and started again in a new process,
where a small file waits. What is told is seconds, from the start of that process until Spark is there, and until the first
batch is through; and CPU of the JVM and of Python for both together.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import TYPE_CHECKING

import msgspec

import tidelog
from benchmarks.spark.cpu import cpu_seconds
from benchmarks.spark.remembered import PROGRAM, write
from tidelog.commands.spark.start import LOCAL_CHECKPOINT, stream_settings
from tidelog.connectors.spark import spark_session
from tidelog.connectors.spark.running.inputs.arrivals import FACTS
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import job_of, stream_buckets
from tidelog.connectors.spark.running.parcels import COUNT
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.runtime.columns.stages.flow import open_flow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CORES, FILES, FEW = 2, 4, 20
_FACT = 1000
"""How many bytes the name of a device has."""
_REST = 10
"""Seconds between two looks whether the stream is at rest."""


def main(megabytes: int) -> None:
    """Fill, kill, restart, and print."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "temp").mkdir()
        names = _names(megabytes * 1000 // FILES)
        with _started(folder) as filling:
            for number in range(FILES):
                some = next(names)
                write(folder / "temp", f"{number:03}.csv", [f"{device},low,{number + 1}" for device in some])
                print(f"filled {number + 1} of {FILES}: {_line(filling)[1]:.1f} s", flush=True)
            _wait_for_rest(folder / "checkpoint")
            os.killpg(filling.pid, signal.SIGKILL)
        size = sum(path.stat().st_size for path in (folder / "checkpoint").rglob("*") if path.is_file())
        print(f"the checkpoint has {size / 1e6:,.0f} MB", flush=True)
        write(folder / "temp", "few.csv", [f"{device},high,{FILES + 1}" for device in some[:FEW]])
        with _started(folder) as going_on:
            at, seconds, jvm, python = _line(going_on)
            os.killpg(going_on.pid, signal.SIGKILL)
        print(f"Spark is there after {at:.1f} s, the first batch is through after {at + seconds:.1f} s")
        print(f"seconds of CPU: {jvm:.1f} of the JVM, {python:.1f} of Python")


def _names(each: int) -> Iterator[list[str]]:
    draw = random.Random(1)
    while True:
        yield [draw.randbytes(_FACT // 2).hex() for _ in range(each)]


def _started(folder: Path) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "benchmarks.spark.restart", "run", str(folder))
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def _line(process: subprocess.Popen[bytes]) -> tuple[float, float, float, float]:
    """What the stream tells of its next batch that has facts; RuntimeError where it has ended."""
    if process.stdout is None or not (line := process.stdout.readline()):
        raise RuntimeError("the stream has ended")
    return msgspec.json.decode(line, type=tuple[float, float, float, float])


def _wait_for_rest(checkpoint: Path) -> None:
    """Return once the last batch is committed, and none has begun for a while."""
    before = None
    while True:
        begun, committed = (
            {path.name for path in (checkpoint / part).iterdir() if path.name.isdecimal()} for part in ("offsets", "commits")
        )
        if begun == committed and begun == before:
            return
        before = begun
        sleep(_REST)


def run(folder: Path) -> None:
    """The stream: a line for each batch that has facts, with the seconds until Spark was there and since then, or since the
    last line, and the CPU so far."""
    begin = perf_counter()
    plan = tidelog.compile(PROGRAM)
    job = job_of(plan, stream_buckets(plan))
    settings = {**stream_settings(job, CORES), **LOCAL_CHECKPOINT, "spark.driver.memory": "4g"}
    spark = spark_session("restart", cores=CORES, settings=settings)
    started = last = perf_counter()

    def take(batch: DataFrame, number: int) -> None:
        nonlocal last
        has_facts = batch.where(f"kind = {COUNT} AND name = '{FACTS}'").count() > 0
        now = perf_counter()
        if has_facts:
            print(msgspec.json.encode((started - begin, now - last, *cpu_seconds())).decode(), flush=True)
        last = now

    item = parse_input(f"csv+{folder}/temp?predicate=temp", 0)
    parcels = read_input(spark, item, job, streaming=True, files=1)
    writer = run_stream([parcels], job, open_flow, 0).writeStream.foreachBatch(take)
    writer.option("checkpointLocation", (folder / "checkpoint").as_uri()).start().awaitTermination()


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
