"""Runs every benchmark, prints one table, and keeps the figures in `results/`: `python -m benchmarks`."""

from __future__ import annotations

import sys

from benchmarks import latency, memory, operators, rules, shortstop, windows
from benchmarks.figures import Figure, keep, print_table


def main() -> None:
    """Missing a target is no error: a figure depends on the machine, and on what else it does."""
    figures: list[Figure] = []
    for benchmark in (shortstop, windows, rules, latency, memory, operators):
        print(f"{benchmark.__name__} …", file=sys.stderr, flush=True)
        figures += benchmark.run()
    keep(figures)
    print_table(figures)


if __name__ == "__main__":
    main()
