"""The pictures in the documents are what the commands beside them draw."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pages.__main__ import BUILD, write_sources
from tidelog.cli import main

ROOT = Path(__file__).parents[2]
COMMANDS = (ROOT / "docs" / "pictures" / "commands").read_text("utf-8").splitlines()


@pytest.fixture(scope="module", autouse=True)
def _sources() -> None:
    """The recipes and the facts that some commands read, as files."""
    write_sources(BUILD / "recipes")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: Path(command).name)
def test_pictures_are_those_that_are_drawn(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What lies in docs/pictures is drawn by `make pictures` just so; that command brings it up to date."""
    monkeypatch.chdir(ROOT)
    *arguments, option, file = shlex.split(command)
    assert (option, main(arguments)) == ("--out", 0)
    assert capfd.readouterr().out == Path(file).read_text("utf-8")
