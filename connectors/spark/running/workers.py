"""What is the same in all of Spark's Python workers, whatever they run."""

from __future__ import annotations

import gc

_THRESHOLDS = (300_000, 20, 50)


def collect_seldom() -> None:
    """Rows and parcels hold no circles: looking for circles among millions of them is all cost.

    A worker runs many tasks: what it has loaded is put aside with the first.
    """
    if gc.get_threshold() != _THRESHOLDS:
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
