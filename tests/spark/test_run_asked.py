"""Questions on Spark: over history and on a stream, the lines are those that one process tells."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidelog
from spark.quick import environment
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.spark import reason

pytestmark = [pytest.mark.slow, pytest.mark.long]

PROGRAM = """
timeline integer, unit 1 min.
input opened(door: text).
input shut(door: text).
input tick.
spoilt(D) :- opened(D), boxplus[1,2] not shut(D).
output spoilt.
ask spoilt(D)@T.
"""
FIRST = [f"opened(d{door})@{door}" for door in range(6)] + [f"shut(d{door})@{door + 1}" for door in range(0, 6, 2)]
LATER = ["opened(d0)@9", "shut(d1)@9", "tick@20"]


def spark_run(folder: Path, *options: str) -> list[dict[str, Any]]:
    """The lines of a run, in their order."""
    command = [sys.executable, "-m", "tidelog", "spark", "run", "p.tide", "--in", "facts+in", "--cores", "2", *options]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_one_process(folder: Path) -> list[dict[str, Any]]:
    """The lines of `tidelog run` over the same facts, in the order of time."""
    facts = sorted((FIRST + LATER), key=lambda line: int(line.rpartition("@")[2]))
    (folder / "all.facts").write_text("\n".join(facts))
    command = [sys.executable, "-m", "tidelog", "run", "p.tide", "--in", "all.facts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def comparable(lines: list[dict[str, Any]]) -> Counter[str]:
    """What is told, but for when it became known, which is by the facts of a bucket, or of all."""
    return Counter(json.dumps({name: value for name, value in line.items() if name != "at"}) for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.tide").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.facts").write_text("\n".join(FIRST))
    return tmp_path


def test_over_history(folder: Path) -> None:
    """Answers and lines about the question come together; each answer is decided in the end."""
    (folder / "in" / "2.facts").write_text("\n".join(LATER))
    found = spark_run(folder)
    assert comparable(found) == comparable(in_one_process(folder))
    decided = [line["answer"]["D"] for line in found if line.get("status") in ("certain", "rejected")]
    assert sorted(decided) == ["d0", "d0", "d1", "d2", "d3", "d4", "d5"]


def test_as_a_stream_that_is_stopped_and_goes_on(folder: Path) -> None:
    """What is open is kept with the state of its session, and decided by the next run, also where no fact comes for it."""
    options = ["--checkpoint", "checkpoint", "--once", "--lateness", "1"]
    first = spark_run(folder, *options)
    (folder / "in" / "2.facts").write_text("\n".join(LATER))
    found = first + spark_run(folder, *options)
    assert any(line.get("status") == "possible" for line in first)
    wanted = in_one_process(folder)
    final = [line for line in wanted if line.get("status") != "possible"]
    assert comparable([line for line in found if line.get("status") != "possible"]) == comparable(final)
    opened = {line["answer"]["D"] for line in found if line.get("status") == "possible"}
    assert opened == {line["answer"]["D"] for line in wanted if line.get("status") == "possible"}


def test_frames_hold_no_answers_to_questions() -> None:
    """`reason` refuses a program that asks, and says where such answers are told."""
    with pytest.raises(SpecError, match="what `ask` answers is no table"):
        reason({}, tidelog.compile(PROGRAM))
