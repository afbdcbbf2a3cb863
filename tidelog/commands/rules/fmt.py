"""`tidelog fmt`: write programs in the one way to write them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from tidelog.commands.outcome import BAD, DONE, USAGE, count, say, show_diagnostics, unreadable, write_out
from tidelog.commands.replacing import replace_file
from tidelog.compiling import read_program
from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError, TidelogError
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import MAX_PROGRAM

_STANDARD = "-"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("programs", metavar="PROGRAM", nargs="+", help="files of programs, or `-` for a filter")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Format each file. One that is no program is left as it is: the exit code is 1, or 2 where a file cannot be read."""
    wrong = changed = unreadable = 0
    for path in options.programs:
        try:
            changed += _format(path, options)
        except ProgramError as error:
            show_diagnostics(error.diagnostics, error.name, error.text)
            wrong += 1
        except TidelogError as error:
            say(f"error: {error}")
            wrong += 1
            unreadable += isinstance(error, SpecError)
    if options.check and changed:
        say(f"{count(changed, 'file')} would change: `tidelog fmt` without `--check` does it")
    if unreadable:
        return USAGE
    return BAD if wrong or (options.check and changed) else DONE


def _format(path: str, options: argparse.Namespace) -> bool:
    """Format one file; whether it changes."""
    before = _read(path)
    after = format_text(before, "<standard input>" if path == _STANDARD else path)
    changes = after != before
    if options.diff:
        write_out("".join(_diff(before, after, path)))
    if options.check:
        if changes:
            say(f"would change `{path}`")
    elif path == _STANDARD and not options.diff:
        write_out(after)
    elif changes and not options.diff:
        replace_file(path, after)
        say(f"changed `{path}`")
    return changes


def _read(path: str) -> str:
    """The text of a file; SpecError where there is none, DataError where it is not UTF-8."""
    if path == _STANDARD:
        try:
            data = sys.stdin.buffer.read(MAX_PROGRAM + 1)
        except OSError as error:
            raise SpecError(f"cannot read standard input: {os.strerror(error.errno or 0)}") from error
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"the program is not UTF-8: {error.reason} at byte {error.start}", path) from error
    try:
        return read_program(Path(path))
    except OSError as error:
        raise unreadable(path, error) from error


def _diff(before: str, after: str, path: str) -> Iterator[str]:
    """What changes, each line ended."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for line in unified_diff(old, new, path, f"{path} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
