"""Runs every benchmark, prints one table, and keeps the figures in `results/`: `python -m benchmarks`.

With `--lars` those of the papers on LARS instead, with `--batch` those of batch reasoning (`--full`: over a million facts,
too), with `--spark` a program on Spark; with `--smoke` as well, over small streams and few facts, and nothing is kept.
With `--columns` whole files in columns (`--full`: 100 million rows, too).
With `--builds` the pure build beside the compiled one.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import builds
from benchmarks.batch import suite as batch
from benchmarks.columns import suite as columns
from benchmarks.figures import Figure, keep, print_table, show
from benchmarks.hand import suite as hand
from benchmarks.lars import suite
from benchmarks.programs import aggregates, asking, large, memory, operators, rules, windows
from benchmarks.runtime import (
    alarms,
    bursts,
    durable,
    events,
    frames,
    hot,
    latency,
    lines,
    machines,
    shortstop,
    standing,
    workers,
)
from benchmarks.spark import suite as spark


def main() -> None:
    """Missing a target is no error: a figure depends on the machine, and on what else it does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what tidelog costs.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--lars", action="store_true", help="the benchmarks of the papers on LARS, instead of our own")
    which.add_argument("--batch", action="store_true", help="those of batch reasoning, instead of our own")
    which.add_argument("--spark", action="store_true", help="a program on Spark and in one process, instead of our own")
    which.add_argument("--columns", action="store_true", help="whole files in columns, instead of our own")
    which.add_argument("--builds", action="store_true", help="the pure build beside the compiled one, instead of our own")
    parser.add_argument("--smoke", action="store_true", help="those over little data, to see that all runs")
    parser.add_argument(
        "--full", action="store_true", help="with --batch 1,000,000 facts, with --columns 100,000,000 rows, too"
    )
    options = parser.parse_args()
    if options.smoke and not (options.lars or options.batch or options.spark or options.columns):
        parser.error("--smoke goes with --lars, --batch, --spark or --columns")
    if options.full and (options.smoke or not (options.batch or options.columns)):
        parser.error("--full goes with --batch or --columns, without --smoke")
    if options.lars:
        suite.run(options.smoke)
    elif options.batch:
        batch.run(options.smoke, options.full)
    elif options.spark:
        spark.run(options.smoke)
    elif options.columns:
        columns.run(options.smoke, options.full)
    elif options.builds:
        show(builds.run)
    else:
        _run_own()


def _run_own() -> None:
    figures: list[Figure] = []
    own = (
        shortstop,
        windows,
        rules,
        events,
        standing,
        machines,
        alarms,
        hand,
        latency,
        bursts,
        memory,
        operators,
        aggregates,
        frames,
        asking,
        hot,
        lines,
        durable,
        workers,
        large,
    )
    for benchmark in own:
        print(f"{benchmark.__name__} …", file=sys.stderr, flush=True)
        figures += benchmark.run()
    keep(figures)
    print_table(figures)


if __name__ == "__main__":
    main()
