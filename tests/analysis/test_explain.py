"""`explain`: every stage in every format."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.programs import EVERYTHING, Kind, programs
from tidelog.plans.analysis.physical.shared_stores import shared_stores
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.explaining.mermaid import escape
from tidelog.plans.explaining.reports.report import analyse, analysis_fields, format_analysis
from tidelog.plans.explaining.text import explain
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.network.graph import Graph

TEXT = """
input q(x, y).
output p.
p(X) :- boxminus[0,4] q(X, "a \\"b\\" #c"), not diamondplus[0,5/2) q(_, X).
boxplus[1,3] p(Y) :- p(X), diamondminus[1,2] q(X, Y).
"""


@pytest.fixture
def plan() -> Plan:
    return tidelog.compile(TEXT, name="test.tide")


@pytest.mark.parametrize("stage", ["text", "normal"])
def test_text_reads_back(plan: Plan, stage: str) -> None:
    """The program as read and its normal form are programs again, with the same normal form."""
    again = tidelog.compile(explain(plan, stage))
    assert explain(again, "normal") == explain(plan, "normal")


@pytest.mark.parametrize("stage", ["text", "normal"])
def test_statements_as_json(plan: Plan, stage: str) -> None:
    """As JSON, a stage's statements are those of its text."""
    fields = json.loads(explain(plan, stage, "json"))
    assert (fields["program"], fields["stage"]) == ("test.tide", stage)
    assert fields["statements"] == explain(plan, stage).splitlines()


def test_plan_as_json(plan: Plan) -> None:
    """Each step has its stable fields, in the program's own time."""
    fields = json.loads(explain(plan, "plan", "json"))
    steps = {step["id"]: step for step in fields["steps"]}
    (dilate,) = (step for step in steps.values() if step["parameters"] == "diamondplus[0,5/2)")
    assert dilate["operator"] == "dilate"
    assert (dilate["delay"], dilate["lead"], dilate["loop"], dilate["reach"]) == ("5/2", "-5/2", None, None)
    assert steps["p"]["loop"] == 0
    assert fields["loops"][0]["holds"] == [step for step, item in steps.items() if item["operator"] == "hold"]
    assert fields["outputs"] == {"p": "p"}
    assert fields["timeline"] == {"kind": "rational", "resolution": "1/1000000", "unit": None}
    assert {item["kind"] for step in steps.values() for item in step["inputs"]} == {"step", "stream"}


SHARING = """
timeline integer. input p(a, b). input off(s).
w(A,B) :- diamondminus[0,3] p(A,B).
one(A,B,C) :- w(A,B), p(B,C).
two(A,B,C) :- w(A,B), p(B,C), A != C.
three(A,B) :- w(A,B), p(B,A).
loud(A,B) :- not off(A) since w(A,B).
"""


def test_what_joins_share_is_shown_where_it_is_stored() -> None:
    """In each way of showing: by which columns its rows are found, and who reads them."""
    plan = tidelog.compile(SHARING)
    shown = explain(plan)
    assert shown.count("once by column 2, for ") == 1  # of w, which is found by what p brings
    assert "  stored:  once by column 1, for two and one\n" in shown
    steps = {step["id"]: step for step in json.loads(explain(plan, "plan", "json"))["steps"]}
    (store,) = steps["w"]["shared"]
    assert store == {"columns": [1], "readers": [{"step": "two", "port": 0}, {"step": "one", "port": 0}]}
    assert steps["one"]["shared"] == []
    drawn = explain(plan, "plan", "mermaid")
    assert "stored once by column 2, for two and one" in drawn
    assert_valid_mermaid(drawn)
    assert "stored once by column 2, for two and one" in explain(plan, "plan", "svg")


@pytest.mark.parametrize(
    "text", [SHARING, TEXT, SHARING + "".join(f"x{i}(A,C) :- w(A,B), w(B,C), C != n{i}." for i in range(9))]
)
def test_what_is_shown_as_shared_is_what_sessions_share(text: str) -> None:
    """A session's arrangements are those that the plan shows."""
    plan = tidelog.compile(text)
    shown = {name: [store.key for store in stores] for name, stores in shared_stores(plan).items()}
    assert {name: len(found.arrangements) for name, found in Graph(plan).sharing.items()} == {
        name: len(keys) for name, keys in shown.items()
    }


def test_what_is_fused_and_what_one_task_runs_is_shown() -> None:
    """A latch names the operators that it is; all steps run in one task."""
    plan = tidelog.compile(SHARING)
    assert "loud: latch" in explain(plan)
    assert "  fused:   dilate, antijoin and since in one\n" in explain(plan)
    assert "\ntasks:\n  all steps run in one;" in explain(plan)
    fields = json.loads(explain(plan, "plan", "json"))
    assert fields["tasks"] == [[step.id for step in plan.steps]]
    assert [step["fused"] for step in fields["steps"] if step["fused"]] == [["dilate", "antijoin", "since"]]


