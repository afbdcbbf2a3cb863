"""`python -m benchmarks.suites`: what suites there are; `fetch NAME [--from PATH]`; `run NAME`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, keep, print_table
from benchmarks.suites import datalogmtl, timescales
from benchmarks.suites.running import run_fetched
from benchmarks.suites.sources import SUITES, SuiteError, fetch

DRAWN_ROWS = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 where a suite cannot be had or read, or says something else than was found."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "fetch":
            print(fetch(SUITES[options.name], options.given))
        elif options.command == "run":
            figures = _run(options)
            print_table(figures)
            keep(figures)
            return int(any(figure.verdict == "missed" for figure in figures))
        else:
            for suite in SUITES.values():
                where = "fetched" if suite.folder.is_dir() else "not fetched"
                print(f"{suite.name}: {suite.told} ({suite.repository}, {where})")
    except SuiteError as error:
        print(f"benchmarks.suites: error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suites", description="Measure tidelog with suites of others."
    )
    commands = parser.add_subparsers(dest="command")
    fetching = commands.add_parser("fetch", help="get a suite at its commit into build/suites, and check it")
    fetching.add_argument("--from", dest="given", type=Path, metavar="PATH", help="a clone or an archive, not the URL")
    running = commands.add_parser("run", help="measure, and compare with what the suite says")
    running.add_argument("--only", default="", metavar="TEXT", help="the parts of the suite with this in their name")
    running.add_argument("--most-facts", type=int, default=datalogmtl.MOST_FACTS, metavar="N", help="leave larger data out")
    running.add_argument("--drawn", type=int, nargs="?", const=DRAWN_ROWS, metavar="ROWS", help="timescales: drawn traces")
    for command in (fetching, running):
        command.add_argument("name", choices=SUITES)
    return parser


def _run(options: argparse.Namespace) -> list[Figure]:
    suite = SUITES[options.name]
    if options.drawn is None:
        return run_fetched(suite, options.only, options.most_facts)
    if suite.name != "timescales":
        raise SuiteError(f"`{suite.name}` has data of its own; --drawn goes with timescales")
    return timescales.drawn(options.drawn, options.only)


if __name__ == "__main__":
    sys.exit(main())
