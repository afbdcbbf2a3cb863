"""What a small batch of a stream costs, by how much is remembered.

    python -m benchmarks.spark.remembered KEYS FOLDER

Of each key one fact is remembered; then come batches of a few facts each. What is told is CPU of the JVM and of Python in
the median batch, and seconds, as JSON.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

import tidelog
from benchmarks.spark.cpu import cpu_seconds
from tidelog.connectors.spark import spark_session
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS
from tidelog.connectors.spark.running.inputs.inputs import parse_input, read_input
from tidelog.connectors.spark.running.job import job_of, stream_buckets
from tidelog.connectors.spark.running.stream import run_stream
from tidelog.runtime.columns.stages.flow import open_flow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROGRAM = """
timeline integer.
input temp(device: text, level: text).
output again.
again(X) :- temp(X, high), sometime temp(X, low) in [1000000].
"""
FACTS, BATCHES, WARM = 20, 8, 3


def write(folder: Path, name: str, lines: list[str]) -> None:
    """A file that appears whole."""
    draft = folder.parent / name
    draft.write_text("device,level,time\n" + "\n".join(lines) + "\n", "utf-8")
    draft.rename(folder / name)


def main(keys: int, folder: Path) -> None:
    """Run, and print."""
    read = folder / "temp"
    read.mkdir(parents=True)
    plan = tidelog.compile(PROGRAM)
    job = job_of(plan, stream_buckets(plan))
    spark = spark_session("benchmark", cores=2, settings={**STREAM_SETTINGS, "spark.sql.shuffle.partitions": "8"})
    costs: list[tuple[float, float, float]] = []

    def take(batch: DataFrame, number: int) -> None:
        batch.write.format("noop").mode("overwrite").save()

    parcels = read_input(spark, parse_input(f"csv+{read}?predicate=temp", 0), job, streaming=True)
    writer = run_stream([parcels], job, open_flow, 0).writeStream.foreachBatch(take)
    query = writer.option("checkpointLocation", (folder / "checkpoint").as_uri()).start()
    write(read, "all.csv", [f"wt{key:06},low,1" for key in range(keys)])
    query.processAllAvailable()
    for batch in range(BATCHES):
        begin, before = perf_counter(), cpu_seconds()
        some = [f"wt{(batch * 7919 + i * 104_729) % keys:06},high,{batch + 2}" for i in range(FACTS)]
        write(read, f"{batch:03}.csv", some)
        query.processAllAvailable()
        after = cpu_seconds()
        costs.append((perf_counter() - begin, after[0] - before[0], after[1] - before[1]))
    query.stop()
    size = sum(os.path.getsize(path) for path in folder.rglob("*") if path.is_file())
    seconds, jvm, python = (median(column) for column in zip(*costs[WARM:], strict=True))
    found = {"keys": keys, "seconds": seconds, "jvm": jvm, "python": python, "checkpoint": size}
    print(msgspec.json.encode(found).decode())
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
