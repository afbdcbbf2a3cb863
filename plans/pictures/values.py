"""A lane of values: lines on one scale, what they are called, and thresholds across them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Protocol

from tidelog.plans.pictures.lanes import Sample, Series, ValueLane
from tidelog.plans.pictures.paint import fitted, label, number, text_of, tone_class, width_of
from tidelog.plans.pictures.ticks import number_ticks

_LEAST, _LINE, _PAD = 108.0, 14.0, 10.0
_GAP = 6.0
"""So many times as long as between most readings no line is drawn: something was missing."""
_LARGEST = 1e300
"""Beyond it, differences would have no number."""
_DOTS = 9.0
"""Readings that lie further apart than this (pixels) have a dot each."""

Point = tuple[float, float]


class Place(Protocol):
    """Where times are."""

    @property
    def left(self) -> float: ...
    @property
    def right(self) -> float: ...
    @property
    def begin(self) -> float: ...
    @property
    def end(self) -> float: ...
    def x(self, time: float) -> float: ...


@dataclass(frozen=True, slots=True)
class _Scale:
    """Values between `low` and `high`, from `bottom` up to `top`."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value: float) -> float:
        """How high a value stands; what lies beyond the scale, at its edge."""
        value = min(max(value, self.low), self.high)
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)


def height_of(lane: ValueLane) -> float:
    """How high the lane is."""
    return max(_LEAST, 26 + _LINE * len(lane.series))


def draw_values(lane: ValueLane, field: Place, top: float, margin: float) -> Iterator[str]:
    """The lane's picture, with its top there."""
    scale = _scale(lane, field, top)
    for value, text in number_ticks(scale.low, scale.high, 4):
        y = scale.y(value)
        yield f'<path class="tl-grid" d="M{number(field.left)} {number(y)}H{number(field.right)}"/>'
        yield label(field.left - 6, y + 4, text, "tl-soft", anchor="end")
    yield label(margin, top + 15, fitted(lane.name, field.left - margin - 52), "tl-name")
    for i, series in enumerate(lane.series):
        if series.name:
            name = fitted(series.name, field.left - margin - 52)
            yield label(margin, top + 15 + _LINE * (i + 1), name, tone_class(series.tone))
    for series in lane.series:
        yield from _draw_series(series, field, scale)
    yield from _draw_thresholds(lane, field, scale)


def _scale(lane: ValueLane, field: Place, top: float) -> _Scale:
    values = [sample.value for series in lane.series for sample in _shown(series.samples, field)]
    values = [min(max(value, -_LARGEST), _LARGEST) for value in values] or [threshold.value for threshold in lane.thresholds]
    low, high = min(values, default=0.0), max(values, default=1.0)
    near = (high - low) or abs(high) or 1.0
    values += [threshold.value for threshold in lane.thresholds if low - near <= threshold.value <= high + near]
    low, high = min(values, default=0.0), max(values, default=1.0)
    pad = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return _Scale(low - pad, high + pad, top + _PAD / 2, top + height_of(lane) - _PAD / 2)


def _shown(samples: Sequence[Sample], field: Place) -> list[Sample]:
    return [sample for sample in samples if sample.end >= field.begin and sample.begin <= field.end]


def _draw_series(series: Series, field: Place, scale: _Scale) -> Iterator[str]:
    kind, samples = tone_class(series.tone), _shown(series.samples, field)
    lines = [_thinned(line) for line in _lines(samples, field, scale)]
    path = "".join(_path(line) for line in lines if len(line) > 1)
    name = f"<title>{text_of(series.name)}</title>" if series.name else ""
    if path:
        yield f'<path class="tl-line {kind}" d="{path}">{name}</path>'
    room = (field.right - field.left) / max(1, len(samples))
    dots = [point for line in lines for point in line if len(line) == 1 or (room > _DOTS and len(line) <= len(samples))]
    for x, y in dict.fromkeys(dots):
        yield f'<circle class="{kind}" stroke-width="0" cx="{number(x)}" cy="{number(y)}" r="2.2"/>'


def _lines(samples: Sequence[Sample], field: Place, scale: _Scale) -> Iterator[list[Point]]:
    """Points that a line joins. It is broken where readings are missing, and where what was held had ended."""
    longest = _longest_gap(samples)
    line: list[Point] = []
    before: Sample | None = None
    for sample in samples:
        if before is not None and not _is_joined(before, sample, longest):
            yield line
            line = []
        y = scale.y(sample.value)
        line.append((field.x(sample.begin), y))
        if sample.end > sample.begin:
            line.append((field.x(sample.end), y))
        before = sample
    if line:
        yield line


def _is_joined(before: Sample, after: Sample, longest: float) -> bool:
    gap = after.begin - before.end
    return gap <= longest if before.begin == before.end else gap <= 1e-9 * max(1.0, abs(after.begin))


def _longest_gap(samples: Sequence[Sample]) -> float:
    gaps = [after.begin - before.end for before, after in pairwise(samples)]
    return _GAP * median(gaps) if gaps else 0.0


def _thinned(points: list[Point]) -> list[Point]:
    """The points of a line; of very many in one column of pixels the first, the last, the lowest and the highest."""
    found: list[Point] = []
    column: list[Point] = []
    for point in points:
        if column and int(point[0]) != int(column[0][0]):
            found += _corners(column)
            column = []
        column.append(point)
    return found + _corners(column)


def _corners(column: list[Point]) -> list[Point]:
    if len(column) <= 4:
        return column
    kept = {0, len(column) - 1}
    kept |= {max(range(len(column)), key=lambda i: sign * column[i][1]) for sign in (1, -1)}
    return [column[i] for i in sorted(kept)]


def _path(line: Sequence[Point]) -> str:
    (x, y), *others = line
    return f"M{number(x)} {number(y)}" + "".join(f"L{number(x)} {number(y)}" for x, y in others)


def _draw_thresholds(lane: ValueLane, field: Place, scale: _Scale) -> Iterator[str]:
    last: float | None = None
    for threshold in sorted(lane.thresholds, key=lambda threshold: -threshold.value):
        y = scale.y(threshold.value)
        if scale.low <= threshold.value <= scale.high:  # what lies far off is named at the edge
            yield f'<path class="tl-limit" d="M{number(field.left)} {number(y)}H{number(field.right)}"/>'
        at = y + 4 if last is None else max(y + 4, last + 11)
        yield label(field.right + 5, at, fitted(threshold.text, width_of(threshold.text) + 10), "tl-limits")
        last = at
