"""Facts of predicates that the program does not know or read: refused, or counted by name, wherever they come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidelog
from tidelog.cli import main
from tidelog.commands.streams.unused import unused_note
from tidelog.runtime.ports.interfaces import MOST_NAMES

DECLARED = """timeline integer.
input temp(sensor, value).
input tick.
output hot.
background placed from "placed.csv".
hot(S) :- temp(S, V), V > 80.
spare(S) :- temp(S, _), placed(S).
"""
LOOSE = "timeline integer. hot(S) :- temp(S, V), V > 80."


@pytest.fixture
def declared(tmp_path: Path) -> tidelog.Plan:
    (tmp_path / "placed.csv").write_text("sensor\ns1\n")
    return tidelog.compile(DECLARED, folder=tmp_path)


@pytest.mark.parametrize(
    ("predicate", "row", "said"),
    [
        ("tmep", ["s1", 90], "the program has no predicate `tmep`; did you mean `temp`?"),
        ("humidity", ["s1", 90], "the program has no predicate `humidity`"),
        ("hot", ["s1"], "`hot` is derived, and not declared as an input"),
        ("spare", ["s1"], "`spare` is derived, and not declared as an input"),
        ("hot.1", ["s1"], "the program has no predicate `hot.1`"),
    ],
)
def test_a_session_refuses_the_undeclared(declared: tidelog.Plan, predicate: str, row: list[str | int], said: str) -> None:
    """A misspelt or a derived predicate is a DataError, whether a rule needs it or not; nothing else is lost."""
    session = tidelog.Session(declared)
    with pytest.raises(tidelog.DataError) as caught:
        session.push(predicate, row, time=1)
    assert str(caught.value).startswith(said)
    session.push("temp", ["s1", 90], time=1)
    assert [str(answer) for answer in session.pull()] == ["hot(s1)@1"]
    assert session.statistics().intake.unused_names == {}


def test_what_is_declared_and_not_read_is_counted(declared: tidelog.Plan) -> None:
    """A heartbeat moves the time, and is counted by its name."""
    session = tidelog.Session(declared)
    for time in (3, 7):
        session.push("tick", time=time)
    intake = session.statistics().intake
    assert (intake.accepted, intake.unused, intake.unused_names) == (0, 2, {"tick": 2})
    assert session.frontier == 6


def test_where_nothing_is_declared_names_are_counted() -> None:
    """Any predicate is taken; the statistics name those that are not used, and a snapshot keeps them."""
    plan = tidelog.compile(LOOSE)
    session = tidelog.Session(plan)
    for _ in range(3):
        session.push("tmep", ["s1", 90], time=1)
    again = tidelog.Session(plan)
    again.restore(json.loads(json.dumps(session.snapshot())))
    again.push("other", time=1)
    assert again.statistics().intake.unused_names == {"tmep": 3, "other": 1}


def test_names_that_are_counted_are_bounded() -> None:
    """A stream that makes up names costs no memory: the first are counted by name, all are counted."""
    session = tidelog.Session(tidelog.compile(LOOSE))
    for number in range(3 * MOST_NAMES):
        session.push(f"made-up-{number}", time=1)
    intake = session.statistics().intake
    assert (intake.unused, len(intake.unused_names)) == (3 * MOST_NAMES, MOST_NAMES)
    note = unused_note(intake.unused, intake.unused_names, tidelog.compile(LOOSE).schema)
    assert note.count("`made-up-") == 5
    assert note.endswith(f", others ({3 * MOST_NAMES - 5})")


def test_a_note_shows_no_control_characters() -> None:
    """A name from the data cannot take over a terminal."""
    assert "\x1b" not in unused_note(1, {"\x1b[2J": 1}, tidelog.compile(LOOSE).schema)


def test_a_misnamed_file_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The rows of a CSV file whose name is not quite the predicate's: the note says which, how many, and what was meant."""
    (tmp_path / "p.tide").write_text(LOOSE)
    (tmp_path / "temps.csv").write_text("time,sensor,value\n" + "".join(f"{t},s1,90\n" for t in range(1000)))
    code = main(["run", str(tmp_path / "p.tide"), "--in", str(tmp_path / "temps.csv")])
    note = "1000 facts have predicates that the program does not use: `temps` (1000; did you mean `temp`?)"
    assert (code, *capfd.readouterr()) == (0, "", f"tidelog: note: {note}\n")


def test_what_is_not_declared_is_a_dead_letter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On the command line it is told with its place and the nearest name; what is declared and not read is counted."""
    program = "timeline integer. input temp(sensor, value). input tick. hot(S) :- temp(S, V), V > 80."
    (tmp_path / "p.tide").write_text(program)
    facts = tmp_path / "facts.txt"
    facts.write_text("temp(s1,90)@1\ntmep(s1,90)@2\ntick@3\n")
    code = main(["run", str(tmp_path / "p.tide"), "--in", str(facts), "--out", "facts+-"])
    out, error = capfd.readouterr()
    assert (code, out) == (0, "hot(s1)@1\n")
    assert error.splitlines() == [
        f"{facts}:2: the program has no predicate `tmep`; did you mean `temp`?: tmep(s1,90)@2",
        "tidelog: note: 1 fact has a predicate that the program does not use: `tick` (1)",
        "tidelog: note: 1 record could not be used",
    ]


def test_in_batch_what_is_not_declared_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A batch command says the record and the nearest name; predicates that rules derive may be given there."""
    (tmp_path / "p.tide").write_text("timeline integer. input temp(s). hot(S) :- temp(S).")
    facts = tmp_path / "facts.txt"
    facts.write_text("hot(s2)@1\ntmep(s1)@2\n")
    for command, *more in (["materialise"], ["entails", "--fact", "hot(s2)@1"], ["consistent"]):
        assert main([command, str(tmp_path / "p.tide"), str(facts), *more]) == 0
        assert main([command, str(tmp_path / "p.tide"), str(facts), *more, "--strict"]) == 1
        assert f"{facts}:2: the program has no predicate `tmep`; did you mean `temp`?" in capfd.readouterr().err
    facts.write_text("hot(s2)@1\n")
    assert main(["entails", str(tmp_path / "p.tide"), str(facts), "--fact", "hot(s2)@1"]) == 0
    assert main(["entails", str(tmp_path / "p.tide"), str(facts), "--fact", "hut(s2)@1"]) == 1
    assert "neither the program nor the data has a predicate `hut`" in capfd.readouterr().err


def test_what_people_do_is_no_mistake() -> None:
    """Of actions nothing is said where nobody asks for the states of alarms; the other facts are told."""
    schema = tidelog.compile("fire :- smoke(_).\nalarm fire, acknowledge.").schema
    assert unused_note(1, {"fire acknowledge": 1}, schema) == ""
    told = "1 fact has a predicate that the program does not use: `smok` (1; did you mean `smoke`?)"
    assert unused_note(3, {"fire acknowledge": 2, "smok": 1}, schema) == told
