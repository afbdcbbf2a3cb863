"""Runs what has been fetched; and, for the page of figures, what is drawn beside it."""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.suites import datalogmtl, timescales
from benchmarks.suites.sources import SUITES, Suite, fetched

ROWS = 20_000


def run_fetched(suite: Suite, only: str = "", most: int = datalogmtl.MOST_FACTS) -> list[Figure]:
    """The figures of a suite, or of what has `only` in its name; SuiteError where it has not been fetched."""
    folder = fetched(suite)
    if suite.name == "timescales":
        return timescales.run(folder, only)
    if suite.name == "magic-sets":
        return datalogmtl.run_magic_sets(folder, only, most)
    return datalogmtl.run_dredmtl(folder, only, most)


def for_page() -> list[Figure]:
    """Drawn traces with the smallest and the largest bounds, and the suites that have been fetched."""
    figures = timescales.drawn(ROWS, bounds=(timescales.BOUNDS[0], timescales.BOUNDS[-1]))
    return figures + [figure for suite in SUITES.values() if suite.folder.is_dir() for figure in run_fetched(suite)]


def told() -> str:
    """What the page says of them, and which of them were not there."""
    missing = [suite for suite in SUITES.values() if not suite.folder.is_dir()]
    lines = [
        f"Monitors of past-time MTL over traces of {ROWS:,} rows, which are drawn by the parameters of "
        "[Timescales](https://github.com/doganulus/timescales): ten properties, with bounds up to 10 and up to 1,000. Each "
        "holds at all rows of its trace. The suites themselves are fetched, not copied: "
        "`python -m benchmarks.suites fetch NAME`, then `python -m benchmarks.suites run NAME`, which compares with what "
        "a suite says.",
    ]
    if missing:
        named = ", ".join(f"[{suite.name}](https://github.com/{suite.repository}/tree/{suite.commit})" for suite in missing)
        lines.append(
            f"Not fetched where this page was written, so neither tried nor measured on their own data: {named}. The "
            "readers are tested with small files in the suites' formats."
        )
    return "\n\n".join(lines)
