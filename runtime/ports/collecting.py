"""Garbage collection beside much data."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def not_collecting() -> Iterator[None]:
    """While much is made that stays, such as a state that is read: to look through it finds nothing, and costs the most."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collects_seldom() -> bool:
    """Whether this process has been told so."""
    return gc.get_threshold() == _THRESHOLDS
