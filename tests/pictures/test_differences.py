"""The picture of a backtest: what only one program tells stands out, and there are never more lanes than were asked for."""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli import main
from tidelog.plans.pictures.lanes import Bar, BarLane, Timeline
from tidelog.plans.pictures.timeline import draw
from tidelog.runtime.columns.backtest import Backtest

SVG = "{http://www.w3.org/2000/svg}"
PROGRAM = """timeline integer, unit 1 s.
parameter LIMIT = 3.
input temp(room: text, value: number).
alarm(R) :- temp(R, V), V >= LIMIT.
output alarm.
"""
READINGS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcd"), st.integers(0, 5)), max_size=40)


def _backtest(readings: list[tuple[int, str, int]], old: int, new: int, labels: list[tuple[str, int, int]]) -> Backtest:
    plans = [tidelog.compile(PROGRAM, parameters={"LIMIT": limit}) for limit in (old, new)]
    times, rooms, values = ([reading[place] for reading in readings] for place in range(3))
    records = [("alarm", (room,) if room else (), lo, hi) for room, lo, hi in labels]
    frame = {"time": times, "room": rooms, "value": values}
    return tidelog.backtest(*plans, {"temp": frame}, labels={"alarm": records} if labels else None)


def _told(svg: str, kind: str) -> list[str]:
    """What the bars of a colour say."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    bars = [node for node in root.iter(SVG + "rect") if kind in node.get("class", "").split()]
    return [title.text or "" for bar in bars if (title := bar.find(SVG + "title")) is not None]


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return [node.text or "" for node in root.iter(SVG + "text")]


def _ticks(texts: list[str]) -> set[tuple[str, int]]:
    """`alarm(a)@[3,5]` as its rooms and ticks."""
    found = set()
    for text in texts:
        match = re.fullmatch(r"alarm\((\w)\)@\[?(\d+)(?:,(\d+)\])?", text)
        assert match is not None, text
        found |= {(match[1], tick) for tick in range(int(match[2]), int(match[3] or match[2]) + 1)}
    return found


@given(readings=READINGS, old=st.integers(1, 5), new=st.integers(1, 5))
def test_red_is_what_one_program_tells_alone(readings: list[tuple[int, str, int]], old: int, new: int) -> None:
    """Blue is what both tell, in the lane of each; no other colour is there."""
    svg = _backtest(readings, old, new, []).plot().svg
    ticks = [{(room, time) for time, room, value in readings if value >= limit} for limit in (old, new)]
    assert _ticks(_told(svg, "tl-alarm")) == ticks[0] ^ ticks[1]
    assert _ticks(_told(svg, "tl-c0")) == ticks[0] & ticks[1]
    assert _told(svg, "tl-w0") == []


@given(readings=READINGS, old=st.integers(1, 5), new=st.integers(1, 5), rows=st.integers(1, 3))
def test_rows_that_differ_for_the_longest_come_first(
    readings: list[tuple[int, str, int]], old: int, new: int, rows: int
) -> None:
    """So many of them, with the number of the others, and of those among them that differ."""
    texts = _texts(_backtest(readings, old, new, []).plot(rows=rows).svg)
    times = {room: 0 for _, room, value in readings if value >= min(old, new)}
    sides = [{(room, time) for time, room, value in readings if value >= limit} for limit in (old, new)]
    for room, _ in sides[0] ^ sides[1]:
        times[room] += 1
    shown = [text[6] for text in texts if re.fullmatch(r"alarm\(\w\)", text)]
    assert len(shown) == min(rows, len(times))
    rest = [times[room] for room in times if room not in shown]
    assert [times[room] for room in shown] == sorted(times.values(), reverse=True)[: len(shown)]
    differ = sum(number > 0 for number in rest)
    told = f"{differ} of them differ" if differ else "none of them differs"
    assert [text for text in texts if " more rows of " in text] == (
        [f"and {len(rest)} more rows of alarm: {told}"] if rest else []
    )


def test_labels_have_a_lane_of_their_own() -> None:
    """Of their row, with what was missed altogether; or of every row, where they have no arguments."""
    readings = [(1, "a", 4), (5, "b", 4)]
    svg = _backtest(readings, 3, 5, [("a", 1, 3), ("c", 7, 9)]).plot().svg
    assert _told(svg, "tl-muted") == ["alarm(a)@[1,3]", "alarm(c)@[7,9]"]
    assert [text for text in _texts(svg) if text in ("label", "old", "new")] == ["label", "old", "new"] * 3
    svg = _backtest(readings, 3, 5, [("", 1, 3)]).plot().svg
    assert _told(svg, "tl-muted") == ["alarm@[1,3]"]
    assert [text for text in _texts(svg) if "label" in text][1:] == ["alarm: label"]
    assert "no alarm" in _texts(_backtest([(1, "a", 1)], 3, 5, []).plot().svg)
    assert "no alarm" in _texts(_backtest([], 3, 5, []).plot().svg)


def test_what_stands_out_does_so_among_very_many() -> None:
    """Bars that nobody could tell apart are one, of the colour that one of them has of its own; it is drawn on top."""
    bars = [Bar(time, time + 0.1, "x", tone="alarm" if time == 700 else None) for time in range(1_000)]
    svg = draw(Timeline([BarLane("a", [*bars, Bar(0, math.inf, "all")])], 0, 1_000_000))
    assert _told(svg, "tl-alarm") == ["1001 intervals"]
    svg = draw(Timeline([BarLane("a", [Bar(1, 2, "one", tone="alarm"), Bar(1, 5, "long")])], 0, 9))
    assert svg.index("<title>long") < svg.index("<title>one")


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Beside its text; of a sweep there is none, and what cannot be written is told."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text(PROGRAM)
    Path("q.tide").write_text(PROGRAM.replace("LIMIT = 3", "LIMIT = 5"))
    Path("temp.csv").write_text("time,room,value\n1,a,4\n9,a,5\n")
    command = ["backtest", "p.tide", "q.tide", "temp.csv"]
    assert main([*command, "--picture", "out.svg"]) == 0
    assert capfd.readouterr().out.startswith("history: 2 facts")
    assert _told(Path("out.svg").read_text(), "tl-alarm") == ["alarm(a)@1"]
    assert main([*command, "--picture", "none/out.svg"]) == 2
    assert main([*command, "--picture", "out.svg", "--set", "LIMIT=1..3"]) == 2
    said = capfd.readouterr().err
    assert "cannot write `none/out.svg`" in said
    assert "leave `--set` out" in said
