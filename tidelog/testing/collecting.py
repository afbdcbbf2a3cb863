"""Tests of rules as pytest sees them: a file, and an item for each test in it. The plug-in loads this once there is one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError
from tidelog.plans.diagnostics.source import render
from tidelog.testing.files import RuleTest, read_suite
from tidelog.testing.reports import failure_lines
from tidelog.testing.running import SuiteRunner


class RuleFile(pytest.File):
    """A file of tests."""

    def collect(self) -> Iterable[pytest.Item]:
        """An item for each test; CollectError where the file, or its program, cannot be used."""
        try:
            suite = read_suite(str(self.path))
            runner = SuiteRunner(suite)
        except ProgramError as error:
            raise self.CollectError(render(error)) from None
        except (DataError, SpecError, OSError) as error:
            raise self.CollectError(str(error)) from None
        for test in suite.tests:
            yield RuleItem.from_parent(self, name=test.name, test=test, runner=runner)


class RuleItem(pytest.Item):
    """One test of a file."""

    def __init__(self, *, test: RuleTest, runner: SuiteRunner, **options: Any) -> None:
        super().__init__(**options)
        self._test, self._runner = test, runner

    def runtest(self) -> None:
        """Fail with what differs; what else there is to say stands in a section of its own."""
        outcome = self._runner.run(self._test)
        if not outcome.passed:
            pytest.fail("\n".join(failure_lines(outcome)), pytrace=False)
        if outcome.notes:
            self.add_report_section("call", "notes", "\n".join(outcome.notes))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands; lines count from 0 here."""
        return self.path, self._test.line - 1, self._test.name
