"""`tidelog completion`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.util import find_spec

from tidelog.commands.arguments import Parser
from tidelog.commands.outcome import DONE, write_out
from tidelog.plans.diagnostics.errors import SpecError

SHELLS = ("bash", "zsh", "fish", "tcsh")
_PROGRAMS, _FILES, _FOLDERS = frozenset({"PROGRAM"}), frozenset({"FILE", "FACTS", "SPEC", "F"}), frozenset({"DIR"})
"""What stands for a program, for another file, or for a folder, in the usage of commands."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the script")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script; SpecError where shtab is not installed."""
    if find_spec("shtab") is None:
        raise SpecError("`tidelog completion` needs shtab: install `tidelog[completion]`")
    import shtab  # noqa: PLC0415 - an extra's package

    root: Parser = options.command_line
    for parser in _all_parsers(root):
        for action in parser._actions:
            if action.metavar in _PROGRAMS:
                action.complete = shtab.glob("*.tide")  # type: ignore[attr-defined] # shtab looks for it
            elif action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    write_out(shtab.complete(root, options.shell).rstrip("\n") + "\n")
    return DONE


def _all_parsers(parser: Parser) -> Iterator[Parser]:
    """A parser and those of its commands, each with its options."""
    parser.fill()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _all_parsers(command)
