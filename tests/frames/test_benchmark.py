"""The benchmark of frames runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_benchmark_prints_ratios() -> None:
    """Over few rows it gives each figure, and those beside other ways as ratios."""
    code = "from benchmarks.runtime.frames import run\nfor figure in run(2000, 1): print(figure.unit, figure.value > 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n") == ["µs True"] * 3 + ["× True"] * 3 + [""], done.stderr