def test_every_step_is_in_the_text(plan: Plan) -> None:
    """The text has a block for each step, and nothing encoded."""
    shown = explain(plan)
    assert re.findall(r"^(\S+): \w+", shown, re.MULTILINE) == [step.id for step in plan.steps]
    assert "diamondplus[0,5/2)" in shown
    assert "5000000" not in shown


def test_roles_and_parameters() -> None:
    """Ports are named by what the operator takes them for, parameters by what it joins on."""
    text = "timeline integer. input a(x,y). input b(x). c(X) :- a(X,Y) since[2,inf) b(X), always b(Y) in [7], a(X,Y)."
    shown = explain(tidelog.compile(text))
    assert ": since [2,inf) on X" in shown
    assert ": erode always in [7]" in shown
    assert "inputs:  left: a; right: b" in shown
    assert "start: stream start" in shown
    assert re.search(r"^c: join on .*Y", shown, re.MULTILINE)


@pytest.mark.parametrize("stage", ["text", "normal"])
def test_mermaid_draws_plans_alone(plan: Plan, stage: str) -> None:
    """Other stages have no drawing."""
    with pytest.raises(ValueError, match="mermaid draws the plan alone"):
        explain(plan, stage, "mermaid")


@pytest.mark.parametrize(("stage", "format"), [("tree", "text"), ("plan", "dot")])
def test_unknown_stages_and_formats(plan: Plan, stage: str, format: str) -> None:
    """What is not known is refused."""
    with pytest.raises(ValueError, match="cannot show the stage"):
        explain(plan, stage, format)


def assert_valid_mermaid(shown: str) -> None:
    """Ids are plain, defined once, and used only where they are defined; labels hold no quote and no stray entity."""
    label = r'"((?:[^"#&<>;]|#\d+;|<br/>)*)"'
    defined = re.findall(rf"^ +(\w+)(?:\(\[{label}\]\)|\[{label}\]|\{{\{{{label}\}}\}})$", shown, re.MULTILINE)
    names = [item[0] for item in defined]
    edges = re.findall(rf"^  (\w+) (?:-->|-\.->)(?:\|{label}\|)? (\w+)$", shown, re.MULTILINE)
    boxes = re.findall(r'^ +subgraph (loop\d+|task0) \["(?:loop \d+|one task)"\]$', shown, re.MULTILINE)
    assert len(set(names)) == len(names)
    assert {name for edge in edges for name in (edge[0], edge[2])} <= set(names)
    assert 1 + len(names) + len(edges) + 2 * len(boxes) == len(shown.splitlines())


def test_mermaid(plan: Plan) -> None:
    """The drawing has the steps, loops as boxes, and an edge for each input and output."""
    shown = explain(plan, "plan", "mermaid")
    assert_valid_mermaid(shown)
    assert shown.startswith("flowchart LR\n")
    assert shown.count(" -.-> ") == 1
    inputs = sum(len(step.inputs) for step in plan.steps)
    assert shown.count(" -->") + shown.count(" -.->") == inputs + 1


def test_mermaid_escapes() -> None:
    """Quotes, entities, tags and line ends of names and constants do not reach the drawing as such."""
    assert escape('"#&<>;`\n') == "#34;#35;#38;#60;#62;#59;#96;#10;"
    text = "'say <b>'(X) :- 'q #1;'(X, \"a \\\"]); b\"). bottom :- 'say <b>'(\"\\n|x|\")."
    assert_valid_mermaid(explain(tidelog.compile(text), "plan", "mermaid"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(100, suppress_health_check=list(HealthCheck))
def test_every_plan_can_be_shown(kind: Kind, data: st.DataObject) -> None:
    """Whatever compiles can be analysed and shown in each way."""
    program = data.draw(programs(kind, EVERYTHING))
    try:
        plan = compile_program(program)
    except ProgramError:
        assume(False)
        raise
    assert_valid_mermaid(explain(plan, "plan", "mermaid"))
    assert len(json.loads(explain(plan, "plan", "json"))["steps"]) == len(plan.steps)
    assert all(step.id in explain(plan) for step in plan.steps)
    assert parse(explain(plan, "text")).statements == program.statements
    analysis = analyse(plan)
    assert format_analysis(analysis, 7).startswith("forward-propagating: ")
    assert json.loads(json.dumps(analysis_fields(analysis, 7)))["forward_propagating"] == (not analysis.obstacles)
