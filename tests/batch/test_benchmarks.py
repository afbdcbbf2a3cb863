"""The benchmarks of batch reasoning run, and what they draw is the same each time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.batch import demand, updating

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    "University, 21 rules",
    "University, all 29 rules",
    "Weather, 4 rules",
    "program E",
    "program M",
    "program H",
    "Nine rules",
    "of up to five columns",
)

DRAWN = """
from benchmarks.batch.suite import CASES
for case in CASES:
    plan = case.plan()
    records = list(case.facts(300, plan.timeline))
    assert len(records) == 300
    print(case.name, [plan.answer(record).text for record in records])
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_what_is_drawn_is_the_same_each_time() -> None:
    """In another process, where hashes differ, the same facts are drawn, as many as are asked for."""
    once, again = python("-c", DRAWN), python("-c", DRAWN)
    assert once.returncode == 0, once.stderr
    assert once.stdout == again.stdout


@pytest.mark.long
def test_the_benchmarks_run_over_few_facts() -> None:
    """With --smoke every program is materialised with every strategy, all agree, and nothing is kept."""
    kept = sorted((ROOT / "benchmarks" / "results").iterdir())
    run = python("-m", "benchmarks", "--batch", "--smoke")
    assert run.returncode == 0, run.stderr
    assert [program for program in PROGRAMS if program not in run.stdout] == []
    assert sorted((ROOT / "benchmarks" / "results").iterdir()) == kept


@pytest.mark.parametrize("arguments", [("--smoke",), ("--full",), ("--lars", "--batch"), ("--batch", "--full", "--smoke")])
def test_options_that_do_not_go_together_are_refused(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a mistake in usage."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "usage: python -m benchmarks" in capsys.readouterr().err


def test_updates_are_measured_beside_fresh_runs() -> None:
    """Of a few facts: what is measured is there, and no more than a fresh run by far."""
    ratio, seconds = updating.figures_of(updating.Case("ways", updating.WAYS, partial(updating.links, 2_000)))
    assert (ratio.target, seconds.unit) == (updating.TARGET, "ms")
    assert 0 < ratio.value < 10


def test_questions_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each beside the whole, and one alone, with few facts."""
    few = replace(demand.QUESTIONS[0], facts=partial(demand.product, 300))
    monkeypatch.setattr(demand, "QUESTIONS", (few,))
    monkeypatch.setattr(demand, "ALONE", few)
    assert [figure.unit for figure in demand.run()] == ["", "ms", "ms"]
