"""What a row costs on Spark in seconds of CPU, beside one process and beside Spark written by hand; start-up apart.

    python -m benchmarks.spark.costs [ROWS]

Each line is a process of its own: it starts, runs once, so that workers are there and the JVM has compiled, and then over
ROWS rows (100,000) and over 8 times as many. The rate of what is between the two is what remains when there are many rows.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

import tidelog
from benchmarks.spark import by_hand
from benchmarks.spark.cpu import cpu_seconds
from benchmarks.spark.readings import WHOLE, readings, write_csv, write_parquet, write_program
from tidelog.commands.spark.start import LOCAL_CHECKPOINT, history_settings, stream_settings
from tidelog.connectors.spark import spark_session
from tidelog.connectors.spark.running.history import run_history
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import job_of, stream_buckets
from tidelog.connectors.spark.running.outputs.delivery import FACTS, Delivery
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.runtime.columns.stages.flow import open_flow
from tidelog.runtime.columns.stages.staged import open_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, FILES, BUCKETS, CORES = 1000, 4, 4, 2
LINES = ("history", "history by hand", "stream", "stream by hand", "stream of all rows")

_Cpu = tuple[float, float]
_Run = Callable[[Path, Path], int]


def main(rows: int) -> None:
    """Measure and print every line."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_program(folder / "turbines.tide")
        (folder / "whole.tide").write_text(WHOLE, "utf-8")
        for number, size in enumerate((rows, rows, 8 * rows)):
            found = readings(KEYS, size)
            (folder / str(number)).mkdir()
            write_parquet(folder / str(number) / "parquet", found, FILES)
            write_csv(folder / str(number) / "csv", found, FILES)
        _print_alone(folder, rows)
        answers = dict[str, list[int]]()
        for line in LINES:
            command = (sys.executable, "-m", "benchmarks.spark.costs", line, name)
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            costs, answers[line] = msgspec.json.decode(done.stdout, type=tuple[list[_Cpu], list[int]])
            _print(line, rows, costs, answers[line])
        for line in ("history", "stream"):
            if answers[line] != answers[f"{line} by hand"]:
                raise AssertionError(f"the {line} that is written by hand tells other facts")


def _print_alone(folder: Path, rows: int) -> None:
    costs: list[_Cpu] = [(0.0, 0.0)]
    for number in range(3):
        spec = f"{folder}/{number}/parquet/*.parquet?predicate=temp"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = (sys.executable, "-m", "tidelog", "run", str(folder / "turbines.tide"), "--in", spec)
        subprocess.run((*command, "--out", f"parquet:{folder}/alone{number}", "--emit", "final"), check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append((0.0, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    _print("one process", rows, costs, [])


def _print(line: str, rows: int, costs: list[_Cpu], told: list[int]) -> None:
    once, more = (sum(costs[number]) for number in (2, 3))
    start = sum(costs[0]) + sum(costs[1]) - once
    parts = ", ".join(f"{jvm:.2f} + {python:.2f}" for jvm, python in costs)
    print(f"{line}: told {told}; s of CPU (JVM + Python) to start, first, once, 8 times: {parts}")
    rates = (
        f"once {rows / once:,.0f}, 8 times {8 * rows / more:,.0f}, each row more {7 * rows / max(more - once, 0.01):,.0f}"
    )
    print(f"    start-up {start:.1f} s; rows a second of CPU: {rates}", flush=True)


def measure(line: str, folder: Path) -> None:
    """Run one line three times, and print what each took, Spark's start first."""
    costs, told = [], []
    before = cpu_seconds()
    plan = tidelog.compile_path(folder / ("whole.tide" if "all rows" in line else "turbines.tide"))
    is_stream = "stream" in line
    job = job_of(plan, stream_buckets(plan) if is_stream else BUCKETS, emit="intervals" if is_stream else "final")
    settings = {**stream_settings(job, CORES), **LOCAL_CHECKPOINT} if is_stream else history_settings([])
    spark = spark_session("costs", cores=CORES, settings=settings)
    costs.append(_since(before))

    def ours(read: Path, written: Path) -> int:
        refuse: Callable[[object], None] = print
        delivery = Delivery(
            plan,
            [f"parquet:{written}/tables"],
            emit=job.emit,
            checkpoint="costs" if is_stream else "",
            on_letters=refuse,
            on_violation=refuse,
        )
        kind = "csv" if is_stream else "parquet"
        item = parse_input(f"{read}/{kind}/*.{kind}?predicate=temp", 0)
        parcels = read_input(spark, item, job, streaming=is_stream, files=1)
        if is_stream:
            writer = run_stream([parcels], job, open_flow, 0).writeStream.foreachBatch(delivery.deliver)
            writer = writer.option("checkpointLocation", f"file://{written}/checkpoint").trigger(availableNow=True)
            writer.start().awaitTermination()
            return 0
        delivery.deliver(run_history([parcels], job, open_history))
        return delivery.counts[FACTS]

    def by_others(read: Path, written: Path) -> int:
        if not is_stream:
            return by_hand.history(spark, f"{read}/parquet/*.parquet", written)
        by_hand.stream(spark, f"{read}/csv/*.csv", written).awaitTermination()
        return 0

    run: _Run = by_others if "by hand" in line else ours
    for number in range(3):
        written = folder / f"{line.replace(' ', '-')}-{number}"
        before = cpu_seconds()
        found = run(folder / str(number), written)
        costs.append(_since(before))
        told.append(_seconds_told(spark, written, by_hand="by hand" in line) if is_stream else found)
    sys.stdout.write(msgspec.json.encode((costs, told)).decode())
    sys.stdout.flush()
    spark.stop()


def _seconds_told(spark: SparkSession, written: Path, *, by_hand: bool) -> int:
    """What tells the answers of one stream from those of another: a sum over the seconds of all that was told.

    Of a stream it depends on its batches in how many pieces it tells a spell.
    """
    if by_hand:
        at = "unix_timestamp(at)"
        points = spark.read.parquet(f"{written}/told").selectExpr("predicate", "device", f"{at} AS first", f"{at} AS last")
    else:
        found = [path.name for path in (written / "tables").iterdir() if path.is_dir()]
        tables = [
            spark.read.parquet(f"{written}/tables/{name}").selectExpr(
                f"'{name}' AS predicate",
                "trim(BOTH '\"' FROM arguments[0]) AS device",
                "CAST(start AS bigint) AS first",
                "CAST(end AS bigint) AS last",
            )
            for name in found
        ]
        points = reduce(lambda one, other: one.unionAll(other), tables)
    seconds = points.selectExpr("predicate", "device", "explode(sequence(first, last)) AS at")
    return int(seconds.selectExpr("bit_xor(xxhash64(predicate, device, at)) AS all").collect()[0][0])


def _since(before: _Cpu) -> _Cpu:
    now = cpu_seconds()
    return now[0] - before[0], now[1] - before[1]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[1], Path(os.path.abspath(sys.argv[2])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
