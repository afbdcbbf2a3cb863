"""Pictures of programs: what `plot` and notebooks show of facts, answers and plans."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tidelog
from tidelog.cli import main
from tidelog.plans.explaining.showing.order import shown_order
from tidelog.plans.explaining.showing.timelines import Choice, timeline_of
from tidelog.plans.explaining.showing.usage import Usage, usage_of
from tidelog.plans.pictures.graph import Box, Edge, Graph, draw_graph
from tidelog.plans.pictures.lanes import BarLane, Note, Threshold, Timeline, ValueLane

PUMP = """
timeline integer, unit 1 s.
input temp(sensor: text, value: number).
input door(room: text).
hot(S) :- temp(S, V), V >= 80.
cold(S) :- temp(S, V), -5 > V.
alarm(S) :- boxminus[0,2] hot(S), not off(S).
off(pump9).
"""
FACTS = "".join(f"temp(p1,{70 + 3 * time})@{time}\n" for time in range(8)) + "door(hall)@[2,4]\n"


@pytest.fixture
def done(tmp_path: Path) -> tidelog.Materialisation:
    """What follows from a few readings."""
    plan = tidelog.compile_batch(PUMP)
    done = tidelog.Materialisation(plan)
    done.load([plan.record("temp", ["p1", 70 + 3 * time], time=time) for time in range(8)])
    done.load([plan.record("door", ["hall"], interval="[2,4]")])
    done.run()
    return done


def lanes(done: tidelog.Materialisation, choice: Choice) -> Timeline:
    return timeline_of(done.facts(), done.plan.schema, choice, usage_of(done.plan.program))


def test_a_value_that_changes_is_a_line_and_all_else_bars(done: tidelog.Materialisation) -> None:
    """Readings are one line a sensor, with the numbers that rules compare them to; other rows are a lane each."""
    timeline = lanes(done, Choice(order=shown_order(done.plan.program)))
    values, door, note, hot, alarm = timeline.lanes
    assert isinstance(values, ValueLane)
    assert (values.name, [series.name for series in values.series]) == ("temp: value", ["p1"])
    assert [sample.value for sample in values.series[0].samples] == [70 + 3 * time for time in range(8)]
    assert values.thresholds == [Threshold(80, ">= 80"), Threshold(-5, "< -5")]
    assert [lane.name for lane in (door, hot, alarm) if isinstance(lane, BarLane)] == ["door(hall)", "hot(p1)", "alarm(p1)"]
    assert note == Note("at all times: off(pump9)")
    assert [(bar.begin, bar.end, bar.text) for bar in alarm.bars] == [(6, 7, "alarm(p1)@[6,7]")]  # type: ignore[union-attr]


def test_what_to_draw_can_be_chosen(done: tidelog.Materialisation) -> None:
    """Predicates in the order told; a range of times; so many rows, and a note of how many more there are."""
    timeline = lanes(done, Choice(["alarm", "door", "cold"], begin=1, end=9))
    assert [lane.name for lane in timeline.lanes if isinstance(lane, BarLane)] == ["alarm(p1)", "door(hall)"]
    assert timeline.lanes[2] == Note("no cold")
    assert (timeline.begin, timeline.end) == (1, 9)
    plan = tidelog.compile_batch("p(X) :- q(X).")
    facts = [plan.record("q", [f"r{i:02}"], time=i) for i in range(20)]
    timeline = timeline_of(facts, plan.schema, Choice(rows=12), Usage())
    assert (len(timeline.lanes), timeline.lanes[-1]) == (13, Note("and 8 more rows of q"))


def test_plot_gives_a_picture(done: tidelog.Materialisation, tmp_path: Path) -> None:
    """A picture is text, can be saved, and is what a notebook shows; wrong options are told."""
    picture = done.plot(["alarm"], title="pumps", theme="dark")
    picture.save(tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text() == str(picture) == picture._repr_html_()
    assert ElementTree.fromstring(picture.svg).tag.endswith("svg")  # noqa: S314 - our own
    for options, reason in (
        ({"begin": 5, "end": 3}, "a picture begins before it ends, got 5 to 3"),
        ({"rows": 0}, "a picture has a row or more of each predicate, got 0"),
        ({"width": 10}, "a picture is 300 pixels wide or more, got 10"),
        ({"theme": "pink"}, "a theme is one of auto, light, dark; got `pink`"),
    ):
        with pytest.raises(ValueError, match=reason):
            done.plot(**options)  # type: ignore[arg-type]


def test_what_repeats_for_ever_is_drawn_a_few_times() -> None:
    """Of a model without an end a few periods are shown."""
    plan = tidelog.compile_batch("timeline integer. boxplus[7,7] due(B) :- due(B).")
    done = tidelog.materialise(plan, {"due": {"bill": ["b1"], "time": [0]}})
    titles = re.findall(r"<title>due\(b1\)@(\d+)</title>", done.plot().svg)
    assert titles == ["0", "7", "14", "21"]
    assert re.findall(r"<title>due\(b1\)@(\d+)</title>", done.plot(begin=0, end=70).svg)[-1] == "70"


def test_notebooks_show_programs_plans_and_answers(done: tidelog.Materialisation) -> None:
    """A program is its text, a plan a graph, answers a timeline and a table; all without scripts, and escaped."""
    plan = tidelog.compile('hot("<b>") :- temp(S, V), V >= 80.', name="<p>")
    assert "&lt;b&gt;" in plan.program._repr_html_()
    graph = plan._repr_html_()
    assert graph.startswith("<svg")
    assert "output hot" in graph
    session = tidelog.Session(plan, emit="changes")
    session.push("temp", ["s", 90], interval="[1,5]")
    session.finish()
    answers = session.pull()
    assert answers == list(answers)
    shown = answers._repr_html_()
    assert shown.count("<svg") == shown.count("<table") == 1
    assert shown.count("[1,5]") == 2  # in the table, and where the pointer rests: not where it began
    assert session.pull()._repr_html_().count("<svg") == 0
    html = done._repr_html_()
    assert "alarm" in html
    assert "<script" not in shown + html + graph


def test_a_graph_leads_from_left_to_right() -> None:
    """A box stands behind all that lead to it; an arrow that closes a loop is dotted, and decides about nothing."""
    boxes = [Box(name, [name]) for name in "dcba"]
    edges = [Edge("a", "b"), Edge("b", "c"), Edge("a", "d"), Edge("c", "d"), Edge("d", "a", back=True)]
    svg = draw_graph(Graph(boxes, edges))
    place = {name: float(x) for x, name in re.findall(r'class="tl-name" x="([\d.]+)" y="[\d.]+">(\w)<', svg)}
    assert place["a"] < place["b"] < place["c"] < place["d"]
    assert svg.count("tl-edge tl-back") == 1


@pytest.mark.parametrize("name", ["network", "gateway", "cooling", "shortstop", "turbines"])
def test_every_example_has_a_graph(name: str) -> None:
    """Loops, questions and constraints are drawn; no two boxes overlap."""
    (path,) = (Path(__file__).parents[2] / "examples" / name).glob("*.tide")
    svg = tidelog.compile_path(path)._repr_html_()
    found = re.findall(r'class="tl-box" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    boxes = [tuple(map(float, box)) for box in found]
    assert len(boxes) > 3
    for i, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[:i]:
            apart = x >= other_x + other_width or other_x >= x + width or y >= other_y + other_height
            assert apart or other_y >= y + height


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a program and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pump.tide").write_text(PUMP)
    (tmp_path / "facts.txt").write_text(FACTS)
    return tmp_path


def test_the_command_draws(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`plot` writes an SVG to standard output or to a file, and `explain --format svg` the plan."""
    assert main(["plot", "pump.tide", "facts.txt", "--predicate", "alarm", "--title", "Pumps"]) == 0
    out, err = capfd.readouterr()
    assert (err, out.startswith("<svg"), "alarm(p1)@[6,7]" in out, "Pumps" in out) == ("", True, True, True)
    assert main(["plot", "pump.tide", "facts.txt", "--out", "p.svg"]) == 0
    assert ElementTree.parse("p.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert main(["explain", "pump.tide", "--format", "svg"]) == 0
    assert capfd.readouterr().out.startswith("<svg")


def test_the_command_draws_what_only_streams_have(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A program with a tuple window is drawn as a stream tells it."""
    Path("last.tide").write_text("timeline integer. two(S) :- always temp(S, _) in [#2].\n")
    Path("t.txt").write_text("temp(a,1)@1\ntemp(a,2)@2\n")
    assert main(["plot", "last.tide", "t.txt"]) == 0
    assert "two(a)" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--predicate", "alrm"], 2, "--predicate: the program has no `alrm`; did you mean `alarm`?"),
        (["--begin", "5", "--end", "3"], 2, "a picture begins before it ends, got 5 to 3"),
        (["--begin", "soon"], 2, "time `soon` is neither a number, a fraction nor ISO-8601"),
        (["--out", "none/p.svg"], 2, "cannot write `none/p.svg`: No such file or directory"),
    ],
)
def test_what_makes_no_picture_is_told(
    arguments: list[str], code: int, reason: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Options that make no picture are mistakes in usage, a file that cannot be written is an error."""
    assert main(["plot", "pump.tide", "facts.txt", *arguments]) == code
    assert reason in capfd.readouterr().err


def test_a_violated_constraint_is_drawn_and_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is known by then is drawn, the constraint is named, and the exit code is 1."""
    Path("bad.tide").write_text(PUMP + "bottom :- alarm(S), door(S).\nbottom :- hot(S), temp(S, 85).\n")
    assert main(["plot", "bad.tide", "facts.txt"]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("<svg")
    assert err.startswith("tidelog: inconsistent: constraint violated at 5")
