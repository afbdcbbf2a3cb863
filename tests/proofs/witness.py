"""A plugin for pytest, `-p proofs.witness`: the proved checker checks each certificate that a test lets ours check, too.

So all certificates of the test suite come before both, whichever test has them. What is not covered is counted by its name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from types import MappingProxyType

import pytest

from proofs.checker import checker
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Atom, Constant, FactStatement, Interval, Program
from tidelog.verifier.almanac import Events
from tidelog.verifier.certificate import Verifier
from tidelog.verifier.terms import Row
from tidelog.verifier.times import Refused

LEAST = 60
"""So many certificates are accepted by both, at least, or the tests have gone elsewhere."""

Given = tuple[str, Row, Interval | None]
said: Counter[str] = Counter()


def texts(facts: Iterable[Given]) -> list[str]:
    """Facts as the checker reads them."""
    made = (FactStatement(Atom(name, tuple(map(Constant, row))), when) for name, row, when in facts)
    return format_program(Program(tuple(made))).splitlines()


@pytest.fixture(autouse=True, scope="session")
def both() -> Iterator[None]:
    """Two checkers in place of one, wherever ours is used."""
    init, check = Verifier.__init__, Verifier.check

    def begin(
        self: Verifier,
        text: str,
        facts: Iterable[tuple[str, Row, Interval]],
        background: Iterable[tuple[str, Row]] = (),
        events: Events = MappingProxyType({}),
    ) -> None:
        given, standing = list(facts), list(background)
        init(self, text, given, standing, events)
        vars(self)["asked"] = text, texts(given), texts((name, row, None) for name, row in standing)

    def check_both(self: Verifier, certificate: object) -> None:
        refused: Refused | None = None
        try:
            check(self, certificate)
        except Refused as error:
            refused = error
        text, facts, background = vars(self)["asked"]
        told = proved.verdict(text, facts, certificate, background=background)
        said[told["verdict"]] += 1
        agrees = told["verdict"] == "not covered" or (told["verdict"] == "accepted") == (refused is None)
        assert agrees, f"{told}, and ours: {refused}\n{text}\n{facts}\n{json.dumps(certificate)}"
        if refused is not None:
            raise refused

    with checker("--json") as proved, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verifier, "__init__", begin)
        patch.setattr(Verifier, "check", check_both)
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many certificates there were."""
    terminalreporter.write_line(f"certificates, by the proved checker: {dict(said)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where there was next to nothing to compare."""
    if said["accepted"] < LEAST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
