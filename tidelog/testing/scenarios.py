"""Witnesses as tests: a file that `tidelog test` runs, and a person reads and keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.guessing import Fact
from tidelog.plans.tree.syntax import CalendarDeclaration
from tidelog.plans.tree.walk import statements_of
from tidelog.testing.comparing import line_of
from tidelog.testing.files import read_suite
from tidelog.testing.running import SuiteRunner
from tidelog.testing.trying import Runner
from tidelog.testing.witnessing import Witness


class Lines:
    """Facts and answers as text, with dates where the program has a calendar."""

    def __init__(self, plan: Plan) -> None:
        self._runner = Runner(plan)
        self._encoder = TextEncoder(plan.schema, iso=bool(statements_of(plan.program, CalendarDeclaration)))

    def facts(self, witness: Witness) -> list[str]:
        """The facts of a witness, in the order in which they come."""
        return self.of_facts(witness.facts)

    def of_facts(self, facts: Iterable[Fact]) -> list[str]:
        """Any facts, in order."""
        return self.of(map(self._runner.record, in_time(facts)))

    def takes(self, fact: Fact) -> bool:
        """Whether the program takes a fact."""
        return self._runner.takes(fact)

    def told(self, witness: Witness) -> list[str]:
        """What is told of them."""
        return self.of(witness.told)

    def of(self, records: Iterable[Record]) -> list[str]:
        """Any records."""
        return [line_of(record, self._encoder) for record in records]


def in_time(facts: Iterable[Fact]) -> list[Fact]:
    """Facts in the order in which they begin."""
    return sorted(facts, key=lambda fact: fact.low)


def scenarios(plan: Plan, program: Path, folder: Path, witnesses: Sequence[Witness]) -> tuple[str, tuple[Witness, ...]]:
    """The text of a file of tests in a folder, and the witnesses that it has: those whose tests pass.

    All do, unless the program has been changed meanwhile.
    """
    lines = Lines(plan)
    passed = _passing(lines, program, witnesses)
    tests = "\n\n".join(_test(lines, witness) for witness in passed)
    return f"{_head(os.path.relpath(program, folder))}{tests}\n", passed


def _passing(lines: Lines, program: Path, witnesses: Sequence[Witness]) -> tuple[Witness, ...]:
    """The witnesses whose tests pass."""
    with TemporaryDirectory() as place:
        copy = Path(place) / "written.tide.toml"
        tests = "\n\n".join(_test(lines, witness) for witness in witnesses)
        copy.write_text(f"{_head(str(program.resolve()))}{tests}\n", encoding="utf-8")
        suite = read_suite(str(copy))
        runner = SuiteRunner(suite)
        outcomes = [runner.run(test) for test in suite.tests]
    return tuple(witness for witness, outcome in zip(witnesses, outcomes, strict=True) if outcome.passed)


def _head(program: str) -> str:
    return (
        "# The shortest facts that were found for each output, by `tidelog check --prove`. Read them, and keep those\n"
        f"# that are as you mean it.\nprogram = {_quoted(Path(program).as_posix())}\n\n"
    )


def _test(lines: Lines, witness: Witness) -> str:
    what = "begins and ends" if witness.ends else "begins"
    return (
        f"[[test]]\nname = {_quoted(f'{witness.predicate} {what}')}\nfacts = {_block(lines.facts(witness))}\n"
        f"only = [{_quoted(witness.predicate)}]\nexpect = {_block(lines.told(witness))}"
    )


def _block(lines: Sequence[str]) -> str:
    """Lines as an array of texts: a line each, as it is where it can be."""
    if not lines:
        return "[]"
    return "[\n" + "".join(f"    {_quoted(line)},\n" for line in lines) + "]"


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
