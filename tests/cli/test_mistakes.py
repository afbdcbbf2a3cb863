"""Mistakes on the command line that would cost data, or that are easily made."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from children import tidelog

PROGRAM = "timeline integer, unit 1 s.\ninput hot(pump).\nalarm(X) :- boxminus[0,2] hot(X).\n"
FACTS = "hot(a)@1\nhot(a)@2\nhot(a)@3\n"


def run(*arguments: str, cwd: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return tidelog(*arguments, given=given, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program and its facts, the latter under three names."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    (tmp_path / "f.txt").write_text(FACTS)
    (tmp_path / "soft.txt").symlink_to("f.txt")
    os.link(tmp_path / "f.txt", tmp_path / "hard.txt")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--in", "f.txt", "--out", "f.txt"],
        ["--in", "f.txt", "--out", "facts+file:./f.txt"],
        ["--in", "soft.txt", "--out", "hard.txt"],
        ["--in", "f.txt", "--dead-letter", "f.txt"],
        ["--in", "f.txt", "--out", "p.tide"],
        ["--in", "f.txt", "--out", "new.txt", "--dead-letter", "new.txt"],
        ["--in", "f.txt", "--out", "new.txt", "--out", "jsonl+./new.txt"],
    ],
)
def test_what_is_read_is_never_overwritten(folder: Path, arguments: list[str]) -> None:
    """A file that is read, or written already, is no output: exit code 2, and nothing has been touched."""
    done = run("run", "p.tide", *arguments, cwd=folder)
    assert done.returncode == 2
    assert "in one run" in done.stderr
    assert (folder / "f.txt").read_text() == FACTS
    assert (folder / "p.tide").read_text() == PROGRAM
    assert not (folder / "new.txt").exists()


def test_background_is_not_overwritten(folder: Path) -> None:
    """The files of `background` are read too."""
    (folder / "b.tide").write_text('p(X) :- q(X), r(X).\nbackground r from "r.csv".\n')
    (folder / "r.csv").write_text("x\na\n")
    assert run("run", "b.tide", "--in", "f.txt", "--out", "r.csv", cwd=folder).returncode == 2
    assert (folder / "r.csv").read_text() == "x\na\n"


def test_devices_may_stand_on_both_sides(folder: Path) -> None:
    """Writing to a device loses nothing: it may be named twice."""
    done = run("run", "p.tide", "--in", "/dev/null", "--out", "/dev/null", "--dead-letter", "/dev/null", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["check", "explain", "run"])
def test_a_missing_program_is_a_mistake_in_usage(tmp_path: Path, command: str) -> None:
    """As with a missing input: exit code 2, and one line without an error's number."""
    done = run(command, "none.tide", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "tidelog: error: cannot read `none.tide`: No such file or directory\n")


def test_a_missing_background_file_is_shown_in_the_program(tmp_path: Path) -> None:
    """An error of the program, at its statement; every missing file is told."""
    (tmp_path / "p.tide").write_text('p(X) :- q(X), r(X), s(X).\nbackground r from "r.csv".\nbackground s from "s.csv".\n')
    done = run("check", "p.tide", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1
    found = [(item["code"], item["line"], item["column"]) for item in json.loads(done.stdout)["diagnostics"]]
    assert found == [("background-file", 2, 1), ("background-file", 3, 1)]
    shown = run("run", "p.tide", cwd=tmp_path)
    assert shown.returncode == 1
    assert "background file `r.csv` cannot be read: No such file or directory" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lateness", "2m"], "--lateness: `m` is no unit: us, ms, s, min, h, d"),
        (["--max-ahead", "2 weeks"], "--max-ahead: `weeks` is no unit: us, ms, s, min, h, d"),
        (["--max-ahead", "-1"], "--max-ahead: expected a duration of 0 or more"),
        (["--lateness", "2024-01-01"], "--lateness: expected a duration, got the time `2024-01-01`"),
        (
            ["--in", "json+-"],
            "`json+-` has an unknown format `json`: the formats are facts, jsonl, csv, parquet, text; did you mean `jsonl`?",
        ),
    ],
)
def test_the_message_says_what_there_is(folder: Path, arguments: list[str], said: str) -> None:
    """A unit or a format that there is not is named, with those that there are."""
    done = run("run", "p.tide", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (2, f"tidelog: error: {said}\n")


def test_text_facts_where_json_is_expected(folder: Path) -> None:
    """Text facts on bare standard input are told how to be read; wrong JSON, and a format that was asked for, are not."""
    hint = "for text facts say `--in facts+-`"
    assert hint in run("run", "p.tide", cwd=folder, given=FACTS).stderr
    assert hint not in run("run", "p.tide", cwd=folder, given='{"hot":\n').stderr
    assert hint not in run("run", "p.tide", "--in", "jsonl+-", cwd=folder, given=FACTS).stderr


@pytest.mark.parametrize(("given", "said"), [("x\n", "1 record could"), ("x\ny\n", "2 records could")])
def test_what_is_counted_has_its_number(folder: Path, given: str, said: str) -> None:
    """One record, two records; dead letters alone leave the exit code at 0."""
    done = run("run", "p.tide", "--in", "facts+-", cwd=folder, given=given)
    assert said in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("declared", ["input tick.", "input tick()."])
def test_a_heartbeat_moves_time(tmp_path: Path, declared: str) -> None:
    """An input without fields is an object without members; as it comes, absence becomes known."""
    rule = "silent(X) :- diamondminus[0,60] seen(X), not diamondminus[0,15] seen(X)."
    (tmp_path / "p.tide").write_text(f"timeline integer, unit 1 s.\n{declared}\ninput seen(x).\n{rule}\n")
    lines = '{"seen":{"x":"a"},"time":0}\n{"tick":{},"time":30}\n{"tick":{"x":1},"time":31}\n'
    done = run("run", "p.tide", "--out", "facts+-", "--emit", "points", cwd=tmp_path, given=lines)
    assert done.stdout == "silent(a)@30\n"
    assert "`tick` has no field `x`" in done.stderr


def test_a_fact_from_a_wrong_clock_is_refused(folder: Path) -> None:
    """With --max-ahead, one fact far in the future is a dead letter, and what comes behind it still counts."""
    given = "hot(a)@1\nhot(a)@2\nhot(a)@99999\nhot(a)@3\n"
    arguments = ("run", "p.tide", "--in", "facts+-", "--out", "facts+-", "--stats")
    kept = run(*arguments, "--max-ahead", "1 min", cwd=folder, given=given)
    assert kept.stdout == "alarm(a)@3\n"
    assert "stdin:3: ahead: begins more than 60 after 2, where its source stood: hot(a)@99999" in kept.stderr
    assert "3 accepted, 0 unused, 0 late, 1 ahead; 1 rejected in all" in kept.stderr
    assert run(*arguments, cwd=folder, given=given).stdout == ""


def test_dead_letters_that_cannot_be_written(folder: Path) -> None:
    """It is a mistake in usage, told as what it is, before anything is read."""
    done = run("run", "p.tide", "--in", "/dev/null", "--dead-letter", "nowhere/x", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tidelog: error: cannot write dead letters to `nowhere/x`: No such file or directory\n"
