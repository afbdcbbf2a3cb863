"""Killed at any call that changes a file or sends something, a run that goes on gives the answers of an undisturbed run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from children import WAIT
from crashing import make_shim
from state.killing import MODES

HERE = Path(__file__).parent
STRIDE = int(os.environ.get("TIDELOG_KILL_STRIDE", "1" if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else "25"))
"""At every which call a run is killed: 1 is at all of them, which takes hours."""


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that ends a process at its n-th call."""
    return make_shim(tmp_path_factory.mktemp("shim"))


def kill(shim: Path, folder: Path, sink: str, mode: str, stride: int, *mutants: str) -> dict[str, Any]:
    """How many answers an undisturbed run gives, and at which calls a killed one comes to the same."""
    command = [sys.executable, str(HERE / "killing.py"), str(folder), sink, mode, str(stride), *mutants]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * WAIT, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["golden"] > 20
    assert found["same"]
    return found


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sink", ["file", "outbox", "socket"])
def test_killed_at_any_call_a_run_loses_nothing_and_tells_nothing_twice(
    shim: Path, tmp_path: Path, sink: str, mode: str
) -> None:
    """Before a call, after it, in its middle, and where it fails: the sink holds each answer once in the end."""
    found = kill(shim, tmp_path, sink, mode, STRIDE)
    assert all(found["same"]), found["same"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "sink"),
    [
        ("taken_before_the_sink", "file"),
        ("position_before_the_state", "file"),
        ("no_id", "socket"),
    ],
)
def test_mistakes_show(shim: Path, tmp_path: Path, mutant: str, sink: str) -> None:
    """A run with a mistake in the order of what it stores does not come to the same answers at each call."""
    assert not all(kill(shim, tmp_path, sink, "after", 8, mutant)["same"])
