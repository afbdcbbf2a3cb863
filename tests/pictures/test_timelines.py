"""Timelines: what is drawn where, that every picture is well-formed, and that its size is bounded."""

from __future__ import annotations

import colorsys
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog.plans.pictures.lanes import Bar, BarLane, Lane, Note, Sample, Series, Threshold, Timeline, ValueLane
from tidelog.plans.pictures.paint import DARK, LIGHT, Palette, Theme, warm
from tidelog.plans.pictures.ticks import date_ticks, number_ticks
from tidelog.plans.pictures.timeline import draw

SVG = "{http://www.w3.org/2000/svg}"
DAY = 86400.0


def shapes(svg: str, tag: str, kind: str = "") -> list[ElementTree.Element]:
    """The elements of a picture with this tag, and, if told, this class."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return [node for node in root.iter(SVG + tag) if kind in ("", *node.get("class", "").split())]


def spans(svg: str, kind: str) -> list[tuple[float, float]]:
    """From where to where the bars of a colour reach."""
    found = [(float(node.get("x", "")), float(node.get("width", ""))) for node in shapes(svg, "rect", kind)]
    return [(x, x + width) for x, width in found]


def test_bars_stand_where_their_times_are() -> None:
    """A bar reaches from its begin to its end on one scale; what has no end reaches the edge; a moment can be seen."""
    bars = [Bar(2, 4, "a"), Bar(5, 5), Bar(8, math.inf)]
    svg = draw(Timeline([BarLane("hot", bars), BarLane("all", [Bar(-math.inf, math.inf)], warm(0))], 0, 10))
    ((left, right),) = spans(svg, "tl-w0")
    first, moment, endless = spans(svg, "tl-c0")
    unit = (right - left) / 10
    assert first == pytest.approx((left + 2 * unit, left + 4 * unit), abs=0.2)
    assert moment[1] - moment[0] >= 3
    assert endless == pytest.approx((left + 8 * unit, right), abs=0.2)
    assert "<title>a</title>" in svg


def test_values_are_lines_above_their_thresholds() -> None:
    """A larger value stands higher; the threshold is a line at its own value; a gap in the readings breaks the line."""
    samples = [Sample(time, time, 60 + time) for time in (*range(10), *range(40, 50))]
    svg = draw(Timeline([ValueLane("temp", [Series("s1", samples)], [Threshold(85, ">= 85")])], 0, 50))
    (line,) = shapes(svg, "path", "tl-line")
    path = line.get("d", "")
    assert path.count("M") == 2
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert heights == sorted(heights, reverse=True)
    (limit,) = shapes(svg, "path", "tl-limit")
    at = float(re.findall(r"M[\d.]+ ([\d.]+)", limit.get("d", ""))[0])
    assert heights[9] > at > heights[-1]
    assert [node.text for node in shapes(svg, "text", "tl-limits")] == [">= 85"]


def test_a_value_that_is_held_is_a_step() -> None:
    """What holds over an interval is level; where it has ended, nothing is drawn until the next."""
    svg = draw(Timeline([ValueLane("v", [Series("a", [Sample(0, 2, 1), Sample(2, 4, 3), Sample(6, 8, 3)])])], 0, 10))
    (line,) = shapes(svg, "path", "tl-line")
    first, second = line.get("d", "").removeprefix("M").split("M")
    assert [first.count("L"), second.count("L")] == [3, 1]


def test_a_picture_of_very_many_facts_is_bounded() -> None:
    """A hundred thousand readings and bars make a picture that a page can show: what nobody could tell apart is one."""
    samples = [Sample(time, time, math.sin(time)) for time in range(100_000)]
    bars = [Bar(2 * time, 2 * time + 1, "x" * 50) for time in range(50_000)]
    svg = draw(Timeline([ValueLane("v", [Series("a", samples)]), BarLane("b", bars)], 0, 100_000))
    assert len(svg) < 100_000


def test_a_threshold_far_off_leaves_the_scale_to_the_values() -> None:
    """A number that no value comes near is named at the edge, and has no line."""
    samples = [Sample(time, time, 20 + time / 10) for time in range(10)]
    svg = draw(Timeline([ValueLane("v", [Series("a", samples)], [Threshold(500, "> 500"), Threshold(21, "> 21")])], 0, 10))
    assert [node.text for node in shapes(svg, "text", "tl-limits")] == ["> 500", "> 21"]
    assert len(shapes(svg, "path", "tl-limit")) == 1


TEXT = st.text(st.characters(), max_size=12)  # surrogates, too: a title may be no UTF-8
TIMES = st.one_of(st.floats(-50, 150), st.sampled_from([-math.inf, math.inf]))
SPANS = st.tuples(TIMES, TIMES).map(sorted)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
BARS = st.builds(
    lambda name, spans, text: BarLane(name, [Bar(*span, text, text) for span in spans]), TEXT, st.lists(SPANS), TEXT
)
SAMPLES = st.lists(st.builds(lambda span, value: Sample(*span, value), SPANS, FINITE), max_size=6)
VALUES = st.builds(
    lambda name, samples, limit: ValueLane(name, [Series(name, samples)], [Threshold(limit, name)]), TEXT, SAMPLES, FINITE
)
LANES = st.lists(st.one_of(BARS, VALUES, st.builds(Note, TEXT)), max_size=4)


@drawn(80)
@given(LANES, st.sampled_from(["auto", "light", "dark"]), st.booleans(), TEXT)
def test_every_picture_is_well_formed(lanes: list[Lane], theme: Theme, is_date: bool, title: str) -> None:
    """Whatever names, texts and times there are: it is XML, without scripts, and no coordinate is missing."""
    svg = draw(Timeline(lanes, 0, 100, is_date, title), theme=theme)
    tags = {node.tag.removeprefix(SVG) for node in ElementTree.fromstring(svg).iter()}  # noqa: S314 - our own
    assert tags <= {"svg", "title", "style", "rect", "path", "text", "g", "circle"}
    assert "nan" not in re.sub(r"<(text|title)[^>]*>[^<]*<", "<", svg)
    assert "inf" not in re.sub(r"<(text|title)[^>]*>[^<]*<", "<", svg)


def test_colours_follow_the_screen_or_are_told() -> None:
    """With `auto` both schemes are there; a theme is one of them alone."""
    timeline = Timeline([BarLane("hot", [Bar(0, 1)])], 0, 1)
    assert "prefers-color-scheme:dark" in draw(timeline)
    light, dark = draw(timeline, theme="light"), draw(timeline, theme="dark")
    assert "prefers-color-scheme" not in light + dark
    assert "#ffffff" in light
    assert "#ffffff" not in dark


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours, as the guidelines for accessible pages (WCAG) count it."""

    def luminance(colour: str) -> float:
        parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _channels(colour))
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def _hue(colour: str) -> float:
    """From 0 (red) by 120 (green) and 240 (blue) to 360."""
    return colorsys.rgb_to_hsv(*_channels(colour))[0] * 360


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_no_colour_is_green_and_all_can_be_read(palette: Palette) -> None:
    """What rules derive is warm, what comes in is cool, on both grounds; and no two of a kind are the same."""
    assert all(_hue(colour) < 60 or _hue(colour) > 300 for colour in (*palette.warm, palette.alarm))
    assert all(185 < _hue(colour) < 270 for colour in palette.cool)
    colours = [*palette.cool, *palette.warm, palette.alarm]
    assert len(set(colours)) == len(colours)
    grounds = [palette.frame[name] for name in ("ground", "band")]
    assert min(_contrast(colour, ground) for colour in colours for ground in grounds) >= 4.5


