"""Plans and their analyses, as golden files: `tests/fixtures/plans/NAME.tide` is a program, beside it what is shown of it.

TIDELOG_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tidelog.plans.explaining.reports.report import analyse, format_analysis
from tidelog.plans.explaining.text import explain
from tidelog.plans.plan.plan import Plan

FOLDER = Path(__file__).parent.parent / "fixtures" / "plans"
PROGRAMS = sorted(FOLDER.glob("*.tide"))
SHOWN: dict[str, Callable[[Plan], str]] = {
    ".normal": lambda plan: explain(plan, "normal"),
    ".plan": explain,
    ".mermaid": lambda plan: explain(plan, "plan", "mermaid"),
    ".json": lambda plan: explain(plan, "plan", "json"),
    ".check": lambda plan: format_analysis(analyse(plan), objects=100),
}


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_shown(path: Path, kind: str) -> None:
    """What is shown of the program is what the golden file says, to the letter."""
    shown = SHOWN[kind](tidelog.compile(path.read_text(encoding="utf-8"), name=path.name, folder=FOLDER))
    golden = path.with_suffix(kind)
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_bytes(shown.encode())
    assert shown == golden.read_bytes().decode()


def test_every_program_has_its_files() -> None:
    """There are programs, each has all its golden files, and none is left over."""
    assert PROGRAMS
    expected = {path.with_suffix(kind).name for path in PROGRAMS for kind in (".tide", *SHOWN)}
    assert {path.name for path in FOLDER.iterdir()} == expected | {"near.csv"}
