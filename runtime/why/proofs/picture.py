"""A reason as a picture: a lane for each fact over one axis of time, with what a rule looks at behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Literal

from tidelog.plans.data.intervals import Range
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.visible import visible
from tidelog.plans.explaining.showing.timelines import FIRST_DATE
from tidelog.plans.pictures.lanes import Bar, BarLane, Note, Tone
from tidelog.plans.pictures.lanes import Lane as Drawn
from tidelog.plans.pictures.lanes import Timeline as Picture
from tidelog.plans.pictures.paint import cool, warm
from tidelog.plans.pictures.timeline import draw as draw_timeline

MOST_LANES = 60
"""So many lanes are drawn, at the most; the picture says how many more there are."""

Style = Literal["holds", "given", "absent", "fails", "near"]

_WIDTH, _NAMES, _DEEPEST = 1100, 360.0, 12
_TONES: dict[Style, Tone] = {"holds": warm(0), "given": cool(0), "absent": "muted", "fails": "alarm", "near": cool(1)}


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the picture: what is said of a range, and the range that was looked at."""

    label: str
    note: str
    level: int
    style: Style
    times: Range
    window: Range | None = None


def draw(lanes: Sequence[Lane], timeline: Timeline) -> str:
    """The picture of some lanes, one below the other, as SVG."""
    axis = _Axis(lanes[:MOST_LANES], timeline)
    drawn: list[Drawn] = [axis.lane(lane) for lane in lanes[:MOST_LANES]]
    if len(lanes) > MOST_LANES:
        drawn.append(Note(f"and {len(lanes) - MOST_LANES:,} more"))
    title = visible(lanes[0].label)
    picture = Picture(drawn, *axis.shown(), is_date=axis.is_date, is_whole=axis.is_whole, names=_NAMES, hidden_title=title)
    return draw_timeline(picture, width=_WIDTH)


class _Axis:
    """Encoded times as they are drawn: the program's numbers, or seconds since 1970 where these are dates."""

    def __init__(self, lanes: Sequence[Lane], timeline: Timeline) -> None:
        self._timeline = timeline
        self._unit = Fraction(1)
        ranges = [each for lane in lanes for each in (lane.times, lane.window) if each is not None]
        ends = [end for each in ranges for end in self._ends(each) if isfinite(end)]
        unit = timeline.unit
        self.is_date = unit is not None and min(ends, default=0.0) * float(unit) >= FIRST_DATE
        if self.is_date and unit is not None:
            self._unit = unit
            ends = [end * float(unit) for end in ends]
        self.is_whole = timeline.is_integer and self._unit.denominator == 1
        self._low, self._high = min(ends, default=0.0), max(ends, default=0.0)

    def shown(self) -> tuple[float, float]:
        """From when to when the picture goes: a little further than what it shows."""
        pad = (self._high - self._low) / 20 or float(self._unit)
        return self._low - pad, self._high + pad

    def lane(self, lane: Lane) -> BarLane:
        """A lane as it is drawn."""
        interval = self._timeline.decode_interval(*lane.times)
        begin, end = self._ends(lane.times)
        bar = Bar(
            begin,
            end,
            visible(lane.label),
            is_hollow=lane.style in ("absent", "fails"),
            left_open=interval.left_open and isfinite(begin),
            right_open=interval.right_open and isfinite(end),
        )
        window = None if lane.window is None else self._ends(lane.window)
        tone, level = _TONES[lane.style], min(lane.level, _DEEPEST)
        return BarLane(visible(lane.label), [bar], tone, note=visible(lane.note), level=level, window=window)

    def _ends(self, times: Range) -> tuple[float, float]:
        interval = self._timeline.decode_interval(*times)
        return float(interval.low * self._unit), float(interval.high * self._unit)
