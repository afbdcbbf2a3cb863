"""A timeline as SVG: lanes under each other, with one axis of time below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.plans.pictures.lanes import Bar, BarLane, Lane, Note, Timeline, ValueLane
from tidelog.plans.pictures.paint import Theme, fitted, label, number, picture, text_of, tone_class, width_of
from tidelog.plans.pictures.ticks import Tick, date_ticks, number_ticks
from tidelog.plans.pictures.values import draw_values, height_of

WIDTH = 960
"""How wide a picture is unless told otherwise."""
_GUTTER = 72.0
"""How wide the names are, at least."""
_MARGIN = 16.0
_BAR_LANE, _BAR, _NOTE, _AXIS, _TITLE = 22.0, 13.0, 18.0, 26.0, 26.0
_NOTED, _INDENT = 33.0, 13.0
"""The height of a lane with a note, and how far each level lies to the right."""
_LEAST_BAR, _WINDOW, _RING = 3.0, 4.0, 3.5
_NEAR = 0.6
"""Bars that lie closer than this (pixels) are drawn as one where a lane has very many."""
_MANY = 400


@dataclass(frozen=True, slots=True)
class Field:
    """Where the lanes stand: from `left` to `right`, for the times from `begin` to `end`."""

    left: float
    right: float
    begin: float
    end: float

    def x(self, time: float) -> float:
        """Where a time is; what lies outside is at the edge."""
        part = (min(max(time, self.begin), self.end) - self.begin) / (self.end - self.begin)
        return self.left + part * (self.right - self.left)


def draw(timeline: Timeline, *, width: int = WIDTH, theme: Theme = "auto") -> str:
    """The timeline as an SVG document. ValueError where it has no time to show.

    >>> from tidelog.plans.pictures.lanes import Bar, BarLane
    >>> draw(Timeline([BarLane("hot", [Bar(1, 3)])], 0, 4)).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    if not timeline.begin < timeline.end:
        raise ValueError(f"a timeline has times to show, got {timeline.begin} to {timeline.end}")
    field = _field(timeline, width)
    top = _MARGIN + (_TITLE if timeline.title else 0)
    bottom = top + sum(map(_height, timeline.lanes))
    parts = [label(_MARGIN, _MARGIN + 10, timeline.title, "tl-name")] if timeline.title else []
    ticks = _ticks(timeline, field)
    parts += _bands(timeline.lanes, field, top)
    parts += _grid(ticks, field, top, bottom)
    for lane in timeline.lanes:
        parts += _draw_lane(lane, field, top)
        top += _height(lane)
    parts += _axis(ticks, field, bottom, is_date=timeline.is_date)
    named = ", ".join(lane.name for lane in timeline.lanes if not isinstance(lane, Note))
    title = timeline.title or timeline.hidden_title or f"timeline of {named}"
    return picture(width, bottom + _AXIS + _MARGIN / 2, "".join(parts), title=title, theme=theme)


def _field(timeline: Timeline, width: int) -> Field:
    scales = [lane for lane in timeline.lanes if isinstance(lane, ValueLane)]
    names = [
        _INDENT * lane.level + max(width_of(lane.name), width_of(lane.note))
        for lane in timeline.lanes
        if isinstance(lane, BarLane)
    ]
    names += [width_of(lane.name) * 1.12 + 52 for lane in scales]
    names += [width_of(series.name) + 52 for lane in scales for series in lane.series]
    limits = [width_of(limit.text) + 8 for lane in scales for limit in lane.thresholds]
    gutter = min(max([*names, _GUTTER]), timeline.names, width / 3) + 14
    return Field(_MARGIN + gutter, width - _MARGIN - max(limits, default=4.0), timeline.begin, timeline.end)


def _height(lane: Lane) -> float:
    if isinstance(lane, ValueLane):
        return height_of(lane)
    if isinstance(lane, Note):
        return _NOTE
    return _NOTED if lane.note else _BAR_LANE


def _ticks(timeline: Timeline, field: Field) -> list[Tick]:
    most = max(2, int((field.right - field.left) / 90))
    if timeline.is_date:
        return date_ticks(timeline.begin, timeline.end, most) or number_ticks(timeline.begin, timeline.end, most)
    return number_ticks(timeline.begin, timeline.end, most, is_whole=timeline.is_whole)


def _grid(ticks: Sequence[Tick], field: Field, top: float, bottom: float) -> list[str]:
    lines = "".join(f"M{number(field.x(time))} {number(top)}V{number(bottom)}" for time, _ in ticks)
    return [f'<path class="tl-grid" d="{lines}"/>'] if lines else []


def _axis(ticks: Sequence[Tick], field: Field, bottom: float, *, is_date: bool) -> Iterator[str]:
    yield f'<path class="tl-edge" d="M{number(field.left)} {number(bottom)}H{number(field.right)}"/>'
    last = field.left - 100
    for time, text in ticks:
        x, half = field.x(time), width_of(text) / 2
        if x - half > last + 6:
            place = min(max(x, field.left - 20 + half), field.right + 12 - half)
            yield label(place, bottom + 17, text, "tl-soft", anchor="middle")
            last = x + half
    if is_date:
        yield label(_MARGIN, bottom + 17, "UTC", "tl-soft")


