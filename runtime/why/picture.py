"""A reason as a picture: a lane for each fact over one axis of time, with what a rule looks at behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal
from xml.sax.saxutils import escape

from tidelog.plans.errors import DataError
from tidelog.plans.syntax import Interval
from tidelog.plans.timeline import Timeline
from tidelog.plans.visible import visible
from tidelog.runtime.why.certificate import Writer
from tidelog.runtime.why.ranges import Range

MOST_LANES = 60
"""So many lanes are drawn, at the most; the picture says how many more there are."""

Style = Literal["holds", "given", "absent", "fails", "near"]

_LEFT, _WIDTH, _LANE, _TOP = 360, 640, 30, 34
_ROOM = 11
"""So many characters above the axis leave room for seven times."""
_COLOURS: dict[Style, str] = {
    "holds": "#1f6f8b",
    "given": "#4c9f70",
    "absent": "#9a9a9a",
    "fails": "#c0392b",
    "near": "#d99a2b",
}
_STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}.by{fill:#777;font-size:10px}"
    ".axis,.tick{stroke:#bbb;stroke-width:1}.window{fill:#eef3f6;stroke:#c3d2da;stroke-dasharray:3 2}"
)


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the picture: what is said of a range, and the range that was looked at."""

    label: str
    note: str
    level: int
    style: Style
    times: Range
    window: Range | None = None


def draw(lanes: Sequence[Lane], timeline: Timeline, writer: Writer) -> str:
    """The picture of some lanes, one below the other, as SVG."""
    return _Picture(list(lanes), timeline, writer).draw()


class _Picture:
    """Lanes over one axis of time."""

    def __init__(self, lanes: list[Lane], timeline: Timeline, writer: Writer) -> None:
        self._more = max(0, len(lanes) - MOST_LANES)
        self._lanes = lanes[:MOST_LANES]
        self._timeline = timeline
        self._writer = writer
        ranges = [each for lane in self._lanes for each in (lane.times, lane.window) if each is not None]
        ends = [end for each in ranges for end in _ends(timeline.decode_interval(*each))]
        self._low, self._high = min(ends, default=Fraction(0)), max(ends, default=Fraction(1))
        if self._low == self._high:
            self._low, self._high = self._low - 1, self._high + 1
        margin = (self._high - self._low) / 20
        self._low, self._high = self._low - margin, self._high + margin

    def draw(self) -> str:
        """The whole picture as text."""
        height = _TOP + _LANE * len(self._lanes) + (24 if self._more else 8)
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}" height="{height}">']
        parts.append(f"<style>{_STYLE}</style>")
        parts.append('<rect width="100%" height="100%" fill="white"/>')
        parts += self._axis(height)
        for number, lane in enumerate(self._lanes):
            parts += self._lane(lane, _TOP + _LANE * number)
        if self._more:
            parts.append(f'<text class="by" x="8" y="{height - 8}">and {self._more} more</text>')
        parts.append("</svg>")
        return "\n".join(parts) + "\n"

    def _axis(self, height: int) -> Iterator[str]:
        yield f'<line class="axis" x1="{_LEFT}" y1="22" x2="{_LEFT + _WIDTH}" y2="22"/>'
        for time in self._ticks():
            x = self._x(time)
            yield f'<line class="tick" x1="{x}" y1="22" x2="{x}" y2="{height - 4}" stroke-opacity="0.35"/>'
            text = self._time(time)
            anchor = "end" if self._place(time) + 4 * len(text) > _LEFT + _WIDTH + 20 else "middle"
            yield f'<text x="{x}" y="16" text-anchor="{anchor}">{_text(text)}</text>'

    def _ticks(self) -> list[Fraction]:
        """Round times, as many as there is room for with what is written above them."""
        few, many = (list(_ticks(self._low, self._high, most, whole=self._timeline.is_integer)) for most in (3, 7))
        return many if all(len(self._time(time)) <= _ROOM for time in many) else few

    def _time(self, time: Fraction) -> str:
        try:
            point = self._timeline.encode_point(time)
        except DataError:  # a round time that no fact can have
            return str(time)
        return self._writer.times(point, point)

    def _lane(self, lane: Lane, top: int) -> Iterator[str]:
        x, middle = 8 + 14 * min(lane.level, 12), top + 15
        yield f'<text x="{x}" y="{top + 13}">{_text(_short(lane.label, 47 - 2 * min(lane.level, 12)))}</text>'
        yield f'<text class="by" x="{x}" y="{top + 25}">{_text(_short(lane.note, 58 - 2 * min(lane.level, 12)))}</text>'
        if lane.window is not None:
            first, last, _ = self._span(lane.window)
            yield (
                f'<rect class="window" x="{_number(first - 4)}" y="{top + 3}" '
                f'width="{_number(max(last - first, 0) + 8)}" height="{_LANE - 6}" rx="3"/>'
            )
        yield from self._bar(lane, middle)

    def _bar(self, lane: Lane, middle: int) -> Iterator[str]:
        first, last, interval = self._span(lane.times)
        colour = _COLOURS[lane.style]
        dashed = ' stroke-dasharray="5 4"' if lane.style in ("absent", "fails") else ""
        if first < last:
            yield (
                f'<line x1="{_number(first)}" y1="{middle}" x2="{_number(last)}" y2="{middle}" '
                f'stroke="{colour}" stroke-width="5"{dashed}/>'
            )
        ends = ((first, interval.low, interval.left_open), (last, interval.high, interval.right_open))
        for x, time, is_open in ends[:1] if interval.is_punctual else ends:
            if not math.isinf(time):
                fill = "white" if is_open else colour
                yield f'<circle cx="{_number(x)}" cy="{middle}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>'

    def _span(self, times: Range) -> tuple[float, float, Interval]:
        interval = self._timeline.decode_interval(*times)
        return self._place(interval.low), self._place(interval.high), interval

    def _place(self, time: Fraction | float) -> float:
        if isinstance(time, float):
            return float(_LEFT if time < 0 else _LEFT + _WIDTH)
        return _LEFT + float((time - self._low) / (self._high - self._low)) * _WIDTH

    def _x(self, time: Fraction) -> str:
        return _number(self._place(time))


def _ends(interval: Interval) -> Iterator[Fraction]:
    for end in (interval.low, interval.high):
        if not isinstance(end, float):
            yield end


def _ticks(low: Fraction, high: Fraction, most: int, *, whole: bool) -> Iterator[Fraction]:
    """Some round times of a stretch, about so many at the most."""
    rough = (high - low) / most
    power = math.floor(math.log10(float(rough))) if rough > 0 else 0
    step = next(step for step in (Fraction(10) ** power * factor for factor in (1, 2, 5, 10)) if step >= rough)
    step = max(step, Fraction(1)) if whole else step
    time = math.ceil(low / step) * step
    while time <= high:
        yield time
        time += step


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str) -> str:
    return escape(visible(text))
