"""Spark's time beside ours: its watermark counts milliseconds since 1970, ours are integers of a program's timeline.

A tick of ours is a millisecond to Spark, or, where ticks are so fine that dates would not fit, some of them are; and our 0
is moved so far that all our watermarks are above Spark's 0, which means that there is none yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tidelog.plans.data.timeline import Timeline

ORIGIN = 1 << 52
"""Where Spark's time has our 0. It can follow as far in both directions."""
_SECONDS = 8_000_000_000
"""How far from 1970 dates have to fit: some 250 years."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How times of one timeline are told to Spark: so many `grain` of its ticks are one of Spark's."""

    timeline: Timeline
    grain: int

    @classmethod
    def of(cls, timeline: Timeline) -> Clock:
        """The finest that reaches all dates that people mean, where the timeline has any.

        >>> Clock.of(Timeline("integer")).watermark(ORIGIN + 7)
        6
        """
        if timeline.unit is None:
            return cls(timeline, 1)
        tick = timeline.unit * (1 if timeline.is_integer else timeline.resolution)
        return cls(timeline, max(1, ceil(_SECONDS / tick / ORIGIN)))

    @property
    def unit(self) -> int:
        """How many encoded times one of Spark's milliseconds stands for: a tick and the gap behind it count as one."""
        return self.grain if self.timeline.is_integer else 2 * self.grain

    @property
    def limit(self) -> int:
        """The encoded time from which on Spark cannot follow, as far as before its negative."""
        return (ORIGIN - 1) * self.unit

    def delay(self, lateness: int) -> int:
        """The milliseconds of an encoded lateness, rounded up."""
        return -(-lateness // self.unit)

    def watermark(self, milliseconds: int) -> int | None:
        """The encoded watermark that Spark's stands for; None where there is none yet.

        A fact that begins at the last begin less the lateness is not late (`runtime/intake/intake.py`).
        """
        return (milliseconds - ORIGIN) * self.unit - 1 if milliseconds > 0 else None

    def reaches(self, watermark: int) -> int | None:
        """The first of Spark's watermarks that is not before an encoded one; None where there is none.

        >>> clock = Clock.of(Timeline("integer"))
        >>> clock.watermark(clock.reaches(6))
        6
        """
        if watermark > self.limit:
            return None
        return max(1, -(-(watermark + 1) // self.unit) + ORIGIN)
