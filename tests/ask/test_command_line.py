"""`tidelog ask`, and `ask` beside outputs in `tidelog run`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ask.turbines import RULES, TURBINES
from children import tidelog

TIDELOG = [sys.executable, "-m", "tidelog"]
READINGS = "".join(f"temp({name},high)@{time}\n" for name, time in [("wt25", 0), ("wt25", 1), ("wt42", 1), ("wt25", 2)])
IN = ("--in", "facts+-")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two programs: one that asks, one that does not."""
    (tmp_path / "turbines.tide").write_text(TURBINES)
    (tmp_path / "rules.tide").write_text(RULES)
    return tmp_path


def run(folder: Path, *arguments: str, given: str = READINGS) -> subprocess.CompletedProcess[str]:
    return tidelog(*arguments, given=given, cwd=folder)


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(found: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [(*line["answer"].values(), line["status"], sum(map(facts_in, line["evidence"]))) for line in found]


def facts_in(premise: str) -> int:
    """How many facts a premise is: `temp(a)@[0,2]` is three."""
    first, _, last = premise.rpartition("@")[2].strip("[]").partition(",")
    return int(last) - int(first) + 1 if last else 1


WT25 = [("wt25", 0, "possible", 1), ("wt25", 0, "possible", 2), ("wt25", 0, "certain", 3)]


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_ask_prints_what_becomes_of_each_answer(folder: Path, backend: str) -> None:
    """JSON lines on standard output, hypothetical answers alone: the program's outputs are not derived."""
    done = run(folder, "ask", "turbines.tide", *IN, "--backend", backend)
    found = lines(done)
    assert done.stderr == ""
    assert [item for item in told(found) if item[:2] == ("wt25", 0)] == WT25
    assert sorted((*line["answer"].values(), line["failed"]) for line in found if line["status"] == "rejected") == [
        ("wt25", 1, "temp(wt25,high)@3"),
        ("wt25", 2, "temp(wt25,high)@3"),
        ("wt42", 1, "temp(wt42,high)@2"),
    ]
    assert found[0] == {
        "query": "malf",
        "answer": {"X": "wt25", "T": 0},
        "status": "possible",
        "evidence": ["temp(wt25,high)@0"],
        "hypotheses": ["temp(wt25,high)@1", "temp(wt25,high)@2"],
        "at": 0,
        "deadline": 2,
    }


@pytest.mark.slow
def test_queries_of_the_command_line(folder: Path) -> None:
    """Each --query is asked, in place of the program's own; constants, repeated names and `@T+2` are taken."""
    queries = ("--query", "shdn(X)@T", "--query", "malf(wt42)@T+1")
    found = lines(run(folder, "ask", "turbines.tide", *IN, *queries))
    assert {line["query"] for line in found} == {"shdn", "malf"}
    assert {tuple(line["answer"].items()) for line in found if line["query"] == "malf"} == {(("T", 0),)}
    assert lines(run(folder, "ask", "rules.tide", *IN, *queries)) == found


@pytest.mark.slow
def test_status_chooses_lines(folder: Path) -> None:
    """--status may be given more than once."""
    assert told(lines(run(folder, "ask", "turbines.tide", *IN, "--status", "certain"))) == WT25[2:]
    found = told(lines(run(folder, "ask", "turbines.tide", *IN, "--status", "certain", "--status", "rejected")))
    assert sorted({item[2] for item in found}) == ["certain", "rejected"]


def test_min_evidence_keeps_back_what_little_speaks_for(folder: Path) -> None:
    """No line of an answer that never has two facts; each line of the others from then on, and their end."""
    found = told(lines(run(folder, "ask", "turbines.tide", *IN, "--min-evidence", "2")))
    assert [item[:3] for item in found if item[:2] == ("wt25", 0)] == [item[:3] for item in WT25[1:]]
    assert [item[2] for item in found if item[:2] == ("wt25", 1)] == ["possible", "rejected"]
    assert {item[:2] for item in found} == {("wt25", 0), ("wt25", 1)}


def test_iso_times(folder: Path) -> None:
    """--iso writes dates wherever a time stands."""
    found = lines(run(folder, "ask", "turbines.tide", *IN, "--iso"))[0]
    assert found["answer"]["T"] == found["at"] == "1970-01-01T00:00:00Z"
    assert found["evidence"] == ["temp(wt25,high)@1970-01-01T00:00:00Z"]
    assert found["deadline"] == "1970-01-01T00:00:02Z"


def test_run_prints_both(folder: Path) -> None:
    """Derived facts and hypothetical answers share the output; text facts beside it hold facts alone."""
    done = run(folder, "run", "turbines.tide", *IN, "--out", "-", "--out", "flags.txt")
    found = lines(done)
    assert sum("predicate" in line for line in found) == 4
    assert [item for item in told([line for line in found if "query" in line]) if item[:2] == ("wt25", 0)] == WT25
    assert len((folder / "flags.txt").read_text().splitlines()) == 4


def test_files_and_lateness(folder: Path) -> None:
    """Sources, sinks and the options of streams are those of `run`."""
    (folder / "facts.txt").write_text("temp(a,high)@1\ntemp(a,high)@0\ntemp(a,high)@2\nnonsense\n")
    options = ("--lateness", "1 s", "--in", "facts.txt", "--out", "answers.jsonl", "--dead-letter", "dead.jsonl")
    done = run(folder, "ask", "turbines.tide", *options, "--status", "certain", "--stats")
    assert (done.stdout, done.returncode) == ("", 0)
    found = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert told(found) == [("a", 0, "certain", 3)]
    assert "3 accepted" in done.stderr
    assert "ask malf: 3 facts received" in done.stderr
    assert len((folder / "dead.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_depth_follows_what_has_no_end(folder: Path) -> None:
    """Recursion without an end is refused, with `--depth` followed so far, and that is said."""
    (folder / "ends.tide").write_text("timeline integer. input p(x). s(X)@T+1 :- s(X)@T. s(X)@T :- p(X)@T. ask s(X)@T.\n")
    refused = run(folder, "ask", "ends.tide", *IN, given="p(a)@0\n")
    assert refused.returncode == 1
    assert "error[endless-ask]" in refused.stderr
    assert "--depth" in refused.stderr
    done = run(folder, "ask", "ends.tide", *IN, "--depth", "3", given="p(a)@0\n")
    assert {line["answer"]["T"] for line in lines(done)} == {0, 1, 2, 3}
    assert "note: the recursion behind `ask s(X)@T` was followed 3 deep" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "rules.tide"], "`rules.tide` asks nothing: give a query, such as `--query 'malf(X)@T'`, or add"),
        (
            ["ask", "turbines.tide", "--out", "facts+-"],
            "text facts and tables leave out what `ask` answers: add a sink of JSON lines",
        ),
        (["run", "turbines.tide", "--out", "facts+-"], "text facts and tables leave out what `ask` answers"),
        (["ask", "turbines.tide", "--status", "maybe"], "invalid choice: 'maybe'"),
        (["ask", "turbines.tide", "--min-evidence", "0"], "expected a whole number above 0, got `0`"),
        (["ask", "turbines.tide", "--depth", "-1"], "expected a whole number above 0, got `-1`"),
        (["ask", "turbines.tide", "--emit", "final"], "--emit"),
        (["ask"], "PROGRAM"),
    ],
)
def test_mistakes_in_usage(folder: Path, arguments: list[str], said: str) -> None:
    """Exit code 2, one clear line, nothing on standard output."""
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("query", ["malf(X", "malf(X)", "malfs(X)@T", "malf(X, Y)@T", "not malf(X)@T", "malf(X)@T. p :- q"])
def test_wrong_queries_are_shown(folder: Path, query: str) -> None:
    """As errors of the program are: with the query, the place and a remedy; exit code 1."""
    done = run(folder, "ask", "turbines.tide", "--query", query)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_check_finds_what_cannot_be_asked(folder: Path) -> None:
    """`check` says what `ask` would say."""
    text = "timeline integer. input q(x). r(b)@[1,5].\np(X) :- not q(a), r(X).\nask p(X)@T.\n"
    (folder / "always.tide").write_text(text)
    found = [run(folder, *command) for command in (("check", "always.tide"), ("ask", "always.tide"))]
    assert [done.returncode for done in found] == [1, 1]
    assert found[0].stderr == found[1].stderr
    assert "error[ask-always]" in found[0].stderr


