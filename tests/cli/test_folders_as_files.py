"""A folder in the place of a file: the message says which file of it may be meant; the exit code is one for all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli import main
from tidelog.gateway.starting import start


@pytest.mark.parametrize("command", ["check", "fmt", "run", "explain", "gateway"])
def test_a_folder_is_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    """The command line is wrong, whatever command it is, and what may be meant is named."""
    start(tmp_path)
    assert main([command, str(tmp_path)]) == 2
    meant = tmp_path / ("plant.toml" if command == "gateway" else "plant.tide")
    assert capfd.readouterr().err == f"tidelog: error: cannot read `{tmp_path}`: Is a directory; there is `{meant}` in it\n"


def test_an_empty_folder_is_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where nothing in it can be meant, that is asked for."""
    assert main(["check", str(tmp_path)]) == 2
    assert capfd.readouterr().err == f"tidelog: error: cannot read `{tmp_path}`: Is a directory; name a file of it\n"
