"""Figures: what a benchmark finds, beside what it should find; printed as a table and kept as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a benchmark, in `unit`; a `target` is the most that it should be, None where there is none."""

    benchmark: str
    name: str
    value: float
    unit: str = ""
    target: float | None = None

    @property
    def verdict(self) -> str:
        """`ok`, `missed`, or nothing where there is no target."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "missed"


def show(benchmark: Callable[[], list[Figure]]) -> None:
    """Run one benchmark as a script: print its figures, and keep them."""
    figures = benchmark()
    print_table(figures)
    keep(figures)


def print_table(figures: Sequence[Figure]) -> None:
    """One line a figure: name, figure, target, verdict."""
    width = max(len(_title(figure)) for figure in figures)
    print(f"{'name':<{width}}  {'figure':>12}  {'target':>10}")
    for figure in figures:
        target = "" if figure.target is None else f"≤ {figure.target:g}"
        value = f"{_number(figure.value)} {figure.unit}".strip()
        print(f"{_title(figure):<{width}}  {value:>12}  {target:>10}  {figure.verdict}".rstrip())


def _title(figure: Figure) -> str:
    return f"{figure.benchmark}: {figure.name}"


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def keep(figures: Sequence[Figure]) -> None:
    """Write a CSV for each benchmark into `results/`, in place of that of an earlier run."""
    for name in dict.fromkeys(figure.benchmark for figure in figures):
        with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*(field.name for field in fields(Figure)), "verdict"])
            writer.writerows([*astuple(figure), figure.verdict] for figure in figures if figure.benchmark == name)
