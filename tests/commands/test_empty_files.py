"""A file of CSV that has no rows is no mistake, and is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = "timeline integer.\ninput temp(x, v).\nhot(X) :- temp(X, V), V > 1.\noutput hot.\n"
NOTE = "tidelog: note: `e.csv` has no rows\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.tide").write_text(PROGRAM)


@pytest.mark.parametrize("command", ["run", "materialise"])
@pytest.mark.parametrize("text", ["", "time,x,v", "time,x,v\n", "time,x,v\r\n\n", '"time",x,"v"\n'])
@pytest.mark.parametrize("more", [[], ["--strict"]])
def test_a_file_without_rows_is_told(command: str, text: str, more: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """Also under `--strict`, which is about records; before, a command ended without a word."""
    Path("e.csv").write_text(text)
    assert main([command, "p.tide", "e.csv?predicate=temp", *more]) == 0
    assert capfd.readouterr() == ("", NOTE)


def test_other_commands_tell_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Those that ask, too."""
    Path("e.csv").write_text("time,x,v\n")
    for command, code in (("why", 1), ("entails", 1)):
        assert main([command, "p.tide", "e.csv?predicate=temp", "--fact", "hot(a)@1"]) == code
        assert NOTE in capfd.readouterr().err


def test_a_compressed_file_without_rows_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """By what it holds, not by its size."""
    Path("e.csv.gz").write_bytes(gzip.compress(b"time,x,v\n"))
    assert main(["run", "p.tide", "e.csv.gz?predicate=temp"]) == 0
    assert capfd.readouterr().err == NOTE.replace("e.csv", "e.csv.gz")


@pytest.mark.parametrize("rows", ["1,a,2\n", "1,a,2", '1,"a\nb",2\n'])
def test_a_file_with_a_row_is_not(rows: str, capfd: pytest.CaptureFixture[str]) -> None:
    """However its last line ends."""
    Path("e.csv").write_text(f"time,x,v\n{rows}")
    assert main(["run", "p.tide", "e.csv?predicate=temp"]) == 0
    assert capfd.readouterr().err == ""
