"""`tidelog fmt`: files are written in one form, at once, or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.cli import main

UNTIDY, TIDY = "p(X):-q(X)  % why\n", "p(X) :- q(X).  % why\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that is not formatted."""
    path = tmp_path / "p.tide"
    path.write_text(UNTIDY)
    return path


def test_files_are_formatted_in_place(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What changes is named; the file keeps its mode, a link goes on leading to it, nothing is left beside it."""
    program.chmod(0o640)
    link = tmp_path / "link.tide"
    link.symlink_to(program)
    assert main(["fmt", str(link)]) == 0
    assert program.read_text() == TIDY
    assert link.is_symlink()
    assert program.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.tide", "p.tide"]
    assert capfd.readouterr() == ("", f"tidelog: changed `{link}`\n")
    before = program.stat().st_mtime_ns
    assert main(["fmt", str(program)]) == 0
    assert program.stat().st_mtime_ns == before
    assert capfd.readouterr() == ("", "")


def test_check_changes_nothing(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--check` says by its exit code whether a file would change; `--diff` shows how."""
    assert main(["fmt", "--check", str(program)]) == 1
    assert f"would change `{program}`" in capfd.readouterr().err
    assert main(["fmt", "--diff", str(program)]) == 0
    assert capfd.readouterr().out == (f"--- {program}\n+++ {program} (formatted)\n@@ -1 +1 @@\n-{UNTIDY}+{TIDY}")
    assert program.read_text() == UNTIDY
    program.write_text(TIDY)
    assert main(["fmt", "--check", "--diff", str(program)]) == 0
    assert capfd.readouterr() == ("", "")


def test_a_wrong_program_costs_no_other(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is left as it is, its errors are shown, the others are formatted, and the exit code is 1."""
    wrong = tmp_path / "wrong.tide"
    wrong.write_text("p(X :- q(X).\n")
    binary = tmp_path / "binary.tide"
    binary.write_bytes(b"p(\xff).")
    assert main(["fmt", str(wrong), str(binary), str(program)]) == 1
    assert wrong.read_text() == "p(X :- q(X).\n"
    assert program.read_text() == TIDY
    errors = capfd.readouterr().err
    assert "wrong.tide:1:4" in errors
    assert "not UTF-8" in errors


def test_a_file_that_is_not_there_is_a_mistake_in_usage(tmp_path: Path) -> None:
    """As for any other command."""
    assert main(["fmt", str(tmp_path / "none.tide")]) == 2


def test_it_is_a_filter() -> None:
    """`-` is formatted from standard input to standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "tidelog", "fmt", "-"], input=UNTIDY, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (TIDY, "")


def test_a_missing_file_does_not_stop_the_rest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The others are formatted; the exit code is that of a file that cannot be read."""
    path = tmp_path / "p.tide"
    path.write_text("b:-a.")
    assert main(["fmt", str(tmp_path / "nowhere.tide"), str(path)]) == 2
    assert path.read_text() == "b :- a.\n"
    assert "cannot read" in capfd.readouterr().err


def test_functions_are_written_in_lower_case(tmp_path: Path) -> None:
    """Those of aggregates and of arithmetic, whose case means nothing; names of predicates stay as they are."""
    path = tmp_path / "p.tide"
    path.write_text(
        "timeline integer. Hot(S, A) :- A = AVG(V) over P(S, V) in [3] by S, COUNT() over q in [2] > Min(1, ABS(2))."
    )
    assert main(["fmt", str(path)]) == 0
    text = path.read_text()
    assert "A = avg(V) over P(S, V)" in text
    assert "count() over q in [2] > min(1, abs(2))" in text
    assert "Hot(S, A)" in text
