"""The runs of a row that stands: which have ended, and which are one with what stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tidelog.operators.stores.coverage import Bounds
from tidelog.plans.data.timeline import POS


def ended_runs(bounds: Bounds, since: int | None) -> int:
    """How many bounds of a row's runs do not touch what stands of it, or have no end anyway."""
    if since is None or (bounds and bounds[-1] >= POS and bounds[-2] <= since):
        return len(bounds)
    return bisect_left(bounds, since - 1) & ~1


def join_under(bounds: Bounds, since: int, known: int) -> None:
    """Make one range of those that a row, standing since then, has up to where that is known: it holds in between, too.

    >>> bounds = [1, 2, 5, 6, 8, 8, 11, 12]
    >>> join_under(bounds, 4, 10)
    >>> bounds
    [1, 2, 5, 8, 11, 12]
    """
    first, end = bisect_left(bounds, since - 1) & ~1, bisect_right(bounds, known) & ~1
    if end - first > 2:
        del bounds[first + 1 : end - 1]
