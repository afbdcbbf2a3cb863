"""The benchmarks on Spark run, and Spark tells in them what one process does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spark.quick import environment

ROOT = Path(__file__).parents[2]
PANELS = ("throughput", "all of the first run", "before the first row", "decoding, share of the time", "a batch, late")


@pytest.mark.long
def test_the_benchmarks_run_over_few_rows() -> None:
    """With --smoke history and a stream are measured, answers agree with those of one process, and nothing is kept."""
    kept = sorted((ROOT / "benchmarks" / "results").iterdir())
    command = [sys.executable, "-m", "benchmarks", "--spark", "--smoke"]
    run = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [panel for panel in PANELS if panel not in run.stdout] == []
    assert sorted((ROOT / "benchmarks" / "results").iterdir()) == kept
