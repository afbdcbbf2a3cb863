"""Killed at any call around a retraction, a run comes to the same outcome, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT
from state.test_kill import HERE, shim

__all__ = ["shim"]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["after", "torn", "io"])
def test_killed_at_any_call_a_run_takes_back_what_it_has_to_once(shim: Path, tmp_path: Path, mode: str) -> None:
    """What was told less what was taken back is that of an undisturbed run."""
    stride = "1" if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else "31"
    command = [sys.executable, str(HERE / "killing_corrections.py"), str(tmp_path), mode, stride]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * WAIT, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["golden"] > 5
    assert found["same"]
    assert all(found["same"]), found["same"]
