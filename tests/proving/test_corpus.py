"""No false alarms: what is found in the programs of examples, cookbook and fixtures was looked at, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.diagnostics.source import Source
from tidelog.plans.proving.findings import findings
from tidelog.testing.proving import prove

ROOT = Path(__file__).parents[2]
SLOW = ("coldstore.tide", "operators.tide")
"""Those of which it takes seconds to say that nothing is found."""
EXPECTED: dict[str, list[tuple[int, str]]] = {
    "tests/fixtures/errors/looks-ahead.tide": [(4, "needless-condition"), (4, "needless-condition")],
    "tests/fixtures/errors/never-matches.tide": [
        (5, "never-holds"),
        (6, "never-holds"),
        (7, "never-holds"),
        (8, "never-holds"),
        (10, "never-holds"),
        (12, "needless-condition"),
        (12, "needless-condition"),
    ],
    "tests/fixtures/errors/one-instant.tide": [
        (9, "needless-condition"),
        (17, "needless-condition"),
        (27, "never-holds"),
        (28, "never-holds"),
    ],
    "tests/fixtures/errors/one-value.tide": [(6, "always-together"), (13, "needless-condition")],
}
"""What is found, by lines: mistakes that were made on purpose, as these programs are there to be warned of."""


def _programs() -> Iterator[tuple[str, str, Path]]:
    for folder in ("examples", "tests/fixtures"):
        for path in sorted((ROOT / folder).glob("*/*.tide")):
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8"), path.parent
    for path in sorted((ROOT / "docs/howto/recipes").glob("*.md")):
        blocks = re.findall(r"^```tide[^\n]*\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            yield f"{path.relative_to(ROOT).as_posix()}:{number}", block, path.parent


def _cases() -> Iterator[object]:
    for name, text, folder in _programs():
        marks = [pytest.mark.long] if name.endswith(SLOW) else []
        yield pytest.param(name, text, folder, id=name, marks=marks)


@pytest.mark.parametrize(("name", "text", "folder"), list(_cases()))
def test_nothing_is_found_that_is_not_so(name: str, text: str, folder: Path) -> None:
    """A finding that is not listed is a false alarm, or a mistake in a program of ours: look at it."""
    try:
        plan = tidelog.compile(text, name=name, folder=folder)
    except ProgramError:
        assert name not in EXPECTED
        return  # it is there to be refused
    source = Source(text)
    found = sorted((source.position(item.span.start)[0], item.code) for item in findings(plan, lambda: False))
    assert found == EXPECTED.get(name, [])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text", "folder"), [case for case in _cases() if "fixtures/errors" not in str(case)])
def test_each_output_has_a_witness(name: str, text: str, folder: Path) -> None:
    """Facts are found that make each output begin, whatever its rules are made of."""
    plan = tidelog.compile(text, name=name, folder=folder)
    answers = prove(plan, 600.0).answers
    assert "undecided" not in answers.values(), answers
