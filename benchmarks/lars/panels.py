"""Panels: the figures of one plot, printed as a grid; and a benchmark's findings: panels, and ratios with targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: what was found for each line at each x. `is_wide`: the figures, 1 or more, lie far apart."""

    title: str
    x: str
    unit: str
    lines: dict[str, dict[int, float]]
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """What a benchmark found."""

    benchmark: str
    title: str
    panels: Sequence[Panel]
    ratios: Sequence[Figure]

    def figures(self) -> list[Figure]:
        """The ratios, and each point of each panel."""
        points = [
            Figure(self.benchmark, f"{panel.title}, {line}, {panel.x} {x}", value, panel.unit)
            for panel in self.panels
            for line, found in panel.lines.items()
            for x, value in found.items()
        ]
        return [*self.ratios, *points]


def print_panels(findings: Findings) -> None:
    """Each panel as a grid, a line of the plot in a row."""
    print(f"\n{findings.title}")
    for panel in findings.panels:
        xs = list(next(iter(panel.lines.values())))
        title = f"{panel.title}, {panel.unit}"
        width = max(len(title), *map(len, panel.lines))
        print(f"\n{title:<{width}}  {panel.x} {xs[0]:>{9 - len(panel.x)}}{''.join(f'{x:>10}' for x in xs[1:])}")
        for line, found in panel.lines.items():
            print(f"{line:<{width}}  {''.join(f'{_short(value):>10}' for value in found.values())}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"
