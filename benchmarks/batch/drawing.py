"""Random intervals on a program's timeline: the same seed draws the same."""

from __future__ import annotations

import random
from fractions import Fraction

from tidelog.plans.data.timeline import Timeline

STEP = Fraction(1, 2)
"""Endpoints are multiples of this."""
RANGE = 300
"""Intervals begin within `[0, RANGE)`."""


class Drawing(random.Random):
    """Draws whatever facts need; `interval` at random ends, each open or closed."""

    def __init__(self, timeline: Timeline, seed: int) -> None:
        super().__init__(seed)
        self._step = timeline.encode_point(STEP)

    def interval(self, longest: int) -> tuple[int, int]:
        """An encoded interval, longer than a step and no longer than `longest`."""
        begin = self.randrange(int(RANGE / STEP))
        end = begin + self.randint(2, int(longest / STEP))
        sides = self.getrandbits(2)
        return begin * self._step + (sides & 1), end * self._step - (sides >> 1)
