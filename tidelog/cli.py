"""The command line: what there is, and what each exit code means.

0 done, 1 the program, the data or the answer is bad, 2 usage, 130 and 143 on SIGINT and SIGTERM after a clean shutdown. Only
answers go to standard output; everything else goes to standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tidelog.commands import ask, check, consistent, entails, explain, materialise, run, spark
from tidelog.commands.outcome import BAD, USAGE, say
from tidelog.commands.signals import stopped_by_signals
from tidelog.plans.errors import ConnectorError, ProgramError, SpecError, StateError, TidelogError
from tidelog.plans.source import render
from tidelog.runtime.stopping import Stopped
from tidelog.version import VERSION

_interrupted: list[Stopped] = []
"""Keeps what an interrupted command held, of which there may be gigabytes: the process ends sooner than it could let go."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"tidelog: error: {message}\n")


class _Command(_Parser):
    """A command's own parser: options may stand between its arguments, as in `materialise PROGRAM A --until 3 B`."""

    _is_inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # inside it, intermixed arguments are parsed: first the options, then the rest; a command of commands has none
        if self._is_inside or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._is_inside = True
        return self.parse_known_intermixed_args(args, namespace)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    if sys.stderr is None:  # it is closed: what is said there is lost, what is answered is not
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    try:
        with stopped_by_signals():
            return int(options.run(options))
    except ProgramError as error:
        sys.stderr.write(render(error, colour=sys.stderr.isatty()) + "\n")
        return BAD
    except SpecError as error:
        say(f"error: {error}")
        return USAGE
    except ConnectorError as error:
        if not isinstance(error.__cause__, BrokenPipeError):  # the reader of the answers has seen enough
            say(f"error: {error}")
        return BAD
    except OSError as error:
        say(f"error: cannot read `{error.filename}`: {error.strerror}" if error.filename else f"error: {error}")
        return BAD
    except StateError as error:
        say(f"error: {error}; `--max-state` sets the bound")
        return BAD
    except TidelogError as error:
        say(f"error: {error}")
        return BAD
    except Stopped as stopped:
        _interrupted.append(stopped)
        say(f"stopped by {signal.Signals(stopped.number).name} before all answers were given")
        return 128 + stopped.number


def program() -> NoReturn:
    """Run one command, and end the process."""
    code = main()
    if _interrupted:
        os._exit(code)  # without what waits to be printed: perhaps nobody reads it
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tidelog", description="A stream reasoner for the edge.")
    parser.add_argument("--version", action="version", version=f"tidelog {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Command)
    for module in (check, explain, run, ask, materialise, entails, consistent, spark):
        module.add_parser(commands)
    return parser
