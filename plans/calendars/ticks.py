"""A calendar on a program's timeline: its spells as closed ranges of encoded time.

A spell `[begin, end)` holds at each time point from the first at or behind its begin up to the last before its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidelog.plans.calendars.calendar import LOOKED_AHEAD, Calendar, Spell
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS, Timeline

MONTH = 31 * 24 * 60 * 60
YEAR = 366 * 24 * 60 * 60
"""In seconds; so much a rule sees of a calendar that looks back, or ahead, without end."""

Range = tuple[Row, int, int]
"""A row, that is the name of the spell or nothing, and its encoded range."""


@dataclass(frozen=True, slots=True)
class TickCalendar:
    """A calendar, the seconds that a tick takes, and the encoded steps that it is: one, or two on a rational timeline."""

    calendar: Calendar
    tick: Fraction
    scale: int

    @property
    def longest(self) -> int:
        """No range is longer."""
        return self.ticks(self.calendar.longest) + self.scale

    @property
    def year(self) -> int:
        """A year, encoded."""
        return self.ticks(YEAR)

    def ticks(self, seconds: int) -> int:
        """So many seconds, encoded."""
        return self._encoded(seconds)

    def ranges(self, low: int, high: int) -> list[Range]:
        """The ranges that begin at `low … high`, in order."""
        if high <= NEG or low >= POS or low > high:
            return []
        found = map(self._range, self.calendar.spells(self._second(low) - 1, self._second(high)))
        return [item for item in found if item is not None and low <= item[1] <= high]

    def around(self, time: int) -> tuple[int, int] | None:
        """The range in which a time lies; None if the calendar does not hold then."""
        spell = self.calendar.around(self._second(time))
        found = None if spell is None else self._range(spell)
        return None if found is None else found[1:]

    def begin_at(self, time: int) -> int:
        """The begin of the range in which a time lies; the time itself if the calendar does not hold then."""
        found = self.around(time)
        return time if found is None else found[0]

    def following(self, time: int) -> int:
        """The begin of the first range that begins at a time or later; or, where that is years away, a time before it."""
        second = self._second(time) - 1
        while (spell := self.calendar.following(second)) is not None:
            found = self._range(spell)
            if found is not None and found[1] >= time:
                return found[1]
            second = spell.begin + 1
        return self._encoded(second + LOOKED_AHEAD)

    def _range(self, spell: Spell) -> Range | None:
        """The range of a spell; None where no time point lies in it."""
        lo, hi = self._encoded(spell.begin), self._encoded(spell.end) - 1
        row: Row = (spell.name,) if self.calendar.is_named else ()
        return (row, lo, hi) if lo <= hi else None

    def _encoded(self, second: int) -> int:
        """The first time point at or behind a second."""
        return -(-second * self.tick.denominator // self.tick.numerator) * self.scale

    def _second(self, time: int) -> int:
        """The second in which a time point lies."""
        return time // self.scale * self.tick.numerator // self.tick.denominator


def on_timeline(calendar: Calendar, timeline: Timeline) -> TickCalendar:
    """The calendar on a timeline; ValueError where the timeline has no unit."""
    if timeline.unit is None:
        raise ValueError("a calendar needs a unit of time")
    return TickCalendar(calendar, timeline.unit * timeline.resolution, 1 if timeline.is_integer else 2)
