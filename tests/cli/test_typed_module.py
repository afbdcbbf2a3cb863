"""`tidelog types`: the module is what it was, runs, is strict for type checkers, and says of answers what they hold."""

from __future__ import annotations

import os
from dataclasses import astuple
from importlib import import_module
from pathlib import Path

import pytest
from cli.test_types import checked

import tidelog
from tidelog.cli import main

PROGRAM = Path(__file__).parents[1] / "fixtures" / "typed" / "outputs.tide"


def module(capfd: pytest.CaptureFixture[str], program: Path = PROGRAM) -> str:
    """What the command prints for a program."""
    assert main(["types", str(program)]) == 0
    told = capfd.readouterr()
    assert told.err == ""
    return told.out


def test_the_module_is_what_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    """To the letter; TIDELOG_GOLDEN=write writes it anew."""
    golden = PROGRAM.with_suffix(".txt")
    text = module(capfd)
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


def test_answers_are_typed(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer becomes one of its output, with its arguments; truth values are those of Python."""
    (tmp_path / "typed_outputs.py").write_text(module(capfd))
    monkeypatch.syspath_prepend(tmp_path)
    typed_of = import_module("typed_outputs").typed
    session = tidelog.Session(tidelog.compile_path(PROGRAM))
    facts: list[tuple[str, list[str | float]]] = [
        ("temp", ["hall", 9.5]),
        ("temp", ["attic", 2]),
        ("door", ["hall", True]),
        ("door", ["cellar", False]),
        ("stop", []),
    ]
    for name, row in facts:
        session.push(name, row, time=1)
    session.finish()
    typed = [(answer, typed_of(answer)) for answer in session.pull()]
    assert {type(each).__name__ for _, each in typed} == {"Alarm", "AB", "Ajar", "Alarm_", "AllClear", "Halted", "Level"}
    for answer, each in typed:
        told = tuple(str(value).lower() if isinstance(value, bool) else value for value in astuple(each))
        assert told == answer.row
    (ajar,) = (each for _, each in typed if type(each).__name__ == "Ajar" and each.place == "hall")
    assert ajar.open is True and ajar.count == 3
    other = tidelog.compile("timeline integer. other(X) :- p(X).").answer(("other", ("a",), 1, 1))
    with pytest.raises(ValueError, match="`other` is no output of outputs"):
        typed_of(other)


def test_a_program_without_named_outputs_has_a_module(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is not named is `arg1`, `arg2` and of any type; what derives nothing gives no classes."""
    (tmp_path / "p.tide").write_text("timeline integer.\nhot(P, C) :- temp(P, C).\n")
    text = module(capfd, tmp_path / "p.tide")
    assert "class Hot:" in text
    assert "    arg1: str | float\n    arg2: str | float\n" in text
    assert "cast" not in text


@pytest.mark.long
def test_the_module_is_strict(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """mypy has nothing to say of it, and knows the types of arguments."""
    text = module(capfd)
    use = "\n\ndef place(answer: tidelog.Answer) -> str:\n    each = typed(answer)\n"
    use += '    return each.place if isinstance(each, Ajar) else ""\n'
    assert checked(tmp_path, text + use) == []
    other = use.replace("each.place", "each.count") + "\n"  # mypy passes over what has the same size within a second
    said = checked(tmp_path, text + other)
    assert any("Incompatible return value type" in line for line in said)
