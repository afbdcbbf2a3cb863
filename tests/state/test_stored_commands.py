"""`tidelog replay` and `tidelog state`: what was read, run again; what is stored, and what of it is damaged."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tidelog.cli import main
from tidelog.connectors.store.state_store import FILE


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The state of a run over four facts, with its journal."""
    (tmp_path / "p.tide").write_text("timeline integer. input hot(x). alarm(X) :- boxminus[0,2] hot(X).\n")
    (tmp_path / "facts.txt").write_text("".join(f"hot(a)@{time}\n" for time in range(6)))
    options = ["--in", str(tmp_path / "facts.txt"), "--out", str(tmp_path / "out.jsonl"), "--keep", "7d"]
    assert main(["run", str(tmp_path / "p.tide"), *options, "--state", str(tmp_path / "state")]) == 0
    return tmp_path


def test_a_journal_gives_the_same_answers_again(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same program, what the run told; between two times, with another program, what that would have told."""
    state = str(stored / "state")
    assert main(["replay", state]) == 0
    assert capsys.readouterr().out == (stored / "out.jsonl").read_text()
    (stored / "q.tide").write_text("timeline integer. input hot(x). soon(X) :- boxminus[0,1] hot(X).\n")
    assert main(["replay", state, str(stored / "q.tide"), "--from", "3", "--to", "4", "--format", "facts"]) == 0
    assert capsys.readouterr().out == "soon(a)@3\nsoon(a)@4\n"


def test_a_state_is_shown_with_what_is_damaged(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Journal, snapshot by step, sources, sinks; what is not as it was written is told, and the exit code is 1."""
    state = stored / "state"
    assert main(["state", str(state)]) == 0
    told = capsys.readouterr().out
    assert "6 facts" in told
    assert "the stream has ended" in told
    assert "is owed 0" in told
    connection = sqlite3.connect(state / FILE)
    connection.execute("UPDATE journal SET data = X'00'")
    connection.commit()
    connection.close()
    assert main(["state", str(state)]) == 1
    assert "damaged: state" in capsys.readouterr().out
