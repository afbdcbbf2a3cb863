"""The example gives what batch reasoning gives."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
WEATHER = ROOT / "examples" / "weather"


@pytest.mark.slow
@pytest.mark.long
def test_spells(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cold spells of both cities, gathered from two outboxes, are those that `run --emit final` tells."""
    runpy.run_path(str(ROOT / "examples" / "spark" / "spells.py"))["main"](spark, tmp_path)
    assert capsys.readouterr().out.splitlines() == [_expected("sea"), _expected("sf")]


def _expected(city: str) -> str:
    readings = f"{WEATHER / city}.csv?predicate=temp"
    program = str(WEATHER / "weather.tide")
    command = [sys.executable, "-m", "tidelog", "run", program, "--in", readings, "--emit", "final", "--out", "facts+-"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    spells = [line.partition("@[")[2].rstrip("]").split(",") for line in lines if line.startswith("cold_spell(")]
    longest = max(int(end) - int(start) + 1 for start, end in spells)
    return f"{city}: {len(spells)} cold spells, the longest of {longest} hours"
