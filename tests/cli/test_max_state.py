"""`--max-state`: a command that grows beyond it ends with an error, not with the machine's memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT
from tidelog.cli import main

JOIN = "timeline integer.\ninput p(x).\nq(X,Y,Z) :- p(X), p(Y), p(Z).\n"
RULE = "the rule `q(X, Y, Z) :- p(X), p(Y), p(Z).` (p.tide:3)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.tide").write_text(JOIN)
    (tmp_path / "p.txt").write_text("".join(f"p({number})@1\n" for number in range(1000)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("run", "p.tide", "--in", "p.txt", "--out", "/dev/null"),
        ("run", "p.tide", "--in", "p.txt", "--out", "/dev/null", "--backend", "asyncio", "--emit", "points"),
        ("run", "p.tide", "--in", "p.txt", "--out", "spark+outbox:box"),
        ("materialise", "p.tide", "p.txt"),
    ],
    ids=["run", "asyncio", "outbox", "materialise"],
)
def test_the_rule_that_grows_is_named(here: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    """With its place, its size, and what was done; the exit code is 1."""
    assert main([*command, "--max-state", "20000"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tidelog: error: the state has grown beyond 20,000 rows: ")
    assert f"are held by {RULE}; 1,000 facts accepted, 0 answers told; `--max-state` sets the bound\n" in said


def test_a_question_that_grows_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`ask`, whose query is on the command line."""
    command = ["ask", "p.tide", "--query", "q(X,Y,Z)@T", "--in", "p.txt", "--out", "jsonl+/dev/null", "--max-state", "5000"]
    assert main(command) == 1
    assert "are held by the question `ask q(X, Y, Z)@T.` (p.tide:4); 1,000 facts accepted" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("entails", "--fact", "q(1,1,1)@1"), ("consistent",)], ids=["entails", "consistent"])
def test_what_is_not_decided_tells_the_rule(
    here: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """Automata cannot take so much either: the exit code is 2, and both reasons are told."""
    (here / "p.tide").write_text(JOIN + "bottom :- q(X,Y,Z), X+Y+Z < 0.\n")
    name, *options = command
    assert main([name, "p.tide", "p.txt", *options, "--max-state", "20000"]) == 2
    said = capsys.readouterr().err
    assert RULE in said
    assert "by automata" in said


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_only_a_number_of_rows_is_a_bound(capsys: pytest.CaptureFixture[str], number: str) -> None:
    """Anything else is a mistake in usage."""
    assert main(["run", "p.tide", f"--max-state={number}"]) == 2
    assert f"argument --max-state: expected a whole number above 0, got `{number}`" in capsys.readouterr().err


def test_check_tells_the_bound(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """For streams and for batch commands; as fields, too."""
    assert main(["check", "-v", "p.tide"]) == 0
    assert "state: at most 2,000,000 rows in a stream, 10,000,000 in batch (`--max-state`)\n" in capfd.readouterr().out
    assert main(["check", "-v", "--format", "json", "p.tide"]) == 0
    assert '"max_state": {\n    "stream": 2000000,\n    "batch": 10000000\n  }' in capfd.readouterr().out


@pytest.mark.long
@pytest.mark.slow
def test_the_default_fits_a_small_gateway(here: Path) -> None:
    """A billion combinations end with the error where a process may have 1.5 GB in all."""
    command = [sys.executable, "-m", "tidelog", "run", "p.tide", "--in", "p.txt", "--out", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT, preexec_fn=_with_little_memory)
    assert done.returncode == 1
    assert f"beyond 2,000,000 rows: 2,001,000 are held by {RULE}" in done.stderr


def _with_little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
