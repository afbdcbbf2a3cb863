"""Plots of what a benchmark found, as SVG: the same figures give the same file."""

from __future__ import annotations

from math import ceil

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.figures import RESULTS
from benchmarks.lars.panels import Findings, Panel

WIDTH, HEIGHT = 4.0, 3.4
"""Of one panel, in inches."""
MARKERS = "osDv^<>x"


def plot(findings: Findings) -> None:
    """Write the panels of a benchmark side by side into `results/NAME.svg`."""
    columns = 2 if len(findings.panels) in (2, 4) else 3
    rows = ceil(len(findings.panels) / columns)
    with mpl.rc_context({"svg.hashsalt": findings.benchmark, "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
        figure.suptitle(findings.title)
        for number, panel in enumerate(findings.panels, 1):
            _draw(figure.add_subplot(rows, columns, number), panel)
        figure.savefig(RESULTS / f"{findings.benchmark}.svg", metadata={"Date": None, "Creator": None})


def _draw(axes: Axes, panel: Panel) -> None:
    for marker, (line, found) in zip(MARKERS * len(panel.lines), panel.lines.items(), strict=False):
        style = "--" if line.endswith("without") else "-"
        axes.plot(list(found), list(found.values()), style, marker=marker, markersize=4, linewidth=1, label=line)
    xs = list(next(iter(panel.lines.values())))
    axes.set_xticks(xs, [str(x) for x in xs])
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.unit)
    axes.set_title(panel.title)
    most = max(value for found in panel.lines.values() for value in found.values())
    if panel.is_wide:
        axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, most * (3 if panel.is_wide else 1.1))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