DOOR = """timeline integer, unit 1 s.
input open(door: text).
input shut(door: text).
left(D) :- open(D), boxplus[1,9] not shut(D).
ask left(D)@T.
"""


def door(folder: Path, *options: str, facts: str) -> list[str]:
    """What is told of a door, in words."""
    (folder / "door.tide").write_text(DOOR)
    done = run(folder, "ask", "door.tide", "--in", "facts+-", "--out", "text+-", *options, given=facts)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_answers_are_told_in_words(folder: Path) -> None:
    """`text` is for people: what may follow, what for, and by when it is decided."""
    assert door(folder, facts="open(d)@0\nshut(d)@4\nopen(d)@20\n") == [
        "possible: left(d) at 0, if not shut(d) from 1 to 9; decided by 9",
        "rejected: left(d) at 0, as shut(d) came at 4",
        "possible: left(d) at 20, if not shut(d) from 21 to 29; decided by 29",
        "certain: left(d) at 20, by open(d) at 20, not shut(d) from 21 to 29",
    ]


def test_an_answer_near_its_deadline_is_told_again(folder: Path) -> None:
    """`--warn D` says once more what is still needed, D before the deadline."""
    assert door(folder, "--warn", "3 s", facts="open(d)@0\nopen(e)@8\n")[:2] == [
        "possible: left(d) at 0, if not shut(d) from 1 to 9; decided by 9",
        "possible: left(d) at 0, if not shut(d) from 7 to 9; decided by 9",
    ]
    assert run(folder, "ask", "door.tide", "--warn", "soon").returncode == 2


