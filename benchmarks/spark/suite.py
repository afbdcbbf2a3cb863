"""Runs the turbine program on Spark and in one process, and keeps what that costs."""

from __future__ import annotations

from benchmarks.figures import Figure, keep, print_table
from benchmarks.lars.panels import print_panels
from benchmarks.spark import history, streams
from benchmarks.spark.sizes import SMOKE, USUAL


def run(is_smoke: bool = False) -> None:
    """Print every figure, then the ratios, and keep CSVs; of few rows figures alone."""
    ratios: list[Figure] = []
    for measure in (history.measure, streams.measure):
        findings = measure(SMOKE if is_smoke else USUAL)
        print_panels(findings)
        ratios += findings.ratios
        if not is_smoke:
            keep(findings.figures())
    print()
    print_table(ratios)
