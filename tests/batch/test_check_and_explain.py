"""`check` and `explain` of programs that a stream cannot take, and batch reasoning can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidelog.cli import main

WALK = "timeline integer.\nboxplus[1,1] at(X) :- at(X).\nboxminus[1,1] at(X) :- at(X).\nask at(X)@T.\n"
NORMAL = "timeline integer.\noutput at.\nat(X) :- diamondminus[1,1] at(X).\nat(X) :- diamondplus[1,1] at(X).\n"
CAN = "tidelog: batch reasoning can take this program (materialise, entails, consistent)"


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.tide").write_text(WALK)
    Path("wrong.tide").write_text("p(X) :- q(Y).\n")


def said(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str, int]:
    code = main(list(arguments))
    return *capfd.readouterr(), code


@pytest.mark.parametrize(("stage", "text"), [("text", WALK), ("normal", NORMAL)])
def test_stages_that_need_no_stream(capfd: pytest.CaptureFixture[str], stage: str, text: str) -> None:
    """The program as read, and in normal form, as text and as JSON."""
    assert said(capfd, "explain", "walk.tide", "--stage", stage) == (text, "", 0)
    fields = json.loads(said(capfd, "explain", "walk.tide", "--stage", stage, "--format", "json")[0])
    assert (fields["program"], fields["stage"]) == ("walk.tide", stage)
    assert fields["statements"] == text.splitlines()


def test_the_plan_is_of_streams(capfd: pytest.CaptureFixture[str]) -> None:
    """The error of a stream stays, and what there is instead is said."""
    out, error, code = said(capfd, "explain", "walk.tide")
    assert (out, code) == ("", 1)
    assert "error[endless-ask]" in error
    assert error.endswith(f"\n{CAN}: `--stage text` and `--stage normal` show it\n")


def test_check_says_who_can_take_it(capfd: pytest.CaptureFixture[str]) -> None:
    """The error and the exit code stay; one more line tells."""
    Path("plain.tide").write_text(WALK.replace("ask at(X)@T.\n", ""))
    out, error, code = said(capfd, "check", "plain.tide")
    assert (out, code) == ("", 1)
    assert "error[infinite-delay]" in error
    assert error.endswith(f"\n{CAN}\n")


def test_check_offers_nothing_to_who_asks(capfd: pytest.CaptureFixture[str]) -> None:
    """Batch reasoning does not answer what a program asks."""
    out, error, code = said(capfd, "check", "walk.tide")
    assert (out, code) == ("", 1)
    assert "error[endless-ask]" in error
    assert "batch" not in error


@pytest.mark.parametrize("arguments", [["check"], ["explain"], ["explain", "--stage", "text"]])
def test_what_nobody_can_take(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Nothing is said of batch reasoning."""
    out, error, code = said(capfd, *arguments, "wrong.tide")
    assert (out, code) == ("", 1)
    assert "error[" in error
    assert "batch" not in error