def _bands(lanes: Sequence[Lane], field: Field, top: float) -> Iterator[str]:
    """What tells one lane from the next."""
    x, width = number(_MARGIN / 2), number(field.right - _MARGIN / 2)
    for i, lane in enumerate(lanes):
        height = _height(lane)
        if i % 2 == 0 and not isinstance(lane, Note):
            yield f'<rect class="tl-band" x="{x}" y="{number(top)}" width="{width}" height="{number(height)}" rx="3"/>'
        top += height


def _draw_lane(lane: Lane, field: Field, top: float) -> Iterator[str]:
    if isinstance(lane, Note):
        yield label(_MARGIN, top + 12, fitted(lane.text, field.right - _MARGIN), "tl-soft")
        return
    if isinstance(lane, ValueLane):
        yield from draw_values(lane, field, top, _MARGIN)
        return
    yield _name(lane, field, top)
    if lane.window is not None:
        yield _window(lane.window, field, top, _height(lane))
    yield from _bars(lane, field, top + (_height(lane) - _BAR) / 2)


def _name(lane: BarLane, field: Field, top: float) -> str:
    x = _MARGIN + _INDENT * lane.level
    shown = [fitted(text, field.left - x - 10) for text in (lane.name, lane.note)]
    told = "\n".join(text for text in (lane.name, lane.note) if text)
    whole = f"<title>{text_of(told)}</title>" if shown != [lane.name, lane.note] else ""
    note = label(x, top + 27, shown[1], "tl-soft") if lane.note else ""
    return f"<g>{whole}{label(x, top + (14 if lane.note else 15), shown[0])}{note}</g>"


def _window(window: tuple[float, float], field: Field, top: float, height: float) -> str:
    begin, end = field.x(window[0]) - _WINDOW, field.x(window[1]) + _WINDOW
    place = f'x="{number(begin)}" y="{number(top + 3)}" width="{number(end - begin)}" height="{number(height - 6)}"'
    return f'<rect class="tl-muted" style="fill-opacity:.1;stroke-opacity:.5" stroke-dasharray="3 2" {place} rx="3"/>'


def _bars(lane: BarLane, field: Field, top: float) -> Iterator[str]:
    for bar in sorted(_thinned(lane.bars, field), key=_stands_out):  # the last is on top
        kind = tone_class(lane.tone if bar.tone is None else bar.tone)
        if bar.end < field.begin or bar.begin > field.end:
            continue
        begin, end = field.x(bar.begin), field.x(bar.end)
        if bar.is_hollow and end - begin < _LEAST_BAR:
            yield _ring(kind, (begin + end) / 2, top + _BAR / 2, bar.text)
            continue
        width = max(end - begin, _LEAST_BAR)
        x = begin if end - begin >= _LEAST_BAR else (begin + end - width) / 2
        text = f"<title>{text_of(bar.text)}</title>" if bar.text else ""
        place = f'x="{number(x)}" y="{number(top)}" width="{number(width)}" height="{number(_BAR)}"'
        outline = 'stroke-width="1.5" stroke-dasharray="4 3" style="fill:none"' if bar.is_hollow else 'stroke-width="0"'
        yield f'<rect class="{kind}" {outline} {place} rx="2">{text}</rect>'
        for is_open, at in ((bar.left_open, begin), (bar.right_open, end)):
            if is_open:
                yield _ring(kind, at, top + _BAR / 2)
        if bar.label and width_of(bar.label) + 8 < width:
            yield label(x + 4, top + 10, bar.label, "tl-inside")


def _stands_out(bar: Bar) -> bool:
    return bar.tone is not None


def _ring(kind: str, x: float, y: float, told: str = "") -> str:
    """An end that does not belong to its bar, or a moment that is hollow."""
    text = f"<title>{text_of(told)}</title>" if told else ""
    place = f'cx="{number(x)}" cy="{number(y)}" r="{_RING}"'
    return f'<g class="{kind}"><circle class="tl-band" stroke-width="1.5" {place}/>{text}</g>'


def _thinned(bars: Sequence[Bar], field: Field) -> Sequence[Bar]:
    """The bars, in order; where there are very many, those that nobody could tell apart are one."""
    ordered = sorted(bars, key=lambda bar: (bar.begin, bar.end))
    if len(ordered) <= _MANY:
        return ordered
    found: list[Bar] = []
    count = 0
    for bar in ordered:
        if found and field.x(bar.begin) - field.x(found[-1].end) < _NEAR:
            count += 1
            last = found[-1]
            tone = last.tone if bar.tone is None else bar.tone  # what stands out does so among others, too
            found[-1] = Bar(last.begin, max(last.end, bar.end), f"{count} intervals", tone=tone)
        else:
            found.append(bar)
            count = 1
    return found
