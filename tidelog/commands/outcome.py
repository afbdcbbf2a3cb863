"""What commands share: exit codes, and how to speak to standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from tidelog.commands.numbers import positive
from tidelog.compiling import compile_path
from tidelog.plans.errors import Diagnostic, SpecError
from tidelog.plans.plan import Plan
from tidelog.plans.source import render_diagnostics

DONE, BAD, USAGE = 0, 1, 2


def load_plan(path: str, *, queries: Iterable[str] | None = None, outputs: bool = True, depth: int | None = None) -> Plan:
    """The plan of a program's file, with the options of `compile`.

    SpecError where the file cannot be read, as for any file that the command line names.
    """
    try:
        return compile_path(path, queries=queries, outputs=outputs, depth=depth)
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}") from error


def add_max_state(parser: argparse.ArgumentParser, most: int) -> None:
    """Add `--max-state`, with its default."""
    help = f"end with an error where more rows are held (default {most:,})"
    parser.add_argument("--max-state", type=positive, default=most, metavar="ROWS", help=help)


def count(number: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "record"), count(2, "record")
    ('1 record', '2 records')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str) -> None:
    """A line on standard error."""
    with suppress(OSError):  # a full disk behind standard error must not cost an answer
        sys.stderr.write(f"tidelog: {text}\n")
        sys.stderr.flush()


def show_diagnostics(diagnostics: Iterable[Diagnostic], name: str, text: str) -> None:
    """Warnings and errors on standard error, each with its line."""
    shown = render_diagnostics(diagnostics, name, text, colour=sys.stderr.isatty())
    if shown:
        sys.stderr.write(shown + "\n")
