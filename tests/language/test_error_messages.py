"""Error messages, as golden files: `tests/fixtures/errors/NAME.tide` is a program, `NAME.txt` what is said of it.

TIDELOG_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

import os
from pathlib import Path

import pytest

from tidelog.plans.checks.check import check, check_beside
from tidelog.plans.diagnostics.source import render_diagnostics
from tidelog.plans.language.parser import parse_what_reads

FOLDER = Path(__file__).parent.parent / "fixtures" / "errors"
PROGRAMS = sorted(FOLDER.glob("*.tide"))


def said_of(path: Path) -> str:
    program, unread = parse_what_reads(path.read_bytes().decode(), path.name)
    found = check_beside(program, unread) if unread else check(program)
    return render_diagnostics(found, program.name, program.text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message(path: Path):
    """What is said of the program is what the golden file says, to the letter."""
    golden = path.with_suffix(".txt")
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_bytes(said_of(path).encode())
    assert said_of(path) == golden.read_bytes().decode()


def test_every_file_has_its_message():
    """There are golden files, and none is left over from a program that is gone."""
    assert PROGRAMS
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in PROGRAMS}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_no_terminal_of_the_grammar_is_named(path: Path):
    """Users never see the grammar's own names."""
    shown = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert not any(name in shown for name in ["LPAR", "RPAR", "LSQ", "RSQ", "IMPLIES", "QUOTED", "$END", "COMPARE"])
