"""`tidelog why --state` and `tidelog verify --state`: over what a run has read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = "timeline integer, unit 1 s.\ninput hot(pump).\ninput visit(pump).\n"
PROGRAM += "alarm(P) :- boxminus[0,2] hot(P), not diamondminus[0,3] visit(P).\n"
FACTS = ["hot(p1)@1", "visit(p2)@1", "hot(p1)@2", "hot(p2)@2", "hot(p1)@3", "hot(p2)@3", "hot(p2)@4", "hot(p1)@1"]

Captured = pytest.CaptureFixture[str]


def run(folder: Path, facts: list[str], *options: str) -> None:
    """A run over these facts, which goes on where the last one stopped."""
    (folder / "p.tide").write_text(PROGRAM)
    with (folder / "facts.txt").open("a") as file:
        file.writelines(f"{fact}\n" for fact in facts)
    command = ["run", str(folder / "p.tide"), "--in", str(folder / "facts.txt"), "--out", str(folder / "out.jsonl")]
    assert main([*command, "--state", str(folder / "state"), "--at-end", "stop", *options]) == 0


def test_a_reason_from_a_journal_is_that_of_the_facts(tmp_path: Path, capfd: Captured) -> None:
    """Over two runs, without the program's file, at the times that the run counted; what was late does not count."""
    run(tmp_path, FACTS[:4], "--keep", "7d")
    run(tmp_path, FACTS[4:], "--keep", "7d")
    (tmp_path / "taken.txt").write_text("".join(f"{fact}\n" for fact in FACTS[:-1]))
    capfd.readouterr()
    files, state = [str(tmp_path / "p.tide"), str(tmp_path / "taken.txt")], ["--state", str(tmp_path / "state")]
    for form in (["--iso"], ["--format", "json"], ["--format", "svg"]):
        assert main(["why", *files, "--fact", "alarm(p1)@3", *form]) == 0
        expected = capfd.readouterr().out
        assert main(["why", *state, "--fact", "alarm(p1)@1970-01-01T00:00:03Z", *form]) == 0
        assert capfd.readouterr() == (expected, "tidelog: note: 1 fact left out: late, or too far ahead\n")
    assert main(["why", *state, "--fact", "alarm(p2)@4"]) == 1
    assert "not diamondminus[0,3] visit(P)" in capfd.readouterr().out


def test_what_the_stream_has_not_come_to_is_said(tmp_path: Path, capfd: Captured) -> None:
    """A fact that may still come to hold is not said to be false for good."""
    run(tmp_path, FACTS[:4], "--keep", "7d")
    capfd.readouterr()
    assert main(["why", "--state", str(tmp_path / "state"), "--fact", "alarm(p1)@3"]) == 1
    assert "it may still come to hold later" in capfd.readouterr().out


def test_a_certificate_is_verified_by_the_journal(tmp_path: Path, capfd: Captured) -> None:
    """One that says something else is refused; another program has no such rule."""
    run(tmp_path, FACTS, "--keep", "7d")
    capfd.readouterr()
    state, path = ["--state", str(tmp_path / "state")], tmp_path / "c.json"
    assert main(["why", *state, "--fact", "alarm(p1)@3", "--format", "json"]) == 0
    text = capfd.readouterr().out
    path.write_text(text)
    assert main(["verify", *state, str(path)]) == 0
    path.write_text(text.replace("p1", "p2"))
    assert main(["verify", *state, str(path)]) == 1
    (tmp_path / "other.tide").write_text(PROGRAM.replace("boxminus[0,2]", "boxminus[0,1]"))
    capfd.readouterr()
    assert main(["why", str(tmp_path / "other.tide"), *state, "--fact", "alarm(p1)@2"]) == 0
    assert "boxminus[0,1] hot(P)" in capfd.readouterr().out
    path.write_text(text)
    assert main(["verify", *state, str(tmp_path / "other.tide"), str(path)]) == 1


def test_a_journal_that_is_too_short_says_so(tmp_path: Path, capfd: Captured) -> None:
    """What rests on something being absent is doubtful where the journal does not go back far enough."""
    run(tmp_path, FACTS[:4])
    run(tmp_path, ["hot(p1)@3", "hot(p1)@4", "hot(p1)@5", "hot(p1)@6"], "--keep", "7d")
    capfd.readouterr()
    assert main(["why", "--state", str(tmp_path / "state"), "--fact", "alarm(p1)@5"]) == 0
    out, err = capfd.readouterr()
    assert "earlier facts, which held up to" in out
    assert "one of them might change this" in out
    assert "note: the journal begins with event" in err
    assert main(["why", "--state", str(tmp_path / "state"), "--fact", "alarm(p1)@5", "--format", "json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["holds"] is True
    assert "note: earlier facts" in err
