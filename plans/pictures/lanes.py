"""What a timeline shows: lanes, each with bars or with values, over one range of times.

Times are floats here, in whatever unit the caller has; only `Timeline.is_date` says that they are seconds since 1970. Every
text is taken as it is: the drawing escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Tone = str
"""A colour: `cool(0)`, `cool(1)`, …, `warm(0)`, … of `plans/pictures/paint.py`, or `muted`, or `alarm`."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something holds from `begin` to `end`: the same time twice for a moment. Infinite ends reach the picture's edge.

    `text` is shown where the pointer rests, `label` inside, if there is room. A bar that `is_hollow` has an outline alone;
    an end that is open (the time itself does not belong to it) has a ring. `tone` is its own colour, where it has one.
    """

    begin: float
    end: float
    text: str = ""
    label: str = ""
    is_hollow: bool = False
    left_open: bool = False
    right_open: bool = False
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A value that holds from `begin` to `end`."""

    begin: float
    end: float
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """A line of values, in order of time, and what it is called."""

    name: str
    samples: Sequence[Sample]
    tone: Tone = "c0"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A value that a rule compares with, and how the comparison reads (`>= 80`)."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class BarLane:
    """One row of bars, with its name on the left: so many levels to the right, and with a `note` below it.

    A `window` is drawn behind the bars, from its begin to its end.
    """

    name: str
    bars: Sequence[Bar]
    tone: Tone = "c0"
    note: str = ""
    level: int = 0
    window: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ValueLane:
    """Values as lines on one scale, and thresholds across them."""

    name: str
    series: Sequence[Series]
    thresholds: Sequence[Threshold] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A line of text between lanes, such as what has been left out."""

    text: str


Lane = BarLane | ValueLane | Note


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture: lanes from top to bottom, over the times from `begin` to `end` (finite, `begin` below `end`)."""

    lanes: Sequence[Lane]
    begin: float
    end: float
    is_date: bool = False
    title: str = ""
    is_whole: bool = False
    """Whether no time lies between two whole numbers."""
    names: float = 260.0
    """How wide names may be, at most; they never take more than a third of the picture."""
    hidden_title: str = ""
    """What the picture is called where its title is not drawn."""