def test_absences_count_as_evidence_if_asked(folder: Path) -> None:
    """With --count-absences an answer is told once a door has stayed open for long enough."""
    facts = "open(d)@0\nopen(e)@8\n"
    assert door(folder, "--min-evidence", "2", "--status", "possible", facts=facts) == []
    options = ("--min-evidence", "5", "--count-absences", "--status", "possible")
    assert door(folder, *options, facts=facts)[:1] == [
        "possible: left(d) at 0, if not shut(d) from 5 to 9; decided by 9",
    ]


def test_of_a_group_the_first_is_told(folder: Path) -> None:
    """Answers that rest on the same fact and differ in time: one after the other."""
    (folder / "echo.tide").write_text(
        "timeline integer. input p. input q. w@T+1 :- p@T, q@T+2. w@T+2 :- p@T, q@T+3. ask w@T."
    )
    options = ("ask", "echo.tide", "--in", "facts+-")
    grouped = lines(run(folder, *options, "--group", given="p@0\nq@3\n"))
    assert [(line["answer"]["T"], line["status"]) for line in grouped] == [
        (1, "possible"),
        (1, "rejected"),
        (2, "possible"),
        (2, "certain"),
    ]
    every = lines(run(folder, *options, given="p@0\nq@3\n"))
    assert len({line["group"] for line in every if line["at"] == 0}) == 1


def test_of_a_group_nothing_more_is_told_once_one_is_certain(folder: Path) -> None:
    """What the facts warned of has come, so the later answers from them are told only if they are certain, too."""
    (folder / "echo.tide").write_text(
        "timeline integer. input p. input q. w@T+1 :- p@T, q@T+2. w@T+2 :- p@T, q@T+3. ask w@T."
    )
    options = ("ask", "echo.tide", "--in", "facts+-", "--group")
    assert [(line["answer"]["T"], line["status"]) for line in lines(run(folder, *options, given="p@0\nq@2\n"))] == [
        (1, "possible"),
        (1, "certain"),
    ]


def test_a_warning_in_a_group_tells_what_is_left_now_and_no_state_twice(folder: Path) -> None:
    """A line that is told as near to the deadline as `--warn` asks is the warning; so is one that is told in turn."""
    (folder / "echo.tide").write_text(
        "timeline integer. input p. input q. input r. w@T+1 :- p@T, q@T+2, r@T+4. w@T+2 :- p@T, q@T+3, r@T+4. ask w@T."
    )
    options = ("ask", "echo.tide", "--in", "facts+-", "--group", "--warn", "1")
    told = lines(run(folder, *options, given="p@0\nq@3\nr@9\n"))
    assert [(line["answer"]["T"], line["status"], line["hypotheses"]) for line in told] == [
        (1, "possible", ["q@2", "r@4"]),
        (1, "rejected", []),
        (2, "possible", ["q@3", "r@4"]),
        (2, "possible", ["r@4"]),
        (2, "rejected", []),
    ]


def test_in_words_the_bounds_of_an_open_time_are_dates(folder: Path) -> None:
    """As all other times are, with `--iso`."""
    (folder / "met.tide").write_text(
        "timeline integer, unit 1 h. input motion(x). input guard(x).\n"
        "met(R) :- motion(R), diamondplus[1,9] guard(R).\nask met(R)@T.\n"
    )
    options = ("--in", "facts+-", "--out", "text+-", "--iso", "--status", "possible")
    done = run(folder, "ask", "met.tide", *options, given="motion(hall)@2026-11-23T15:00:00Z\n")
    assert done.stdout.splitlines() == [
        "possible: met(hall) at 15:00:00, if guard(hall) at T2 with T2 >= 16:00:00 and T2 <= 2026-11-24T00:00:00Z; "
        "decided by 2026-11-24T00:00:00Z"
    ]
