"""Standard descriptors that are closed when a command starts: what would be read or written is an error that is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    text = command.replace("tidelog", f"{sys.executable} -m tidelog")
    return subprocess.run(["sh", "-c", text], cwd=folder, capture_output=True, text=True, timeout=WAIT, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program and a fact."""
    (tmp_path / "p.tide").write_text("b(X) :- a(X).\n")
    (tmp_path / "f.txt").write_text("a(x)@1\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("tidelog run p.tide <&-", "error: stdin: "),
        ("tidelog fmt - <&-", "error: cannot read standard input: "),
        ("tidelog run p.tide --in f.txt >&-", "error: stdout: "),
    ],
)
def test_a_closed_descriptor_is_told(command: str, said: str, folder: Path) -> None:
    """It is one line with a reason, no traceback, and no other file takes its number."""
    done = shell(command, folder)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(f"tidelog: {said}"), done.stderr
    assert "Traceback" not in done.stderr
