"""What is the same in all of Spark's Python workers, whatever they run."""

from __future__ import annotations

from tidelog.runtime import collecting


def collect_seldom() -> None:
    """Collect garbage seldom. A worker runs many tasks: what it has loaded is put aside with the first."""
    if not collecting.collects_seldom():
        collecting.collect_seldom()
