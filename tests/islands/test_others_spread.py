"""The tests of states, restarts, corrections, changed programs and calendars, with engines that are spread over islands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT

TESTS = Path(__file__).parents[1]


@pytest.mark.long
@pytest.mark.slow
def test_what_holds_in_one_task_holds_spread() -> None:
    """Each of these tests compares an engine with something else, and does not care how it runs."""
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    plugins = [part for name in ("islands.spread_by_default", "no:xdist", "no:cacheprovider") for part in ("-p", name)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, "-m", "not long", str(TESTS / "state"), str(TESTS / "calendars")],
        env=os.environ | {"PYTHONPATH": path, "HYPOTHESIS_PROFILE": "quick"},
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:]
    assert " passed" in done.stdout
