"""Facts of `why`, `verify` and `plot` that a stream would pass over, and what is asked in a way that cannot hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program, and facts of which two lines cannot be read."""
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text("b(X) :- a(X).\n")
    Path("f.txt").write_text("a(x)@1\nbad bad\na(y)@when\na(z)@2\n")


def test_what_cannot_be_read_is_told_and_passed_over(capfd: pytest.CaptureFixture[str]) -> None:
    """As `run` does: each line with its place, then how many there were; the others count."""
    assert main(["why", "p.tide", "f.txt", "--fact", "b(z)@2", "--format", "json"]) == 0
    shown = capfd.readouterr()
    assert shown.err.splitlines()[0].startswith("tidelog: f.txt:2: ")
    assert shown.err.splitlines()[1].startswith("tidelog: f.txt:3: ")
    assert shown.err.splitlines()[2] == "tidelog: note: 2 records could not be used"
    Path("c.json").write_text(shown.out)
    assert main(["verify", "p.tide", "f.txt", "c.json"]) == 0
    assert main(["plot", "p.tide", "f.txt", "--out", "x.svg"]) == 0
    assert capfd.readouterr().err.count("2 records could not be used") == 2


def test_a_variable_and_missing_facts_are_noted(capfd: pytest.CaptureFixture[str]) -> None:
    """A name that looks like a variable is a constant in a fact; without facts there are those of the program alone."""
    assert main(["why", "p.tide", "--fact", "b(X)@1"]) == 1
    said = capfd.readouterr().err
    assert "no facts are given" in said
    assert "`X` is a constant here" in said


def test_a_picture_that_cannot_be_written_is_a_mistake_in_usage(capfd: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2, as for other files that are named."""
    assert main(["plot", "p.tide", "f.txt", "--out", "nowhere/x.svg"]) == 2
    assert "cannot write `nowhere/x.svg`" in capfd.readouterr().err


def test_a_sum_beyond_all_numbers_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """It has no value, and `run` says how often, and of which rule."""
    Path("s.tide").write_text("timeline integer. s(V) :- V = sum(X) over p(X) in [3].\n")
    Path("s.txt").write_text("p(1e308)@1\np(1.1e308)@2\n")
    assert main(["run", "s.tide", "--in", "s.txt"]) == 0
    assert "note: 1 value passed over by an aggregate" in capfd.readouterr().err
