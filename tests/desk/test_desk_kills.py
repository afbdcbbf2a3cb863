"""Killed between an action and its answer, a desk has what was answered, and nothing twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT
from crashing import make_shim
from desk.killing import MODES

STRIDE = int(os.environ.get("TIDELOG_KILL_STRIDE", "1" if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else "17"))
"""At every which call a desk is killed."""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that ends a process at its n-th call."""
    return make_shim(tmp_path_factory.mktemp("shim"))


def kill(shim: Path, folder: Path, mode: str, stride: int, *mutants: str) -> list[str]:
    """What is wrong after each kill: nothing, where all is well."""
    command = [sys.executable, "-m", "desk.killing", str(folder), mode, str(stride), *mutants]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1"}
    place = Path(__file__).parent.parent
    environment["PYTHONPATH"] = os.pathsep.join([str(place), *sys.path])
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * WAIT, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["golden"][0]) == 4 and found["told"]
    told: list[str] = found["told"]
    return told


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_what_was_answered_is_there_once(shim: Path, tmp_path: Path, mode: str) -> None:
    """Before a call, after it, in its middle, and where it fails; and people can go on."""
    assert not [told for told in kill(shim, tmp_path, mode, STRIDE) if told]


@pytest.mark.long
@pytest.mark.parametrize(("mutant", "stride"), [("answered_before_it_is_written", 13), ("nothing_is_cut_off", 2)])
def test_mistakes_of_a_desk_show(shim: Path, tmp_path: Path, mutant: str, stride: int) -> None:
    """Where the history is written too late, or keeps what never was."""
    assert any(kill(shim, tmp_path, "before", stride, mutant))
