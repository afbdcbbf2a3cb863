"""The proved checker as a process: a request a line, an answer a line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = Path(__file__).parents[2] / "build" / "proofs" / "tidelog-verify"


class Checker:
    """Asks `tidelog-verify` again and again."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(json.dumps(request) + "\n")
        asked.flush()
        line = told.readline()
        assert line, f"the checker ended at {request}"
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def verdict(self, program: str, facts: Sequence[str], certificate: object, **more: object) -> dict[str, Any]:
        """What is said of a certificate: `verdict`, and `reason` or what was `met`."""
        return self.ask({"program": program, "facts": list(facts), "certificate": certificate, **more})


@contextmanager
def checker(mode: str) -> Iterator[Checker]:
    """The checker, for certificates (`--json`) or to see what it reads (`--read`)."""
    assert COMMAND.exists(), f"{COMMAND} is not there: `make proofs` builds it"
    with subprocess.Popen([COMMAND, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Checker(process)
        process.communicate()
