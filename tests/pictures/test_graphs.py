"""Graphs of plans: they speak in the words of the program, and what is too wide to be read is folded."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli import main
from tidelog.plans.explaining.showing.folding import MOST_BOXES, MOST_LEVELS, folded
from tidelog.plans.explaining.showing.graphs import graph_of
from tidelog.plans.pictures.graph import Box, Edge, Graph, closing_loops, columns_of, draw_graph

OVEN = """timeline integer, unit 1 s.
input temp(p: text, v: number).
input open(p: text).
hot(P) :- temp(P, V), V >= 80.
alarm(P) :- hot(P) for 5 min, not open(P) within 2 min.
boxplus[0,1 min] late(Q) :- open(Q), (temp(Q, V), V > 3) since[0,1 min] open(Q).
soon(P) :- hot(P), diamondplus[0,2 min] open(P).
mean(P, A) :- A = avg(V) over temp(P, V) in [10 min] by P.
"""


def test_boxes_speak_in_the_words_of_the_program() -> None:
    """A rule as it is written, and each part of it that a step computes; operators are shown where the pointer rests."""
    graph = graph_of(tidelog.compile(OVEN))
    lines = [box.lines for box in graph.boxes]
    assert ["alarm(P) :-", "hot(P) for 5 min", "not open(P) within 2 min"] in lines
    assert ["hot(P) for 5 min"] in lines
    assert ["open(P) within 2 min"] in lines
    assert ["soon(P) :-", "hot(P)", "diamondplus[0,2min] open(P)", "told 2 min later"] in lines
    assert ["mean(P, A) :-", "A = avg(V) over temp(P, V) in [10min] by P"] in lines
    assert ["open(Q)", "(temp(Q, V), V > 3) since[0,1min] open(Q)"] in lines
    assert ["input temp"] in lines
    shown = " ".join(line for each in lines for line in each)
    assert not re.search(r"erode|dilate|antijoin|\w'|\.\d|300|120", shown)
    assert any("erode boxminus[0,300]" in box.text for box in graph.boxes)


@pytest.mark.parametrize("name", ["network", "gateway", "cooling", "shortstop", "turbines", "weather/climate", "weather"])
def test_every_example_is_told_without_names_of_the_normal_form(name: str) -> None:
    """`'alarm.1'` is no word of a program."""
    path = f"examples/{name}.tide" if "/" in name else f"examples/{name}/{name}.tide"
    for box in graph_of(tidelog.compile_path(path)).boxes:
        assert not [line for line in box.lines if re.search(r"'\w+\.\d+'", line)]


def test_a_loop_without_a_hold_leads_back_too() -> None:
    """The rules of a recursion stand beside each other, not as far away as there are boxes."""
    plan = tidelog.compile("timeline integer. path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).")
    graph = closing_loops(graph_of(plan))
    assert max(columns_of(graph).values()) <= 5
    assert sum(edge.back for edge in graph.edges) == 1


GRAPHS = st.integers(1, 60).flatmap(
    lambda size: st.builds(
        lambda forms, pairs: Graph(
            [Box(f"step {i}", [f"{form}(X) :-", *["r(X)"] * form]) for i, form in enumerate(forms)],
            [Edge(f"step {a}", f"step {b}") for a, b in pairs],
        ),
        st.lists(st.integers(0, 20), min_size=size, max_size=size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=80),
    )
)


@given(GRAPHS)
def test_a_folded_graph_is_bounded_and_lacks_nothing(graph: Graph) -> None:
    """Few boxes on few levels; each box is there or counted, and each arrow between what is not in one box."""
    found = folded(graph)
    columns = columns_of(found)
    assert max(columns.values()) < MOST_LEVELS
    assert max(Counter(columns.values()).values()) <= MOST_BOXES
    counted = [int(box.lines[0].split()[0].replace(",", "")) if box.id.startswith("folded") else 1 for box in found.boxes]
    assert sum(counted) >= len(graph.boxes)
    names = {box.id for box in found.boxes}
    there = {(edge.source, edge.target) for edge in found.edges}
    assert all(
        (edge.source, edge.target) in there
        for edge in graph.edges
        if {edge.source, edge.target} <= names and edge.source != edge.target
    )
    draw_graph(found)


@given(GRAPHS)
def test_without_arrows_that_lead_back_there_is_no_loop(graph: Graph) -> None:
    """Each box stands behind all that lead to it, and of two boxes without a loop nothing is taken for one."""
    forward = [edge for edge in closing_loops(graph).edges if not edge.back]
    columns = columns_of(closing_loops(graph))
    assert all(columns[edge.source] < columns[edge.target] for edge in forward)
    acyclic = Graph(graph.boxes, [edge for edge in graph.edges if int(edge.source[5:]) < int(edge.target[5:])])
    assert closing_loops(acyclic) == acyclic


def test_hundreds_of_rules_are_a_picture_that_can_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Alike rules are one box with their number; `--all` draws each of them."""
    path = tmp_path / "p.tide"
    rules = "".join(f"hot{i}(P) :- temp{i}(P, V), V > {i}. " for i in range(300))
    path.write_text(f"timeline integer. {rules}" + "".join(f"c{i + 1}(P) :- c{i}(P), hot{i}(P). " for i in range(40)))
    assert main(["explain", str(path), "--format", "svg"]) == 0
    small = capfd.readouterr().out
    assert "300 rules like" in small
    assert main(["explain", str(path), "--format", "svg", "--all"]) == 0
    whole = capfd.readouterr().out
    width, height = map(float, re.findall(r'^<svg[^>]* width="([\d.]+)" height="([\d.]+)"', small)[0])
    assert width < 4_000
    assert height < 2_000
    assert whole.count('class="tl-box"') > 900
    assert main(["explain", str(path), "--all"]) == 2
    assert "`--all` is for `--format svg`" in capfd.readouterr().err
