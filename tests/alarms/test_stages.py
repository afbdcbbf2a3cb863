"""Programs with alarms in stages, as Spark runs them, and in other places that take programs apart."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from analysis.test_stages import agree
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.alarm_programs import Alarming, alarm_programs
from oracle.evaluate import GroundFact
from oracle.programs import Kind
from tidelog.cli import main
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.stages.stages import stages_of

PROGRAM = """\
timeline integer, unit 1 s.
input temp(room: text).
input service(room: text).
hot(R) :- temp(R).
alarm hot(room: text), acknowledge, shelve at most 1 h, inhibited by service(room).
output hot_state(room, state).
"""
LINES = """\
{"temp":{"room":"n"},"interval":"[10,90]"}
{"acknowledge":{"alarm":"hot","args":["n"],"who":"anna","comment":"on my way"},"time":20}
{"shelve":{"alarm":"hot","args":["n"],"who":"bob","for":"10 s"},"time":30}
{"service":{"room":"n"},"interval":"[50,60]"}
{"remove":{"alarm":"hot","args":["n"],"who":"bob"},"time":70}
{"restore":{"alarm":"hot","args":["n"],"who":"bob"},"time":80}
"""


@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(6, suppress_health_check=list(HealthCheck))
def test_stages_agree_with_one_session(kind: Kind, data: st.DataObject) -> None:
    """What people do is read by stages as all other inputs are."""
    case: Alarming = data.draw(alarm_programs(kind, most=6))
    program = parse(case.text)
    plan = tidelog.compile(case.text)
    known = [record for record in case.records(plan) if record[0] in plan.schema.predicates]
    facts: list[GroundFact] = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in known]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(facts)), max_size=3)))
    note(f"{case}\n{facts}\n{cuts}")
    agree(program, facts, cuts, Fraction(0))


@pytest.mark.parametrize("desk", [False, True])
def test_a_stage_s_program_is_read_again(desk: bool) -> None:
    """As text, in which the alarm is its rules; its arguments stay the key. The whole program is printed short."""
    plan = tidelog.compile(PROGRAM, desk=desk)
    (stage,) = stages_of(plan).stages
    assert parse(format_program(stage.program)).statements == stage.program.statements
    assert stage.key is not None and set(stage.key.values()) == {0}
    again = tidelog.compile(format_program(plan.program), desk=desk)
    assert [step.rule for step in again.steps] == [step.rule for step in plan.steps]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, and what comes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tide").write_text(PROGRAM)
    (tmp_path / "f.jsonl").write_text(LINES)
    return tmp_path


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("hot_state(n,acknowledged)@25", '\'hot acknowledge\'(n,anna,"on my way","")@20  (input)'),
        ("hot_state(n,shelved)@35", '\'hot shelve\'(n,bob,"","","30","40")@35  (input)'),
        ("hot_state(n,suppressed)@55", "service(n)@55  (input)"),
        ("hot_state(n,out_of_service)@[70,79]", '\'hot remove\'(n,bob,"","")@70  (input)'),
        ("hot_state(n,unacknowledged)@85", "temp(n)@85  (input)"),
    ],
)
def test_reasons_name_who_did_what(folder: Path, fact: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    """And their certificates hold."""
    assert main(["why", "a.tide", "f.jsonl", "--fact", fact]) == 0
    assert told in capfd.readouterr().out
    assert main(["why", "a.tide", "f.jsonl", "--fact", fact, "--format", "json"]) == 0
    certificate = capfd.readouterr().out
    (folder / "c.json").write_text(certificate)
    assert main(["verify", "a.tide", "f.jsonl", "c.json"]) == 0
    assert capfd.readouterr().out == "true\n"


def test_columns_are_told_as_streams_are(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A finished history goes by in columns."""
    assert main(["run", "a.tide", "--in", "f.jsonl", "--emit", "final"]) == 0
    run = map(json.loads, capfd.readouterr().out.splitlines())
    states = sorted((line["hot_state"]["state"], line["interval"]) for line in run if "hot_state" in line)
    assert states == [
        ("acknowledged", "[20,29]"),
        ("out_of_service", "[70,79]"),
        ("returned_unacknowledged", "[91,inf)"),
        ("shelved", "[30,39]"),
        ("suppressed", "[50,60]"),
        ("unacknowledged", "[10,19]"),
        ("unacknowledged", "[40,49]"),
        ("unacknowledged", "[61,69]"),
        ("unacknowledged", "[80,90]"),
    ]


def test_reports_say_that_it_is_an_alarm(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In place of the rules that it stands for."""
    assert main(["explain", "a.tide"]) == 0
    plan = capfd.readouterr().out
    assert "alarm hot: its states, in " in plan and ", from hot, service(room) and what people do" in plan
    assert "'hot " not in plan
    assert main(["check", "-v", "a.tide"]) == 0
    report = capfd.readouterr().out
    assert "grows without end: none" in report and "pruned rules: none" in report
    assert "  alarm hot\n    its states rest on what is not so" in report


def test_a_picture_shows_what_people_do_and_the_states(folder: Path) -> None:
    """And nothing of what lies between."""
    assert main(["plot", "a.tide", "f.jsonl", "--out", "p.svg"]) == 0
    shown = set(re.findall(r"hot(?: |_)[a-z]+(?: now)?", (folder / "p.svg").read_text()))
    actions = {f"hot {action}" for action in ("acknowledge", "shelve", "remove", "restore")}
    assert shown == {"hot_state", *actions}
