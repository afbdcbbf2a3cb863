"""One page of figures with the machine, the versions and a picture, kept with each release: `make bench-report`.

What is measured beside other tools comes first: a stream, aggregates, whole files. Then what tidelog costs beside code by
hand, what an event costs in an engine, and suites of others. Each figure is of one run on one machine, and ratios are what
to compare.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import log10
from pathlib import Path

from benchmarks.columns import suite as columns
from benchmarks.figures import Figure, keep
from benchmarks.suites import running
from tidelog.version import VERSION

PAGE = Path(__file__).parent.parent / "docs" / "background" / "benchmarks.md"
PICTURE = PAGE.parent.parent / "pictures" / "benchmarks.svg"
TOOLS = ("bytewax", "duckdb", "polars", "pandas", "numpy", "pyarrow")
ROWS = 1_000_000
_WIDTH, _LINE, _LEFT, _LEAST = 720, 22, 300, 0.01


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: what is measured, by which command, and the figures."""

    title: str
    told: str
    command: str
    measure: Callable[[], list[Figure]]


def _run(module: str) -> list[Figure]:
    """The figures of a benchmark, which may need tools that only those who measure have."""
    found: list[Figure] = import_module(module).run()
    return found


PARTS = (
    Part(
        "A stream",
        "An alarm after ten seconds on end, 50 sensors. tidelog puts late readings where they belong, forgets what it needs "
        "no more, and can say why; the others do not. SQLite answers a query a batch, from a table in memory.",
        "python -m benchmarks.streams",
        partial(_run, "benchmarks.streams"),
    ),
    Part(
        "Aggregates",
        "Means, counts and held values over a history beside pandas, Polars and DuckDB with all their threads, and over a "
        "stream beside Python by hand.",
        "python -m benchmarks.beside",
        partial(_run, "benchmarks.beside"),
    ),
    Part(
        "Whole files",
        f"{ROWS:,} rows from Parquet and CSV to answers, decoding included, each tool on one thread. DuckDB and Polars get "
        "the rule as a query that somebody wrote for it.",
        "python -m benchmarks --columns",
        lambda: columns.measure(columns.Sizes((ROWS,), 3, (100_000, 100))),
    ),
    Part(
        "Beside code by hand",
        "The same five programs as plain Python, which does what its rule says and no more: no snapshots, no bound on "
        "memory.",
        "python -m benchmarks.hand.suite",
        partial(_run, "benchmarks.hand.suite"),
    ),
    Part(
        "An event through an engine",
        "From a source to a sink through five operators, with the event loops between.",
        "python -m benchmarks.runtime.latency",
        partial(_run, "benchmarks.runtime.latency"),
    ),
    Part("Public suites", running.told(), "python -m benchmarks.suites run timescales --drawn", running.for_page),
)


def main() -> None:
    """Measure all parts, and write the page and its picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", action="append", choices=[part.title for part in PARTS], help="this part alone")
    chosen = parser.parse_args().part
    found: dict[Part, list[Figure]] = {}
    for part in PARTS:
        if not chosen or part.title in chosen:
            print(f"{part.title} …", file=sys.stderr, flush=True)
            found[part] = part.measure()
            keep(found[part])
    PICTURE.write_text(
        picture([figure for figures in found.values() for figure in figures if figure.benchmark == "streams"])
    )
    PAGE.write_text(page(found))


def page(found: dict[Part, list[Figure]]) -> str:
    """The page as Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "`make bench-report` measures these figures, and writes this page. They are of one run; what else the machine does",
        "moves them. Compare ratios on your own machine. MonPoly and RTEC are not among the tools: neither PyPI nor Debian",
        "has them.",
        "",
        "![What a reading costs with tidelog, bytewax, SQLite, and Python by hand](../pictures/benchmarks.svg)",
        "",
        *_machine(),
    ]
    for part, figures in found.items():
        lines += [
            "",
            f"## {part.title}",
            "",
            part.told,
            "",
            f"`{part.command}`",
            "",
            "| what | found | target |",
            "| --- | --- | --- |",
        ]
        lines += [_row(figure) for figure in figures]
    return "\n".join(lines) + "\n"


def _row(figure: Figure) -> str:
    value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
    unit = f" {figure.unit}" if figure.unit else " ×" if " / " in figure.name else ""
    target = "" if figure.target is None else f"≤ {figure.target:g}{'' if figure.value <= figure.target else ', missed'}"
    return f"| {figure.name} | {value}{unit} | {target} |"


def _machine() -> list[str]:
    known = {"tidelog": VERSION, "Python": platform.python_version(), **_versions()}
    cores, memory = os.cpu_count(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        "| | |",
        "| --- | --- |",
        f"| machine | {_processor()}, {cores} cores, {memory:.0f} GiB |",
        f"| system | {platform.system()} {platform.release().partition('-')[0]}, {platform.machine()} |",
        f"| versions | {', '.join(f'{name} {number}' for name, number in known.items())} |",
    ]


def _versions() -> dict[str, str]:
    found = {}
    for name in TOOLS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # it was not measured either
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def picture(figures: Sequence[Figure]) -> str:
    """What a reading costs with each tool, as bars; each step to the right is ten times as much."""
    costs = [(figure.name.removesuffix(", a reading"), figure.value) for figure in figures if figure.unit == "µs"]
    most = max((cost for _, cost in costs), default=1.0)
    scale = (_WIDTH - _LEFT - 90) / (log10(most / _LEAST) or 1)
    bars = []
    for number, (name, cost) in enumerate(costs):
        y, long = number * _LINE + 6, max(2.0, log10(max(cost, _LEAST) / _LEAST) * scale)
        kind = "own" if name.startswith("tidelog") else "other"
        bars.append(
            f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{long:.1f}" height="15"/>'
            f'<text x="{_LEFT + long + 6:.1f}" y="{y + 12}">{cost:.3g} µs</text>'
        )
    height = len(costs) * _LINE + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">'
        "<title>What a reading costs with each tool, on a logarithmic scale</title>"
        "<style>text{font:13px sans-serif;fill:#333}.own{fill:#c2571a}.other{fill:#8a97a6}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>"
        f"{''.join(bars)}</svg>\n"
    )


if __name__ == "__main__":
    main()
