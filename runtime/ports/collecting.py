"""Garbage collection beside much data."""

from __future__ import annotations

import gc

_THRESHOLDS = (300_000, 20, 50)
_STEADY = (10_000, 10, 10)


def collect_seldom() -> None:
    """Rows and coverage hold no circles: looking for circles among millions of them is all cost."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_steadily() -> None:
    """For a process that runs for years: circles, which tasks and requests leave, do not pile up, and no pause is long."""
    gc.freeze()
    gc.set_threshold(*_STEADY)


def collects_seldom() -> bool:
    """Whether this process has been told so."""
    return gc.get_threshold() == _THRESHOLDS
