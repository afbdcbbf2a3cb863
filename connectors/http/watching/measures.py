"""How long something takes: counted in buckets, as Prometheus wants it."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Up to how many seconds each bucket goes; one more has the rest."""


class Durations:
    """A histogram of durations in seconds.

    >>> taken = Durations()
    >>> taken.observe(0.003); taken.observe(99)
    >>> taken.count, taken.cumulative()[3], taken.cumulative()[-1]
    (2, ('0.005', 1), ('+Inf', 2))
    """

    def __init__(self) -> None:
        self._buckets = [0] * (len(BOUNDS) + 1)
        self.count = 0
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """It took so long once more."""
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self.count += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, int]]:
        """For each bound how often it took no longer."""
        found, so_far = [], 0
        for bound, count in zip([*map(str, BOUNDS), "+Inf"], self._buckets, strict=True):
            so_far += count
            found.append((bound, so_far))
        return found
