"""`tidelog explain --stage ltl`: a program and its facts as a formula, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = "timeline integer.\nboxplus[2,2] on(X) :- on(X).\nbottom :- on(X), off(X).\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program and facts, and the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lamp.tide").write_text(PROGRAM)
    (tmp_path / "facts.txt").write_text("on(a)@0\noff(a)@1\n")
    return tmp_path


def said(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """The exit code, the lines printed, and what was said beside them."""
    code = main(["explain", *arguments])
    printed = capfd.readouterr()
    return code, printed.out.splitlines(), printed.err


@pytest.mark.usefixtures("folder")
def test_the_formula_is_the_last_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Comments tell the size and the names; all but them is one formula."""
    code, lines, errors = said(capfd, "lamp.tide", "facts.txt", "--stage", "ltl")
    assert (code, errors) == (0, "")
    assert lines == [
        "# size: 34 nodes, depth of X: 2",
        "# r0, r1, … tell of the positions 0, 1, 2, …; l0, l1, … of -1, -2, -3, …",
        "# position 0, where the data begin, is the time 0, position 1 the time 1",
        "# r0, l0: off(a)",
        "# r1, l1: on(a)",
        "r1 & (X l1 -> r1) & (l1 -> X r1) & X r0 & G (r1 -> X X r1) & G (X X l1 -> l1) & G !(r0 & r1) & G !(l0 & l1)",
    ]


@pytest.mark.usefixtures("folder")
def test_facts_finer_than_the_program(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The data's own resolution counts: on dense time, half a unit is one position, a whole one two."""
    (folder / "dense.tide").write_text("bottom :- on(X), diamondminus[1,1] off(X).\n")
    (folder / "half.txt").write_text("on(a)@1/2\noff(a)@0\n")
    _, lines, _ = said(capfd, "dense.tide", "half.txt", "--stage", "ltl")
    assert any("time points" in line and "gaps" in line for line in lines)
    assert "X X X X" in lines[-1]


def test_data_far_from_0(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The formula is the same, and a comment tells the time at which it begins; on dense time how far points are apart."""
    _, near, _ = said(capfd, "lamp.tide", "facts.txt", "--stage", "ltl")
    (folder / "far.txt").write_text("on(a)@1277942430\noff(a)@1277942431\n")
    _, far, _ = said(capfd, "lamp.tide", "far.txt", "--stage", "ltl")
    assert far[-1] == near[-1]
    assert far[2] == "# position 0, where the data begin, is the time 1277942430, position 1 the time 1277942431"
    (folder / "dense.tide").write_text("timeline rational, unit 1 s.\nbottom :- on(X), diamondminus[30s,2min] off(X).\n")
    (folder / "dense.txt").write_text("on(a)@2010-07-01T00:00:30Z\noff(a)@[2010-07-01T00:00:00Z,inf)\n")
    code, lines, _ = said(capfd, "dense.tide", "dense.txt", "--stage", "ltl")
    assert code == 0
    assert lines[2] == "# position 0, where the data begin, is the time 1277942400, position 2 the time 1277942430"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["facts.txt"], "facts are for `--stage ltl`"),
        (["facts.txt", "--stage", "normal"], "facts are for `--stage ltl`"),
        (["--stage", "ltl", "--format", "json"], "`text`"),
        (["--stage", "ltl", "missing.txt"], "missing.txt"),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Facts without the stage that takes them, other formats, and files that are not there end with exit code 2."""
    code, lines, errors = said(capfd, "lamp.tide", *arguments)
    assert (code, lines) == (2, [])
    assert message in errors


@pytest.mark.parametrize(
    ("program", "fact", "message"),
    [
        ("p(X) :- q(X), not r(X).\n", "q(a)@0\n", "`not`"),
        ("timeline integer.\nbottom :- p(X), diamondminus[0,1] p(X).\n", "p(a)@-7\np(a)@1000000000\n", "nest"),
    ],
)
def test_programs_without_a_formula(
    folder: Path, program: str, fact: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What has no formula, or too large a one, is told, with exit code 2."""
    (folder / "other.tide").write_text(program)
    (folder / "other.txt").write_text(fact)
    code, lines, errors = said(capfd, "other.tide", "other.txt", "--stage", "ltl")
    assert (code, lines) == (2, [])
    assert message in errors
