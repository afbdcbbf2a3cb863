"""The benchmark of lines runs, and each of its files has answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.runtime.lines import CASES, run
from tidelog.cli import main


def test_the_benchmark_measures_each_form() -> None:
    """Over few lines it gives a figure for each form of data."""
    assert [figure.name for figure in run(1_000, 1)] == [f"{name}, a line" for name in CASES]


@pytest.mark.parametrize("name", CASES)
def test_each_form_has_answers(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is measured is read: no line is a dead letter, and there are answers."""
    program, ending, write = CASES[name]
    rules, facts, answers = tmp_path / "rules.tide", tmp_path / f"hot.{ending}", tmp_path / "answers.jsonl"
    rules.write_text(f"timeline integer, unit 1 s. {program}", "utf-8")
    facts.write_text("".join(f"{line}\n" for line in write(1_000)), "utf-8")
    assert main(["run", str(rules), "--in", str(facts), "--out", str(answers)]) == 0
    assert "could not be used" not in capsys.readouterr().err
    assert answers.read_text("utf-8").count("\n") > 20
