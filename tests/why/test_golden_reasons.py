"""Reasons as golden files: `tests/fixtures/why/NAME.tide` is a program, beside it facts, what is asked, and what is shown.

TIDELOG_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.explain import Reason
from why.explaining import explainer, records, refusal, verifier

FOLDER = Path(__file__).parent.parent / "fixtures" / "why"
PROGRAMS = sorted(FOLDER.glob("*.tide"))
Answer = Reason | WhyNot
SHOWN: dict[str, Callable[[Answer], str]] = {
    ".txt": lambda answer: answer.text() + "\n\n",
    ".json": lambda answer: json.dumps(answer.certificate(), indent=1, ensure_ascii=False) + "\n",
    ".svg": lambda answer: answer.svg(),
}


def answers(path: Path) -> list[Answer]:
    found, schema = explainer(path.read_text("utf-8"), path.with_suffix(".facts").read_text("utf-8").splitlines())
    return [found.why(fact, 3) for fact in records(schema, path.with_suffix(".asked").read_text("utf-8").splitlines())]


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_shown(path: Path, kind: str) -> None:
    """What is shown of each fact is what the golden file says, to the letter."""
    shown = "".join(map(SHOWN[kind], answers(path)))
    golden = path.with_suffix(kind)
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_bytes(shown.encode())
    assert shown == golden.read_bytes().decode()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_shown_is_true(path: Path) -> None:
    """The verifier takes what the golden files show."""
    checker = verifier(path.read_text("utf-8"), path.with_suffix(".facts").read_text("utf-8").splitlines())
    for answer in answers(path):
        assert refusal(checker, json.loads(answer.json())) is None


def test_pictures_can_be_read() -> None:
    """An SVG is well-formed XML, and constants in it are text."""
    path = FOLDER / "pump.tide"
    facts = ['temp("<b>&",104)@[0,9]']
    found, schema = explainer(path.read_text("utf-8"), facts)
    (fact,) = records(schema, ['alarm("<b>&")@[2,10]'])
    picture = found.why(fact).svg()
    assert picture.startswith("<svg ") and picture.endswith("</svg>\n")
    assert "<b>" not in picture
    assert "&lt;b&gt;&amp;" in picture
