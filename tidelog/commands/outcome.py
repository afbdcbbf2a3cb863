"""What commands share: exit codes, and the two ways out: answers to standard output, all else to standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import tidelog
from tidelog.commands.numbers import positive
from tidelog.connectors.transport.terminals import write_all
from tidelog.plans.diagnostics.errors import ConnectorError, Diagnostic, SpecError
from tidelog.plans.diagnostics.source import render_diagnostics
from tidelog.plans.diagnostics.visible import visible

if TYPE_CHECKING:
    from tidelog.plans.plan.plan import Plan
    from tidelog.plans.tree.syntax import Value

DONE, BAD, USAGE, AWAY = 0, 1, 2, 4


def load_plan(
    path: str,
    *,
    queries: Iterable[str] | None = None,
    outputs: bool = True,
    depth: int | None = None,
    parameters: Mapping[str, Value] | None = None,
    desk: bool = False,
) -> Plan:
    """The plan of a program's file, with the options of `compile`.

    SpecError where the file cannot be read, as for any file that the command line names.
    """
    try:
        return tidelog.compile_path(
            path, queries=queries, outputs=outputs, depth=depth, parameters=parameters or {}, desk=desk
        )
    except ValueError as error:
        if not parameters:
            raise
        raise SpecError(f"--set: {path}: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: OSError, suffix: str = ".tide") -> SpecError:
    """Says that a file which the command line names cannot be read; of a folder, which file of it may be meant."""
    told = f"cannot read `{path}`: {os.strerror(error.errno or 0)}"
    if not isinstance(error, IsADirectoryError):
        return SpecError(told)
    with suppress(OSError):
        found = sorted(
            (name for name in os.listdir(path) if name.endswith(suffix)), key=lambda name: (name.count("."), name)
        )
        if found:
            return SpecError(f"{told}; there is `{os.path.join(path, found[0])}` in it")
    return SpecError(f"{told}; name a file of it")


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


def write_out(text: str, *, is_ours: bool = False) -> None:
    """Write lines to standard output: as they are, but to a terminal with what is not visible escaped.

    With `is_ours`, text in which nothing comes from outside, such as a help text, keeps its colours there, too.
    ConnectorError where it cannot be written; of a BrokenPipeError, where nobody reads any more.
    """
    try:
        write_all(1, text.encode("utf-8", "surrogateescape"), is_ours=is_ours)
    except OSError as error:
        raise ConnectorError(f"cannot write to standard output: {os.strerror(error.errno or 0)}") from error


def say(text: str) -> None:
    """A line on standard error. What is not visible is escaped, a line end too: a log file is read on a terminal."""
    write_error(f"tidelog: {visible(text)}\n")


def write_error(text: str) -> None:
    """Write text that is visible as it stands to standard error."""
    with suppress(OSError):  # a full disk behind standard error must not cost an answer
        sys.stderr.write(text)
        sys.stderr.flush()


def show_diagnostics(diagnostics: Iterable[Diagnostic], name: str, text: str) -> None:
    """Warnings and errors on standard error, each with its line."""
    shown = render_diagnostics(diagnostics, name, text, colour=wants_colour())
    if shown:
        write_error(shown + "\n")


def wants_colour() -> bool:
    """Whether standard error gets colours: NO_COLOR forbids them, FORCE_COLOR asks for them, else a terminal has them."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
