"""Runs every benchmark, prints one table, and keeps the figures in `results/`: `python -m benchmarks`.

With `--lars` those of the papers on LARS instead; with `--smoke` as well, over small streams, and nothing is kept.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import asking, latency, memory, operators, rules, shortstop, windows
from benchmarks.figures import Figure, keep, print_table
from benchmarks.lars import suite


def main() -> None:
    """Missing a target is no error: a figure depends on the machine, and on what else it does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what tidelog costs.")
    parser.add_argument("--lars", action="store_true", help="the benchmarks of the papers on LARS, instead of our own")
    parser.add_argument("--smoke", action="store_true", help="those with small streams, to see that all runs")
    options = parser.parse_args()
    if options.smoke and not options.lars:
        parser.error("--smoke goes with --lars")
    if options.lars:
        suite.run(options.smoke)
    else:
        _run_own()


def _run_own() -> None:
    figures: list[Figure] = []
    for benchmark in (shortstop, windows, rules, latency, memory, operators, asking):
        print(f"{benchmark.__name__} …", file=sys.stderr, flush=True)
        figures += benchmark.run()
    keep(figures)
    print_table(figures)


if __name__ == "__main__":
    main()