def test_no_time_to_show() -> None:
    """A timeline that ends where it begins is refused."""
    with pytest.raises(ValueError, match="a timeline has times to show, got 3 to 3"):
        draw(Timeline([], 3, 3))


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        (10, ["1 Jan 2024", "00:00:02", "00:00:04", "00:00:06", "00:00:08", "00:00:10"]),
        (3600, ["1 Jan 2024", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]),
        (2 * DAY, ["1 Jan 2024", "12:00", "2 Jan", "12:00", "3 Jan"]),
        (366 * DAY, ["1 Jan 2024", "1 Mar", "1 May", "1 Jul", "1 Sep", "1 Nov", "1 Jan 2025"]),
        (0.5, ["00:00:0.0", "00:00:0.1", "00:00:0.2", "00:00:0.3", "00:00:0.4", "00:00:0.5"]),
    ],
)
def test_dates_are_round(span: float, texts: list[str]) -> None:
    """Marks are round times of the calendar; each says what has changed since the one before."""
    begin = 1704067200.0
    assert [text for _, text in date_ticks(begin, begin + span, 7)] == texts


def test_numbers_are_round_and_whole_where_they_have_to_be() -> None:
    """A timeline of whole numbers has no marks between them."""
    assert [text for _, text in number_ticks(0, 3, 8)] == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]
    assert [text for _, text in number_ticks(0, 3, 8, is_whole=True)] == ["0", "1", "2", "3"]
    assert number_ticks(-2_000, 2_000, 4)[0] == (-2000, "-2,000")


def test_a_lane_has_a_note_a_window_and_open_ends() -> None:
    """A note stands below the name; a window lies behind the bars; an open end and a hollow moment are rings."""
    bars = [Bar(1, 3, right_open=True), Bar(5, 5, "absent", is_hollow=True), Bar(6, 8, is_hollow=True)]
    plain = draw(Timeline([BarLane("hot", bars[:0])], 0, 9))
    picture = draw(Timeline([BarLane("hot", bars, note="by <rule>", level=2, window=(0, 9))], 0, 9, hidden_title="why"))
    assert "by &lt;rule&gt;" in picture
    assert "<title>why</title>" in picture
    assert picture.count("<circle") == 2
    assert "<title>absent</title></g>" in picture
    assert picture.count("stroke-dasharray=") == plain.count("stroke-dasharray=") + 2
