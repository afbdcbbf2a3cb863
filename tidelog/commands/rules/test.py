"""`tidelog test`: run tests of rules, and say what differs."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from tidelog.commands.outcome import BAD, DONE, count, say, show_diagnostics, write_out
from tidelog.commands.replacing import replace_file
from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError
from tidelog.plans.diagnostics.source import render_diagnostics
from tidelog.plans.diagnostics.visible import visible
from tidelog.testing.coverage import coverage_of
from tidelog.testing.files import SUFFIX, RuleTest, TestSuite, read_suite
from tidelog.testing.reports import coverage_lines, failure_lines, junit
from tidelog.testing.running import Outcome, SuiteRunner
from tidelog.testing.updating import updated

_WILD = frozenset("*?[")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help=f"files of tests, or folders in which all `*{SUFFIX}` are run"
    )
    parser.add_argument(
        "-k", dest="patterns", action="append", metavar="PATTERN", help="run tests whose names hold this, or match `a*b`"
    )
    parser.add_argument("-x", "--exit-first", action="store_true", help="stop behind the first test that does not pass")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each test")
    parser.add_argument("--update", action="store_true", help="write what is told into tests that do not expect it")
    parser.add_argument("--coverage", action="store_true", help="show which rules fired, and which never")
    parser.add_argument("--junit", metavar="FILE", help="write the outcomes as JUnit XML, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run all tests: exit code 0 if they pass, 1 if not."""
    session = _Testing(options)
    for path in _paths(options.files):
        if session.is_over:
            break
        session.run_file(path)
    return session.close()


class _Testing:
    """One run of the command: what has become of each file, and what is said of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._done: list[tuple[TestSuite, list[Outcome]]] = []
        self._broken: list[tuple[str, str]] = []
        self._fired: dict[str, Counter[str]] = {}
        self._runners: dict[str, SuiteRunner] = {}
        self._updated = self._chosen = 0

    @property
    def is_over(self) -> bool:
        """Whether the rest is not run any more."""
        return bool(self._options.exit_first) and not self._is_well()

    def run_file(self, path: str) -> None:
        """Run the tests of one file; one that cannot be used costs no other."""
        try:
            suite = read_suite(path, updates=self._options.update)
            tests = [test for test in suite.tests if self._wants(test)]
            self._chosen += len(tests)
            if tests:
                self._run(suite, tests)
        except OSError as error:
            raise SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}") from error
        except ProgramError as error:
            show_diagnostics(error.diagnostics, error.name, error.text)
            self._broken.append((path, render_diagnostics(error.diagnostics, error.name, error.text)))
        except (DataError, SpecError) as error:
            say(f"error: {error}")
            self._broken.append((path, str(error)))

    def _run(self, suite: TestSuite, tests: Sequence[RuleTest]) -> None:
        runner = SuiteRunner(suite)
        program = os.path.normpath(suite.program)
        if program not in self._runners:
            show_diagnostics(runner.plan.warnings, runner.plan.name, runner.plan.program.text)
        self._runners.setdefault(program, runner)
        outcomes: list[Outcome] = []
        self._done.append((suite, outcomes))
        for test in tests:
            outcome = runner.run(test)
            outcomes.append(outcome)
            self._fired.setdefault(program, Counter()).update(outcome.fired)
            if not self._options.update:
                self._tell(suite, outcome)
            if self.is_over:
                break
        if self._options.update:
            self._update(suite, outcomes)

    def _wants(self, test: RuleTest) -> bool:
        """Whether a test is chosen by its name."""
        patterns = self._options.patterns
        return not patterns or any(_matches(test.name, pattern) for pattern in patterns)

    def _tell(self, suite: TestSuite, outcome: Outcome) -> None:
        """Say how a test went: of one that passed only with `-v`."""
        name = visible(f"{suite.path}: {outcome.test.name}")
        if outcome.passed and not (outcome.test.expects_nothing and self._options.update):
            lines = [f"passed  {name}", *(f"  note: {visible(note)}" for note in outcome.notes)]
            write_out("".join(f"{line}\n" for line in lines) if self._options.verbose else "")
            return
        if self._options.update and not outcome.error:
            write_out(f"updated {name}\n")
            return
        lines = [f"{'error  ' if outcome.error else 'failed '} {name}", *failure_lines(outcome)]
        write_out("".join(f"{line}\n" for line in lines))

    def _update(self, suite: TestSuite, outcomes: list[Outcome]) -> None:
        """Write what was told, and say of each test whether that could be done."""
        text, problems = updated(suite, outcomes)
        if text != suite.text:
            replace_file(suite.path, text.replace("\n", suite.line_end))
        for number, outcome in enumerate(outcomes):
            if outcome.test.name in problems:
                outcomes[number] = replace(outcome, error=problems[outcome.test.name], differences=())
            self._tell(suite, outcomes[number])
        self._updated += sum(bool(item.differences or item.test.expects_nothing) and not item.error for item in outcomes)

    def close(self) -> int:
        """Say how all went; returns the exit code."""
        if not self._chosen and not self._broken:
            raise SpecError(f"no test has a name that matches {', '.join(f'`{text}`' for text in self._options.patterns)}")
        if self._options.coverage:
            for program, runner in self._runners.items():
                rules = coverage_of(runner.plan, self._fired[program])
                write_out("".join(f"{line}\n" for line in coverage_lines(program, rules)))
        if self._options.junit:
            self._write_junit(self._options.junit)
        write_out(f"{self._summary()}\n")
        return DONE if self._is_well() else BAD

    def _write_junit(self, path: str) -> None:
        try:
            Path(path).write_text(junit(self._done, self._broken), "utf-8")
        except OSError as error:
            raise SpecError(f"cannot write `{path}`: {os.strerror(error.errno or 0)}") from error

    def _outcomes(self) -> list[Outcome]:
        return [outcome for _, outcomes in self._done for outcome in outcomes]

    def _is_well(self) -> bool:
        failed = any(item.error or (item.differences and not self._options.update) for item in self._outcomes())
        return not failed and not self._broken

    def _summary(self) -> str:
        outcomes = self._outcomes()
        errors = sum(bool(item.error) for item in outcomes)
        failed = 0 if self._options.update else sum(bool(item.differences) for item in outcomes)
        parts = [count(len(outcomes) - errors - failed - self._updated, "test") + " passed"]
        for number, word in ((self._updated, "updated"), (failed, "failed"), (errors, "with an error")):
            if number:
                parts.append(f"{number} {word}")
        if self._broken:
            parts.append(f"{count(len(self._broken), 'file')} could not be used")
        return ", ".join(parts)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with `*` or `?`, or holds one without."""
    if _WILD.isdisjoint(pattern):
        return pattern.lower() in name.lower()
    return fnmatchcase(name.lower(), pattern.lower())


def _paths(given: Sequence[str]) -> list[str]:
    """The files named, and those in folders, each once; SpecError where a folder has none."""
    paths: dict[str, None] = {}
    for path in given:
        if not os.path.isdir(path):
            paths[path] = None
            continue
        found = sorted(str(file) for file in Path(path).rglob(f"*{SUFFIX}") if file.is_file())
        if not found:
            raise SpecError(f"the folder `{path}` has no file `*{SUFFIX}`")
        paths.update(dict.fromkeys(found))
    return list(paths)
