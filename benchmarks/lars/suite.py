"""Runs the benchmarks of both papers, one after the other, and keeps what they find."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec

from benchmarks.figures import Figure, keep, print_table
from benchmarks.lars import laser, laser2
from benchmarks.lars.panels import Findings, print_panels
from benchmarks.lars.sessions import collecting_seldom
from benchmarks.lars.sizes import PAPERS, SMOKE, Sizes

BENCHMARKS: tuple[Callable[[Sizes], Findings], ...] = (
    laser.diamond,
    laser.box,
    laser.join,
    laser.rules,
    laser.cooling,
    laser2.best,
    laser2.worst,
    laser2.cascade,
)


def run(is_smoke: bool = False) -> None:
    """Print every figure, then the ratios with their targets, and keep CSVs and plots; of small streams figures alone."""
    ratios: list[Figure] = []
    for benchmark in BENCHMARKS:
        print(f"{benchmark.__module__}.{benchmark.__name__} …", file=sys.stderr, flush=True)
        with collecting_seldom():
            findings = benchmark(SMOKE if is_smoke else PAPERS)
        print_panels(findings)
        ratios += findings.ratios
        if not is_smoke:
            keep_and_plot(findings)
    if not is_smoke:
        print()
        print_table(ratios)


def keep_and_plot(findings: Findings) -> None:
    """Leave a CSV in `results/`, and a plot where matplotlib is installed."""
    keep(findings.figures())
    if find_spec("matplotlib") is None:
        print("no plot, since matplotlib is missing: pip install -e '.[bench]'", file=sys.stderr)
        return
    from benchmarks.lars.plots import plot  # noqa: PLC0415 - matplotlib is an extra

    plot(findings)
