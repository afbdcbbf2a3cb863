"""`--clock` and `--at-end` on the command line: with pipes that stay open, with files, and where they make no sense."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from children import WAIT
from tidelog.cli import main

TIDELOG = [sys.executable, "-m", "tidelog"]
SILENT = """timeline integer, unit 1 s, round down.
input temp(sensor: text).
output silent.
silent(S) :- diamondminus[0,1h] temp(S), not diamondminus[0,1] temp(S).
"""
ASKS = SILENT + "malf(S) :- temp(S), diamondminus[1,1] temp(S).\nask malf(S)@T.\n"


@pytest.fixture
def silent(tmp_path: Path) -> str:
    path = tmp_path / "silent.tide"
    path.write_text(SILENT)
    return str(path)


class Piped:
    """A command that reads facts from a pipe, which stays open; it has started once it has refused a line."""

    def __init__(self, *arguments: str) -> None:
        command = [*TIDELOG, *arguments, "--in", "facts+-"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def __enter__(self) -> Piped:
        self.write("no fact")
        assert self.process.stderr is not None
        while "no fact" not in self.process.stderr.readline():
            pass
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        with self.process:  # which closes the pipes, and waits
            pass

    def write(self, fact: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{fact}\n")
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def finish(self) -> int:
        """Close the pipe; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_pipe_that_says_nothing_more(silent: str, backend: str) -> None:
    """A reading of now comes through a pipe, and no other: that it is silent is told while the pipe stays open."""
    with Piped("run", silent, "--out", "facts+-", "--clock", "2500ms", "--backend", backend) as command:
        begin = int(time.time())
        command.write(f"temp(s1)@{begin}.75")
        assert command.line() == f"silent(s1)@{begin + 2}\n"
        assert time.time() >= begin + 3 + 2.5
        assert command.finish() == 0


@pytest.mark.long
@pytest.mark.slow
def test_a_question_is_decided_by_the_clock(tmp_path: Path) -> None:
    """`ask --clock`: an answer that nothing comes for is rejected in time."""
    (tmp_path / "asks.tide").write_text(ASKS)
    with Piped("ask", str(tmp_path / "asks.tide"), "--clock", "3s") as command:
        command.write(f"temp(s1)@{int(time.time())}")
        assert '"status":"possible"' in command.line()
        assert '"status":"rejected"' in command.line()
        assert command.finish() == 0


def test_old_facts_of_a_pipe_are_late_and_say_so(silent: str) -> None:
    """What a pipe brings is expected at the machine's time: facts of 1970 are dead letters that name the clock."""
    command = [*TIDELOG, "run", silent, "--in", "facts+-", "--clock", "1s"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("temp(s1)@100\n")
        process.stdin.close()
        error = process.stderr.read()
        assert process.wait(WAIT) == 0
    assert error.startswith("stdin:1: late: by the clock, facts before 1")
    assert "tidelog: note: 1 record could not be used" in error


def test_files_are_read_by_their_own_times(silent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With files alone the answers are those without a clock, and a note says why."""
    facts = tmp_path / "facts.txt"
    facts.write_text("temp(s1)@100\ntemp(s2)@110\n")
    told = []
    for clock in ([], ["--clock", "1s"]):
        assert main(["run", silent, "--in", str(facts), "--out", "facts+-", "--emit", "final", *clock]) == 0
        told.append(capfd.readouterr())
    assert told[0].out == told[1].out == "silent(s1)@[102,3700]\nsilent(s2)@[112,3710]\n"
    assert told[0].err == ""
    assert told[1].err == "tidelog: note: `--clock` changes nothing: all facts are read from files, which have an end\n"


def test_at_end_stop_claims_nothing_more(silent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`finish` decides what waits, `stop` leaves it to a stream that goes on; the exit code is 0 in both."""
    facts = tmp_path / "facts.txt"
    facts.write_text("temp(s1)@100\ntemp(s2)@104\n")
    out = {}
    for end in ("finish", "stop"):
        assert main(["run", silent, "--in", str(facts), "--out", "facts+-", "--emit", "points", "--at-end", end]) == 0
        out[end] = capfd.readouterr().out
    assert out == {"finish": "silent(s1)@104\n", "stop": ""}


def test_at_end_stop_leaves_questions_open(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`ask --at-end stop` ends with what is possible; `finish` rejects it."""
    (tmp_path / "asks.tide").write_text(ASKS)
    (tmp_path / "facts.txt").write_text("temp(s1)@100\n")
    for end, lines in (("finish", 2), ("stop", 1)):
        assert main(["ask", str(tmp_path / "asks.tide"), "--in", str(tmp_path / "facts.txt"), "--at-end", end]) == 0
        assert len(capfd.readouterr().out.splitlines()) == lines


def test_an_outbox_takes_both_options(silent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A durable run that stopped goes on with the next; one that finished has ended."""
    facts = tmp_path / "facts.txt"
    facts.write_text("temp(s1)@100\n")
    command = ["run", silent, "--in", str(facts), "--out", f"spark+outbox:{tmp_path / 'box'}", "--clock", "1s"]
    assert main([*command, "--at-end", "stop"]) == 0
    facts.write_text("temp(s1)@100\ntemp(s2)@105\n")
    assert main([*command, "--stats"]) == 0
    assert "facts: 2 accepted" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("program", "arguments", "said"),
    [
        ("timeline integer. q :- p.", ["--clock", "5"], "--clock: a clock needs to know what a unit of time is"),
        (SILENT, ["--clock", "soon"], "--clock: time `soon`"),
        (SILENT, ["--clock=-1s"], "--clock: expected a duration of 0 or more"),
        (SILENT, ["--clock", "inf"], "--clock: "),
        (SILENT, ["--at-end", "wait"], "--at-end"),
    ],
)
@pytest.mark.parametrize("command", ["run", "ask"])
def test_mistakes_in_usage(
    tmp_path: Path, command: str, program: str, arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line before anything is read."""
    question = " ask q@T." if program.endswith("p.") else " malf(S) :- temp(S). ask malf(S)@T."
    (tmp_path / "p.tide").write_text(program + (question if command == "ask" else ""))
    assert main([command, str(tmp_path / "p.tide"), *arguments]) == 2
    assert said in capfd.readouterr().err
