"""The proved checker has a parser of its own. It reads the programs of all tests, examples and documents as ours does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from proofs.checker import checker
from proofs.trees import shown
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import AlarmDeclaration, Program

ROOT = Path(__file__).parents[2]
LEAST = 3000
"""So many programs there are, at the least."""


def texts() -> Iterator[str]:
    """Whatever may be a program: files, blocks of documents, texts in tests."""
    for folder in ("examples", "docs", "tests", "benchmarks", "pages", "tidelog"):
        for path in sorted((ROOT / folder).rglob("*.tide")):
            yield path.read_text("utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield from re.findall(r"^```tide[^\n]*\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r":-|:=|@", node.value):
                yield node.value


def programs() -> Iterator[tuple[str, Program]]:
    """The programs among them, each once."""
    for text in dict.fromkeys(texts()):
        try:
            program = parse(text)
        except (ProgramError, ValueError):
            continue
        if program.statements:
            yield text, program


def test_programs_are_read_as_ours_are() -> None:
    """The same rules, facts, timelines and parameters, with the rules that alarms and machines stand for."""
    compared, alarms, other = 0, 0, []
    with checker("--read") as reader:
        for text, program in programs():
            found = reader.ask({"program": text})
            if "met" in found:
                assert found["met"] in ("a whole number beyond 2^53", "an aggregate over periods in an assignment"), (
                    text,
                    found,
                )
                continue
            compared += 1
            expected = shown(program)
            told = found.get("statements", [])
            alarms += any(isinstance(item, AlarmDeclaration) for item in program.statements)
            if told != expected:
                other.append((text, told, expected, found.get("unreadable")))
    assert not other, other[0]
    assert compared >= LEAST, compared
    assert alarms >= 50, alarms


def test_what_is_no_program_is_refused() -> None:
    """A text that ours does not read is not read as something else."""
    wrong = ["b :- ", "b :- a(", "b :- a since[1,2.", "b :- a@3.", "1 :- a.", "b :- not.", "a(X+1) :- b(X)", "a@[1."]
    with checker("--read") as reader:
        for text in wrong:
            assert "unreadable" in reader.ask({"program": text}), text
