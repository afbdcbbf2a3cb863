"""What type checkers see of the Python API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT

USE = """import tidelog

plan = tidelog.compile("q(X) :- p(X).")
for change in tidelog.Session(plan, emit="changes", lateness=3).pull():
    print(change.begins, change.ends, change.has_ended)
for answer in tidelog.Session(plan).pull():
    print(answer.row, answer.interval.low)


def told(session: tidelog.Session) -> int:
    return len(session.pull())


print(told(tidelog.Session(plan, emit="final")))
"""
WRONG = """import tidelog

plan = tidelog.compile("q(X) :- p(X).")
print(tidelog.Session(plan).pull()[0].begins)
tidelog.Session(plan, emit="changes", latenes=3)
"""


def checked(folder: Path, text: str) -> list[str]:
    """What mypy says of a program, strictly."""
    (folder / "use.py").write_text(text)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "use.py"]
    cache = ["--cache-dir", str(root / "build" / "mypy")]
    environment = {"MYPYPATH": str(root)}
    done = subprocess.run(
        [*command, *cache], capture_output=True, text=True, cwd=folder, env=environment, timeout=WAIT, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("use.py:")]


@pytest.mark.long
def test_what_is_pulled_has_the_type_that_emit_says(tmp_path: Path) -> None:
    """`begins` and `ends` are there of changes, and of nothing else; options are checked by their names."""
    assert checked(tmp_path, USE) == []
    said = checked(tmp_path, WRONG)
    assert any('"Answer" has no attribute "begins"' in line for line in said)
    assert any("use.py:5" in line and "latenes" in line for line in said)
