"""Facts that a command reads: where it is told of them, and what becomes of records that cannot be used."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from tidelog.commands.outcome import count, say
from tidelog.commands.progress import Progress
from tidelog.connectors.files.empty import has_no_rows
from tidelog.connectors.spec import Spec
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Rejected


def add_facts(parser: argparse.ArgumentParser, otherwise: str, kinds: str = "files, folders, globs, `-`, SPECs") -> None:
    """Add what every command takes that reads facts; `otherwise` says what is read where none are named."""
    parser.add_argument("facts", metavar="FACTS", nargs="*", help=f"where facts are: {kinds} (default: {otherwise})")
    parser.add_argument(
        "--in", dest="sources", action="append", default=[], metavar="SPEC", help="where facts are, behind FACTS"
    )
    add_strict(parser)


def add_strict(parser: argparse.ArgumentParser) -> None:
    """Add `--strict`."""
    parser.add_argument("--strict", action="store_true", help="fail (exit code 1) where a record cannot be used")


def named_facts(options: argparse.Namespace) -> list[str]:
    """The SPECs that a command line names, in whichever way."""
    return [*options.facts, *options.sources]


def say_empty(specs: Iterable[Spec]) -> None:
    """Say which files of CSV have no rows."""
    for spec in filter(has_no_rows, specs):
        say(f"note: `{spec.path}` has no rows")


def say_unusable(number: int, *, is_strict: bool) -> None:
    """Say at a run's end how many records could not be used, and whether it fails for that."""
    say(f"error: {_strictly(number)}" if is_strict else f"note: {_unusable(number)}")


def _unusable(number: int) -> str:
    return f"{count(number, 'record')} could not be used"


def _strictly(number: int) -> str:
    return f"{_unusable(number)} (`--strict`)"


class DeadLetters:
    """Counts what cannot be read, and says it on standard error: the first `MOST_SHOWN` with reason and place."""

    MOST_SHOWN = 10

    def __init__(self, progress: Progress, *, is_strict: bool) -> None:
        self.number = 0
        self._progress, self._is_strict = progress, is_strict

    def __call__(self, rejected: Rejected) -> None:
        self.number += 1
        if self.number <= self.MOST_SHOWN:
            self._progress.clear()
            say(f"{rejected.place}: {rejected.reason}")

    def close(self) -> None:
        """Say how many there were; DataError where none may be."""
        if not self.number:
            return
        self._progress.clear()
        if self._is_strict:
            raise DataError(_strictly(self.number))
        say_unusable(self.number, is_strict=False)
